// fp_leaves.hpp: leaves of an FP-Tree on persistent memory, with interleaved lookups and inserts.
//
// The leaves of a tree over 8-byte keys whose inner nodes would lie in DRAM: leaf i holds the keys
// of [i * kKeysPerLeaf, (i + 1) * kKeysPerLeaf). A leaf is a line with a word of used slots and one
// byte of fingerprint per slot, and 32 slots of key and value.
//
// Guarantee  A result is given for an insert only when it is durable. A crash leaves each insert in
//            flight whole or not at all. A lookup never shows what is not durable.
// Cost       insert: two fences (shared by a group), two lines; the second fence covers fingerprint
//            and used word, whose order in their line makes a third unnecessary.
//            lookup: two dependent misses, leaf and slot.
// Medium     Zeros are empty leaves; there is nothing to recover. Granularity line, byte or none.
// Threads    Any, for all calls.
// Implements "Building blocks for persistent memory", section 3.5, made for several operations on
// one leaf. A demonstration of scheduler.hpp: a tree belongs to the layer above.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/baselines/operations.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/interleave/scheduler.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::baselines {

using holdfast::blocks::Extent;
using holdfast::blocks::Interleaving;
using holdfast::blocks::NodeLatch;
using holdfast::blocks::NodeLatches;

class FpLeaves {
 public:
  static constexpr unsigned kSlots = 32;
  static constexpr std::uint64_t kKeysPerLeaf = 64;

  struct Leaf {                                    // On media, little-endian.
    std::uint64_t used;                            // Bit s: slot s holds a pair.
    std::array<std::uint64_t, kSlots / 8> prints;  // Byte s: fingerprint of slot s.
    std::array<std::uint64_t, 3> reserved;
    std::array<KeyValue, kSlots> slots;
  };
  static_assert(sizeof(Leaf) == 576 && offsetof(Leaf, slots) == kCacheLineBytes);

  // As many leaves as fit into the extent, with what they hold. Errors: kInvalidOption (extent),
  // kUnsupported (page granularity).
  static Result<FpLeaves> open(Region& region, const Extent& extent);

  std::uint64_t leaves() const { return count_; }
  // Keys are below.
  std::uint64_t keys() const { return count_ * kKeysPerLeaf; }

  // out[i] is the value of keys[i], or nothing. The spans are of one length.
  void lookup_many(std::span<const std::uint64_t> keys, std::span<std::optional<std::uint64_t>> out,
                   Machinery machinery = Machinery::kStateMachines,
                   const Interleaving& how = {}) const;
  // out[i] says what became of pairs[i]; all durable when this returns. `done`, if given, is called
  // for each as soon as it is durable. Of two pairs of one key one is inserted.
  void insert_many(std::span<const KeyValue> pairs, std::span<InsertResult> out,
                   Machinery machinery = Machinery::kStateMachines, const Interleaving& how = {},
                   void (*done)(void* context, std::size_t index) = nullptr,
                   void* context = nullptr);

  Leaf& leaf(std::uint64_t number) const { return first_[number]; }
  static std::uint8_t fingerprint(std::uint64_t key) {
    return static_cast<std::uint8_t>(mix64(key) >> 56);
  }

 private:
  class Lookup;
  class Insert;
  FpLeaves(const Persist& persist, Leaf* first, std::uint64_t count)
      : persist_(persist), first_(first), count_(count) {}

  Leaf& leaf_of(std::uint64_t key) const { return first_[key / kKeysPerLeaf]; }
  NodeLatch& latch_of(std::uint64_t key) const { return latches_.of(key / kKeysPerLeaf); }

  Persist persist_;
  Leaf* first_;
  std::uint64_t count_;
  NodeLatches latches_;
};

}  // namespace holdfast::baselines
