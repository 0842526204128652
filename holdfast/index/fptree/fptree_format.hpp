// fptree_format.hpp: what an FP-Tree writes to its medium, byte by byte. docs/fptree.md says why.
//
//   0      superblock: header, then FpTreeShape
//   4096   the ever-used word: leaves from this number on were never in use
//   8192   leaves, one behind the other
//
// A leaf:  line 0   which slots hold a record, and a byte of each one's hash
//          line 1   the least key that it is for, and whether it is in use
//          then     the records, in no order
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index {

struct FpRecord {
  std::uint64_t key;
  std::uint64_t value;
  bool operator==(const FpRecord&) const = default;
};

namespace fptree_detail {

inline constexpr SuperblockFormat kFpTreeFormat{"fp-tree", magic_of("HLDFPTR1"), 1, 1, 0};

inline constexpr std::uint64_t kEverUsedAt = kPageBytes;
inline constexpr std::uint64_t kLeavesAt = 2 * kPageBytes;

struct LeafHead {           // On media, 128 bytes.
  std::uint64_t used;       // Bit s: slot s holds a record. The last store to line 0.
  std::uint64_t prints[7];  // Byte s: print_of() the key in slot s.
  std::uint64_t low;        // The least key that the leaf is for.
  std::uint64_t state;      // 0: free. Else sealed: in use, bound to its number and `low`.
  std::uint64_t zero[6];
};
static_assert(sizeof(LeafHead) == 2 * kCacheLineBytes && offsetof(LeafHead, low) == 64);

struct FpTreeShape {      // On media, little-endian: the body of the superblock.
  std::uint32_t records;  // Slots of a leaf.
  std::uint32_t leaves;   // So many have a place.

  static constexpr std::uint32_t kMinRecords = 2;
  static constexpr std::uint32_t kMaxRecords = 56;  // Line 0 has so many bytes for them.
  static constexpr std::uint32_t kMaxLeaves = 1u << 31;

  // False: no build writes such a shape.
  constexpr bool valid() const {
    return records >= kMinRecords && records <= kMaxRecords && leaves >= 1 && leaves <= kMaxLeaves;
  }
  // Whole blocks of the medium.
  constexpr std::uint64_t leaf_bytes() const {
    return (sizeof(LeafHead) + records * sizeof(FpRecord) + 255) / 256 * 256;
  }
  constexpr std::uint64_t leaf_at(std::uint32_t leaf) const {
    return kLeavesAt + leaf * leaf_bytes();
  }
  constexpr std::uint64_t bytes() const { return leaf_at(leaves); }
  constexpr std::uint64_t all_slots() const { return (std::uint64_t{1} << records) - 1; }
};
static_assert(sizeof(FpTreeShape) == 8);
static_assert(std::has_unique_object_representations_v<FpTreeShape>);
static_assert(FpTreeShape{56, 1}.leaf_bytes() == 1'024);

constexpr std::uint8_t print_of(std::uint64_t key) {
  return static_cast<std::uint8_t>(mix64(key) >> 56);
}

// The keys of a leaf: from `low` on, and below `high` unless it is the last leaf.
struct KeyRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool last = true;
  constexpr bool above(std::uint64_t key) const { return !last && key >= high; }
};

// What sealed words are bound to: the tree's id, and what they are.
inline constexpr std::uint64_t kLeafInUse = 1;
constexpr std::uint64_t ever_used_context(std::uint64_t id) { return mix64(id ^ 1); }
constexpr std::uint64_t leaf_context(std::uint64_t id, std::uint32_t leaf, std::uint64_t low) {
  return mix64(mix64(id ^ (std::uint64_t{2} << 32 | leaf)) ^ low);
}

}  // namespace fptree_detail
}  // namespace holdfast::index
