// delta.hpp: rows that were appended to a star of columns: blocks, and an entry that leads to them.
//
//   catalogue's header   the delta word, sealed: the last entry, in lines; 0: nothing was appended
//   entry                header line (magic, checksum, size, the entry before, its number), then
//                        the directory of its blocks
//
// An entry and its blocks are durable before the delta word leads to them, and never change. So a
// catalogue has a prefix of what was appended to it, and another catalogue has nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/superblock.hpp>
#include <holdfast/olap/catalogue.hpp>

namespace holdfast::olap {

struct DeltaHeader {       // On media, little-endian, one line.
  std::uint64_t magic;     // kDeltaMagic
  std::uint64_t checksum;  // Of the body, seeded with the star's id, previous and number.
  std::uint64_t body_bytes;
  std::uint64_t previous;     // The entry before, in lines; 0: this is the first.
  std::uint64_t number;       // From 1.
  std::uint64_t reserved[3];  // Zero.
};
static_assert(sizeof(DeltaHeader) == kCacheLineBytes);
inline constexpr std::uint64_t kDeltaMagic = magic_of("HLDSTARD");

// What the delta word of the catalogue at this place is bound to.
constexpr std::uint64_t delta_context(std::uint64_t id, std::uint64_t catalogue_at) {
  return mix64(mix64(id ^ 0x44454c54) + catalogue_at);
}

// Header and body of the next entry of the catalogue.
std::vector<std::byte> delta_bytes(const Catalogue& catalogue, std::span<const BlockInfo> blocks,
                                   std::uint64_t id);
// The entry at `place` with these blocks, added to what `catalogue` says.
void add_delta(Catalogue& catalogue, std::span<const BlockInfo> blocks, const Extent& place);
// Adds all that the delta word, whose value is `last`, leads to. Errors: kCorrupt, saying what.
Status read_deltas(std::span<const std::byte> region, std::uint64_t last, std::uint64_t id,
                   Catalogue& catalogue);

}  // namespace holdfast::olap
