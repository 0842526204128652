// key_order.hpp: the keys of an index in order, where StoreOptions::order asks for it.
//
// It has the keys of all entries of the index: of records that live, and of tombstones that are
// indexed for the sake of snapshots. So overwrites, updates and gets do not come here. A key comes
// and goes under the latch of its home there, so that both agree in the end.
//
// On page media a key may stand apart from the index (displaced.hpp): it is here all the same.
//
// Threads    Any, inside a guard of the store's domain; load() by one, before the others.
// Memory     An insert for which there is none makes the order incomplete, for good. The write is
//            not refused for it: what scans is (kNoSpace).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <holdfast/index/offset_map.hpp>
#include <holdfast/index/ordered/ordered_index.hpp>
#include <holdfast/kv/records.hpp>

namespace holdfast::kv {

class KeyOrder {
 public:
  // Errors: kNoSpace.
  static Result<std::unique_ptr<KeyOrder>> create(EpochDomain& domain);
  explicit KeyOrder(std::unique_ptr<index::ordered::OrderedIndex> keys) : keys_(std::move(keys)) {}

  // Of a key that may be there already.
  void add(Bytes key) {
    if (!keys_->insert(text_of(key))) [[unlikely]]
      complete_.store(false, std::memory_order_release);
  }
  void remove(Bytes key) { keys_->erase(text_of(key)); }
  // The keys of all entries, by so many threads: reads the key of each record. O(n log n). Nobody
  // else uses either index. Errors: kNoSpace.
  Status load(const index::OffsetMap& map, const Records& records, EpochDomain& domain,
              unsigned threads);

  const index::ordered::OrderedIndex& keys() const { return *keys_; }
  bool complete() const { return complete_.load(std::memory_order_acquire); }

 private:
  static std::string_view text_of(Bytes key) {
    return {reinterpret_cast<const char*>(key.data()), key.size()};
  }

  std::unique_ptr<index::ordered::OrderedIndex> keys_;
  std::atomic<bool> complete_{true};
};

}  // namespace holdfast::kv
