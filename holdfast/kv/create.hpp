// create.hpp: the superblock of a store, new or found.
#pragma once

#include <holdfast/kv/format.hpp>
#include <holdfast/kv/medium.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

// Makes an empty store. Until the last of its fences the region holds no store, and an
// interrupted creation is begun anew by the next. Fences: 4, and 2 per segment.
// Errors: kInvalidOption (too small), kCorrupt (holds records without a superblock), kIo, kNoSpace.
Status create_store(Medium& medium, const StoreOptions& options, RecordShape shape);

// Reads and checks the superblock. Errors: kNotHoldfast, kNewerFormat, kCorrupt, kWrongType.
Result<Superblock> read_superblock(const Region& region, const StoreOptions& options,
                                   RecordShape shape);

}  // namespace holdfast::kv
