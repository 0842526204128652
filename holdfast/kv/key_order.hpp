// key_order.hpp: the keys of an index in order, where StoreOptions::order asks for it.
//
// It has the keys of all entries of the index: of records that live, and of tombstones that are
// indexed for the sake of snapshots. So overwrites, updates and gets do not come here. A key comes
// and goes under the latch of its home there, so that both agree in the end.
//
// On page media a key may stand apart from the index (displaced.hpp): it is here all the same.
//
// Loading    load() may run beside writers. Their keys are noted meanwhile and not entered. What a
//            key's noted changes come to is asked of the index, under the key's latch; a key that
//            was not noted is as load() found it. Cursors wait.
// Threads    Any, inside a guard of the store's domain; load() by one.
// Memory     An insert for which there is none makes the order incomplete, for good. The write is
//            not refused for it: what scans is (kNoSpace).
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/index/offset_map.hpp>
#include <holdfast/index/ordered/ordered_index.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/records.hpp>

namespace holdfast::kv {

class KeyOrder {
 public:
  enum class State : std::uint8_t { kLoading, kComplete, kIncomplete };

  // Errors: kNoSpace.
  static Result<std::unique_ptr<KeyOrder>> create(EpochDomain& domain);
  explicit KeyOrder(std::unique_ptr<index::ordered::OrderedIndex> keys) : keys_(std::move(keys)) {}

  // Adds a key, which may be there already.
  void add(Bytes key) {
    if (state() == State::kLoading && note(key)) [[unlikely]]
      return;
    insert(key);
  }
  void remove(Bytes key) {
    if (state() == State::kLoading && note(key)) [[unlikely]]
      return;
    keys_->erase(text_of(key));
  }

  // For keys that will probably be added soon: their descents wait together.
  void prefetch(std::span<const std::string_view> keys) const {
    if (state() == State::kComplete) keys_->prefetch(keys);
  }

  // The keys of all entries, by so many threads: reads the key of each record. O(n log n).
  // `settle(key)` calls enter_if() for a key, under the latch of its home. `stop`: gives up when it
  // is set. Once, first of all.
  using Settle = FunctionRef<void(Bytes key)>;
  void load(const index::OffsetMap& map, const Records& records, EpochDomain& domain,
            unsigned threads, Settle settle, const std::atomic<bool>& stop);
  // The same from keys that ascend, in place of load(). False: they do not, or there is no memory
  // for them; nothing happened.
  using NextKey = FunctionRef<bool(std::string_view& key)>;
  bool load_stored(EpochDomain& domain, NextKey next, Settle settle, const std::atomic<bool>& stop);
  bool was_stored() const { return was_stored_.load(std::memory_order_acquire); }
  // What the index says of a key that was noted: whether it has an entry.
  void enter_if(Bytes key, bool there) {
    if (there)
      insert(key);
    else
      keys_->erase(text_of(key));
  }

  // It has not all keys from now on.
  void give_up() { set(State::kIncomplete); }

  const index::ordered::OrderedIndex& keys() const { return *keys_; }
  State state() const { return state_.load(std::memory_order_acquire); }
  // Waits until it is loaded. Called in no guard.
  void wait() const {
    if (state() == State::kLoading) [[unlikely]]
      wait_for_load();
  }
  // Waits until the thread that loaded it has released it, if it was loaded.
  void await_loader() const { const Lock lock(mutex_); }

 private:
  void insert(Bytes key) {
    if (!keys_->insert(text_of(key))) [[unlikely]]
      give_up();
  }
  // False: it is loaded meanwhile.
  bool note(Bytes key);
  void end_load(bool complete, Settle settle);
  void set(State state);
  void wait_for_load() const;

  std::unique_ptr<index::ordered::OrderedIndex> keys_;
  std::atomic<State> state_{State::kLoading};
  std::atomic<bool> was_stored_{false};
  mutable KernelMutex mutex_;
  mutable Condition loaded_;
  bool noting_ HF_GUARDED_BY(mutex_) = true;
  std::vector<std::string> noted_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kv
