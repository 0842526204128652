// kv_state_store.hpp: the state of a query as records of a store of `kv`.
//
//   key    of an entry, and 'm', the last checkpoint: state_keys.hpp
//   value  the state; of 'm' the epoch (8 bytes, big-endian) and the metadata
//
// Guarantee  An entry is a delta of its epoch. When complete() returns, the checkpoint and its
//            entries survive what the medium can survive, on plain files a power failure, too.
//            complete() copies no state: 'm' carries source positions and watermark only. open()
//            removes entries of epochs above that of 'm'.
// Order      Entries are durable before 'm' is written; what was dropped is removed after 'm' is
//            durable, so that no failure takes a slice from the checkpoint that still needs it.
// A crash leaves  entries of an epoch that was never completed, and slices that were dropped and
//                 are there in whole or in part. open() takes the first away. The second are given
//                 back, which is harmless: all their windows were shown before the checkpoint
//                 whose watermark 'm' holds, so their owner sees by this watermark that no window
//                 needs them, and drops them again (GroupOperator::restore).
// Replaced   An entry that takes the place of another is a newer version of its key: the epoch is
//            the version. The older one is removed behind the checkpoint that has the newer. An
//            entry without bytes, which takes a key away, is removed behind the checkpoint after
//            that: it must not go before what it hides.
// Costs      On byte and line media a fence per kGroup entries, one for 'm', and one per group of
//            erased keys. On plain files a sync more before 'm', and one behind it.
// Threads    One at a time. The store is its own until it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/stream/state_keys.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

class KvStateStore : public StateStore {
 public:
  static constexpr std::size_t kGroup = 64;  // Entries that share a fence.

  // `spec` as of a region; the store keeps the state of all queries of a script.
  static Result<std::shared_ptr<kv::Store<>>> open_region(const std::string& spec);
  KvStateStore(std::shared_ptr<kv::Store<>> store, std::uint32_t query);

  Result<std::optional<Checkpoint>> open() override;
  Result<std::vector<std::int64_t>> slices() override;
  Status for_each(std::int64_t slice, Visit visit) override;
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override;
  Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                  std::uint64_t number) override;
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t& version) override;
  Status for_each_version(std::int64_t slice, VisitVersion visit) override;
  void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) override;
  void drop(std::int64_t slice) override { dropped_.push_back(slice); }
  Status complete(const Checkpoint& checkpoint) override;
  bool keeps_entries() const override { return true; }
  // Of all queries that the store keeps.
  std::uint64_t bytes() const override { return store_->stats().live_bytes; }

 private:
  Status remove_later_epochs();
  Status write_group();
  Status remove(std::vector<std::string>& keys);

  std::shared_ptr<kv::Store<>> store_;
  const StateKeys state_keys_;
  std::uint64_t epoch_ = 0;  // Of the last completed checkpoint.
  std::vector<std::int64_t> dropped_;
  // Records that the next checkpoint replaces; those without bytes that it has, and the last had.
  std::vector<std::string> replaced_, new_tombstones_, tombstones_;
  // Entries that were put and are not yet written: the first `waiting_` of these.
  std::vector<std::string> keys_, states_;
  std::size_t waiting_ = 0;
};

}  // namespace holdfast::stream
