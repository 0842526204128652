// superblock.hpp: what a store says of itself in the first page of its region.
//
// Creation writes everything but the magic number, fences, and writes that last: a region whose
// creation was interrupted holds no store.
// A store of version 1 opens read-only as it is. upgrade() makes it one of version 2 by a single
// store, after the new superblock is durable: a crash leaves the one or the other. Its runs stay of
// version 1 (their generations lie below first_generation) until reclamation rewrites them.
#pragma once

#include <holdfast/kv/format.hpp>
#include <holdfast/kv/key_hash.hpp>
#include <holdfast/kv/medium.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

// Errors: kInvalidOption (the region is too small, a patchable word lies outside of a typed value),
// kCorrupt (block words of a store that was in use: its first page was overwritten), kIo.
Status create_store(Medium& medium, const StoreOptions& options, RecordShape shape);

// The superblock in the layout of version 2, also for a store of version 1 (format_version says
// which). Errors: kNotHoldfast, kNewerFormat (version, or a feature that this build does not know),
// kCorrupt, kWrongType (`shape`, unless options.any_shape; patchable_words).
Result<Superblock> read_superblock(const Region& region, const StoreOptions& options,
                                   RecordShape shape);

// Upgrades a store of version 1 before its first write. `first_generation` is greater than that of
// every run it has. Durable when it returns; `superblock` is then what the medium has.
Status upgrade(Medium& medium, Superblock& superblock, std::uint64_t first_generation);

// Checks a superblock, also one that lies in a checkpoint. Errors: kCorrupt, kNewerFormat.
Status check_superblock(const Superblock& superblock);
// Draws the origin that names runs from `first_generation` on. Runs below keep their names, up to
// two restores back. Errors: kIo.
Status give_origin(Superblock& superblock, std::uint64_t first_generation);
// Writes the superblock of a store that is to begin, all but the magic number; not ordered.
Status put_superblock(Medium& medium, const Superblock& superblock);

// Sets flags of a store that is to get what some builds do not know: they refuse it from then on.
// Durable when it returns. A crash leaves a whole superblock, at its place or in the copy beside
// it.
Status raise_flag(Medium& medium, Superblock& superblock, std::uint64_t flags);
// Rewrites a superblock that a crash in raise_flag() left torn, from the copy that was read
// instead.
Status mend_superblock(Medium& medium, const Superblock& superblock);

KeyHash key_hash_of(const Superblock& superblock);
Geometry geometry_of(const Superblock& superblock);

}  // namespace holdfast::kv
