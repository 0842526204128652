// fastfair_format.hpp: what a FAST+FAIR tree writes to its medium. docs/fastfair.md says why.
//
//   0      superblock: header, then FastFairShape
//   4096   the root word: the number of the root
//   4160   the taken word: nodes from this number on were never taken
//   8192   nodes, one behind the other, of all levels
//
// A node:  line 0   what it is, which keys it is for, its right sibling
//          then     entries, ascending by key; behind the last one keys of kNoKey
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index::fastfair_detail {

inline constexpr SuperblockFormat kFastFairFormat{"fast+fair tree", magic_of("HLDFFTR1"), 1, 1, 0};

inline constexpr std::uint64_t kRootAt = kPageBytes;
inline constexpr std::uint64_t kTakenAt = kPageBytes + kCacheLineBytes;
inline constexpr std::uint64_t kNodesAt = 2 * kPageBytes;

// No record's key: behind the last entry of a node.
inline constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

struct Entry {
  std::uint64_t key;
  std::uint64_t value;  // Of a record; above the leaves: a child, sealed and bound to the key.
};

struct NodeHead {          // On media, one line.
  std::uint64_t level;     // Sealed: levels below it, bound to its number and `low`.
  std::uint64_t low;       // The least key that it is for. Never changes.
  std::uint64_t sibling;   // 0: none. Else sealed: the node that is for the keys from `high` on.
  std::uint64_t high;      // Its keys are below. kNoKey: it has no sibling.
  std::uint64_t leftmost;  // Above the leaves, sealed: the child for keys below the first entry's.
  std::uint64_t zero[3];
};
static_assert(sizeof(NodeHead) == kCacheLineBytes && offsetof(NodeHead, high) == 24);

struct FastFairShape {  // On media, little-endian: the body of the superblock.
  std::uint32_t slots;  // Entries of a node.
  std::uint32_t nodes;  // So many have a place.

  static constexpr std::uint32_t kMinSlots = 2;
  static constexpr std::uint32_t kMaxSlots = 60;
  static constexpr std::uint32_t kMaxNodes = 1u << 31;

  // False: no build writes such a shape.
  constexpr bool valid() const {
    return slots >= kMinSlots && slots <= kMaxSlots && nodes >= 1 && nodes <= kMaxNodes;
  }
  // Whole lines.
  constexpr std::uint64_t node_bytes() const {
    return (sizeof(NodeHead) + slots * sizeof(Entry) + kCacheLineBytes - 1) / kCacheLineBytes *
           kCacheLineBytes;
  }
  constexpr std::uint64_t node_at(std::uint32_t node) const {
    return kNodesAt + node * node_bytes();
  }
  constexpr std::uint64_t bytes() const { return node_at(nodes); }
};
static_assert(sizeof(FastFairShape) == 8);
static_assert(std::has_unique_object_representations_v<FastFairShape>);
static_assert(FastFairShape{28, 1}.node_bytes() == 512);

// A node has one entry at least for each two of the level below; so no tree grows so high.
inline constexpr std::uint32_t kMaxLevel = 63;

// What sealed words are bound to: the tree's id, and what they are.
constexpr std::uint64_t root_context(std::uint64_t id) { return mix64(id ^ 1); }
constexpr std::uint64_t taken_context(std::uint64_t id) { return mix64(id ^ 2); }
constexpr std::uint64_t level_context(std::uint64_t id, std::uint32_t node, std::uint64_t low) {
  return mix64(mix64(id ^ (std::uint64_t{3} << 32 | node)) ^ low);
}
constexpr std::uint64_t sibling_context(std::uint64_t id, std::uint32_t node) {
  return mix64(id ^ (std::uint64_t{4} << 32 | node));
}
constexpr std::uint64_t child_context(std::uint64_t id, std::uint64_t key) {
  return mix64(mix64(id ^ 5) ^ key);
}

}  // namespace holdfast::index::fastfair_detail
