// kv_state_store.hpp: the state of a query as records of a store of `kv`.
//
//   key    query (4 bytes), 'e', slice (8), the group's key, epoch (8)   an entry
//          query (4 bytes), 'm'                                         the last checkpoint
//   value  the state; of 'm' the epoch (8) and the metadata
//
// Numbers are big-endian, so that the order of the keys is theirs; the slice's sign is flipped.
//
// Guarantee  An entry is a delta of its epoch, and durable when put() returns. complete() is one
//            put of 'm', which carries source positions and watermark only: a checkpoint copies no
//            state. open() removes entries of epochs above that of 'm'.
// A crash leaves  entries of an epoch that was never completed, and slices that were dropped but
//                 not yet removed: open() takes the first away, the second are given back, and
//                 their owner drops them again.
// Threads    One at a time. The store is its own until it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

class KvStateStore : public StateStore {
 public:
  // `spec` as of a region; the store keeps the state of all queries of a script.
  static Result<std::shared_ptr<kv::Store<>>> open_region(const std::string& spec);
  KvStateStore(std::shared_ptr<kv::Store<>> store, std::uint32_t query);

  Result<std::optional<Checkpoint>> open() override;
  Result<std::vector<std::int64_t>> slices() override;
  Status for_each(std::int64_t slice, Visit visit) override;
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override;
  void drop(std::int64_t slice) override { dropped_.push_back(slice); }
  Status complete(const Checkpoint& checkpoint) override;
  bool keeps_entries() const override { return true; }

 private:
  Status remove_later_epochs();
  Status remove(std::int64_t slice);
  Status erase_all(const std::vector<std::string>& keys);

  std::shared_ptr<kv::Store<>> store_;
  std::string entries_, meta_;  // The heads of the keys.
  std::uint64_t epoch_ = 0;     // Of the last completed checkpoint.
  std::vector<std::int64_t> dropped_;
  std::string key_;
};

}  // namespace holdfast::stream
