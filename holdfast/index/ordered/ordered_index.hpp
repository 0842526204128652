// ordered_index.hpp: a set of keys in order, in DRAM, for many threads. It knows keys only, no
// places: overwriting a record does not touch it.
//
//   auto index = OrderedIndex::create(domain).value();
//   { auto guard = domain.enter(participant); index->insert("apple"); }
//   Cursor cursor(*index);                                          // cursor.hpp
//
// A B+-tree whose leaves are latched and know their ranges, below inner nodes that are replaced
// and never written. Why, and why it is right: docs/ordered_index.md.
//
// Guarantee  insert(), erase() and contains() of one key are linearizable. A batch read is the
//            contents of a range at one moment. So a scan returns each key that is present
//            throughout exactly once, in order, and none that never was.
// Keys       Byte strings of 0 to 64 KiB, compared as unsigned bytes.
// Threads    All functions from any thread, except load() and destruction. What says "inside a
//            guard" needs an EpochDomain guard of the domain around it.
// Deadlock   A thread holds one latch, or two from left to right; the mutex of the directory is
//            taken before latches.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/index/ordered/directory.hpp>
#include <holdfast/index/ordered/key_batch.hpp>
#include <holdfast/index/ordered/leaf_pool.hpp>

namespace holdfast::index::ordered {

class LatchedLeaf;

class OrderedIndex {
 public:
  static constexpr std::size_t kMaxKeyBytes = 64 * KiB;

  // Errors: kNoSpace if the system has no memory. The domain outlives the index.
  static Result<std::unique_ptr<OrderedIndex>> create(EpochDomain& domain);
  // Nobody uses the index any more, and the caller is inside no guard of the domain.
  ~OrderedIndex();
  OrderedIndex(const OrderedIndex&) = delete;
  OrderedIndex& operator=(const OrderedIndex&) = delete;

  // Whether the key is new. Inside a guard. O(log n). Errors: kInvalidOption above kMaxKeyBytes;
  // kNoSpace if the system has no memory: nothing changed.
  Result<bool> insert(std::string_view key);
  // How many of the keys are new. Inside a guard. Descents of a group wait for memory together. An
  // error as of insert(): a part of the keys may be inserted.
  Result<std::uint64_t> insert_many(std::span<const std::string_view> keys);
  // Whether the key was there. Inside a guard. Needs no memory.
  bool erase(std::string_view key);
  bool contains(std::string_view key) const;  // Inside a guard.
  // Asks for the memory that inserts of these keys will need, if they come soon. The descents wait
  // together. Inside a guard.
  void prefetch(std::span<const std::string_view> keys) const;

  // Replaces the batch by the next keys from `key` on, of one leaf: possibly none, and yet
  // batch.more(). Inside a guard.
  void read_from(std::string_view key, KeyBatch& batch) const;
  // The same for the keys below `key`, or the last ones of all, still ascending.
  void read_below(std::string_view key, KeyBatch& batch) const;
  void read_last(KeyBatch& batch) const;
  // Adds the keys that follow a batch that was read forward and has more(). Inside a guard.
  void read_on(KeyBatch& batch) const;
  // Asks for the memory that it will need.
  static void prefetch_on(const KeyBatch& batch);

  // Fills an empty index that nobody else uses yet: `next` sets its argument to the next key,
  // which is copied, and returns false after the last one. Inside a guard. O(n). Errors:
  // kInvalidOption if the index has keys, or a key is too long or does not ascend; kNoSpace. The
  // index is empty then.
  Status load(FunctionRef<bool(std::string_view&)> next);

  std::uint64_t count() const;  // Exact when nobody writes.
  std::uint64_t bytes() const;  // Of DRAM; what waits for readers to end is not counted.

 private:
  explicit OrderedIndex(EpochDomain& domain) : domain_(domain), directory_(domain) {}

  struct alignas(kCacheLineBytes) Counter {
    std::atomic<std::uint64_t> keys{0};  // May wrap below zero.
  };
  static constexpr std::size_t kCounters = 16;

  static constexpr std::size_t kGroup = 16;  // Descents that wait together.
  using Leaves = std::array<Leaf*, kGroup>;

  static Status check(std::string_view key);
  // The leaves for up to kGroup keys, asked for.
  void descend(std::span<const std::string_view> group, Leaves& leaves) const;
  void walk(LatchedLeaf& leaf, const Target& target) const;
  Result<bool> insert_from(std::string_view key, Leaf* from);
  // Appends to the batch; tells whether that is a whole leaf, forward.
  bool read(const Target& target, KeyBatch& batch) const;
  Counter& my_counter();

  EpochDomain& domain_;
  LeafPool pool_;
  Directory directory_;
  Leaf* first_ = nullptr;
  std::array<Counter, kCounters> counters_;
};

}  // namespace holdfast::index::ordered
