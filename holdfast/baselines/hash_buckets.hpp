// hash_buckets.hpp: buckets of a hash table on persistent memory, with interleaved lookups and
// inserts. A bucket is one line: a word of used slots and three pairs of 8-byte key and value.
//
// Guarantee  As fp_leaves.hpp.
// Cost       insert: one fence (shared by a group), one line: the pair and then the used word are
//            stored to one line, which keeps their order. lookup: one miss.
// Medium     Zeros are empty buckets; there is nothing to recover. Granularity line, byte or none.
// Threads    Any, for all calls.
// A demonstration of scheduler.hpp: a full bucket refuses; a table that grows belongs to the layer
// above.
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
using holdfast::blocks::NodeLatches;

class HashBuckets {
 public:
  static constexpr unsigned kSlots = 3;

  struct Bucket {  // On media, little-endian; one line.
    std::array<KeyValue, kSlots> slots;
    std::uint64_t reserved;
    std::uint64_t used;  // Bit s: slot s holds a pair.
  };
  static_assert(sizeof(Bucket) == kCacheLineBytes);

  // As many buckets as fit into the extent, with what they hold. Errors: kInvalidOption (extent),
  // kUnsupported (page granularity).
  static Result<HashBuckets> open(Region& region, const Extent& extent);

  std::uint64_t buckets() const { return count_; }
  // The bucket of a key: any 64-bit key.
  std::uint64_t bucket_of(std::uint64_t key) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(mix64(key)) * count_ >> 64);
  }

  // As FpLeaves::lookup_many and insert_many.
  void lookup_many(std::span<const std::uint64_t> keys, std::span<std::optional<std::uint64_t>> out,
                   Machinery machinery = Machinery::kStateMachines,
                   const Interleaving& how = {}) const;
  void insert_many(std::span<const KeyValue> pairs, std::span<InsertResult> out,
                   Machinery machinery = Machinery::kStateMachines, const Interleaving& how = {},
                   void (*done)(void* context, std::size_t index) = nullptr,
                   void* context = nullptr);

  Bucket& bucket(std::uint64_t number) const { return first_[number]; }

 private:
  class Lookup;
  class Insert;
  HashBuckets(const Persist& persist, Bucket* first, std::uint64_t count)
      : persist_(persist), first_(first), count_(count) {}

  Persist persist_;
  Bucket* first_;
  std::uint64_t count_;
  NodeLatches latches_;
};

}  // namespace holdfast::baselines
