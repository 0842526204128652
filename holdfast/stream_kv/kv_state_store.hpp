// kv_state_store.hpp: the state of a query as records of a store of `kv`.
//
//   key    of an entry, of a block of entries, and 'm', the last checkpoint: state_keys.hpp
//   value  the state; the block (compile/runtime/blocks.hpp, entry_log.hpp); of 'm' the epoch (8
//          bytes, big-endian) with its highest bit set, a byte for the format (4), and the
//          metadata. Format 3 has no groups in parts. Format 2 has no logs of entries that
//          replace one another. Format 1, before there were blocks, has neither bit nor byte; a
//          build of it takes the metadata of later ones for damaged.
//
// Guarantee  Entries and blocks are of the epoch of their checkpoint. When complete() returns, the
//            checkpoint and its entries survive what the medium can survive, on plain files a power
//            failure, too. 'm' carries source positions and watermark only. open() removes what is
//            of an epoch above that of 'm'.
// Blocks     What put() and put_block() are given is written some 1000 entries at a time. A block
//            is of an epoch and of a generation: of each generation the entries of the latest epoch
//            count, and generations are merged. put() makes a generation per epoch, and a run of it
//            if it is given each slice once, in the order of the keys. The lowest bit of a block's
//            number says whether it is in one, if the highest is set: that of a generation's last
//            block decides.
// Order      Entries are durable before 'm' is written; what was dropped is removed after 'm' is
//            durable, so that no failure takes a slice from the checkpoint that still needs it.
// A crash leaves  what is of an epoch that was never completed, and slices that were dropped and
//                 are there in whole or in part. open() takes the first away. The second are given
//                 back, which is harmless: all their windows were shown before the checkpoint
//                 whose watermark 'm' holds, so their owner sees by this watermark that no window
//                 needs them, and drops them again (GroupOperator::restore). Blocks of a
//                 generation that a later checkpoint has whole may be there, too: each of their
//                 entries has a later one, and they go with their slice.
// Replaced   Entries that replace one another are in a log per slice. Those of format 2, and of a
//            copy of a checkpoint, have a key per version, which is the epoch. The first change of
//            such an entry goes to the log, and removes the key behind its checkpoint; should a
//            crash leave it, for_each_version() gives the log's entry behind it. An entry of these
//            without bytes, which takes a key away, is removed behind the checkpoint after that: it
//            must not go before what it hides.
// Idle       What ends since it was idle goes with a checkpoint. Of entries with a key per version
//            the records are removed behind it; should a crash leave one, it is as old as before,
//            and ends with a later one. Where an entry has parts in another slice, a group of these
//            ends with it; then records with a key per version are replaced by ones without bytes.
// Groups     Entries of a log that replace one another are found by their group (entry_log.hpp). So
//            a query need not have them in memory, and a restart need not read them.
// Costs      On byte and line media a fence per block, or per kGroup small ones; one for 'm', and
//            one per group of erased keys. On plain files a sync more before 'm', and one behind
//            it.
// Threads    One at a time. The store is its own until it goes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/stream/state_keys.hpp>
#include <holdfast/stream/state_store.hpp>
#include <holdfast/stream_kv/entry_log.hpp>

namespace holdfast::stream {

class KvStateStore : public StateStore {
 public:
  static constexpr std::size_t kGroup = 64;  // Records that share a fence.

  // `spec` as of a region; the store keeps the state of all queries of a script.
  static Result<std::shared_ptr<kv::Store<>>> open_region(
      const std::string& spec, RegionAccess access = RegionAccess::kOpenOrCreate);
  // Each query's share of a quarter of the memory that this process may have (meminfo.hpp).
  static std::uint64_t memory_for_each_of(std::size_t queries);
  // `memory_bytes`: how much of the query's state may be in memory, too.
  KvStateStore(std::shared_ptr<kv::Store<>> store, std::uint32_t query,
               std::uint64_t memory_bytes = memory_for_each_of(1));

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
  bool finds_groups(std::uint64_t& memory_bytes) const override {
    memory_bytes = memory_bytes_;
    return true;
  }
  Result<bool> group_by(std::int64_t slice, Grouping grouping, std::uint64_t least_bytes) override;
  Status for_each_of_group(std::int64_t slice, std::string_view group, VisitVersion visit) override;
  Result<bool> says_times(std::int64_t slice) override;
  Result<std::int64_t> for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                                         VisitVersion visit) override;
  void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                std::int64_t parts) override {
    idle_[slice] = {oldest_ms, began_ms, parts};
  }
  void drop(std::int64_t slice) override { dropped_.push_back(slice); }
  bool takes_blocks(std::uint64_t& memory_bytes) const override {
    memory_bytes = memory_bytes_;
    return true;
  }
  Status put_block(std::int64_t slice, std::string_view block, bool in_run,
                   std::uint64_t& generation) override;
  void drop_older(std::int64_t slice, std::uint64_t generation) override {
    older_.emplace_back(slice, generation);
  }
  Status for_each_entry(std::int64_t slice, Visit visit) override;
  Status next_generation(std::int64_t slice, std::uint64_t& generation,
                         query::BlockPlace& run) override;
  Status next_block(std::int64_t slice, std::uint64_t generation, query::BlockPlace& place,
                    std::string& block) override;
  Status complete(const Checkpoint& checkpoint) override;
  bool keeps_entries() const override { return true; }
  // The bytes of all queries that the store keeps.
  std::uint64_t bytes() const override { return store_->stats().live_bytes; }

 private:
  Status remove_later_epochs();
  Result<std::optional<Checkpoint>> read_checkpoint();
  Status write_group();
  Status write_block(bool last);
  Status check_block(std::string_view key) const;
  Status remove(std::vector<std::string>& keys);
  Status remove_dropped();
  Status put_record(std::string key, std::string_view value);
  Status put_whole_block(std::string key, std::string_view block);
  // As the store has it, when it is asked for first.
  Result<EntryLog*> log_of(std::int64_t slice);
  // An entry with a key per version.
  struct Single {
    std::string state;
    std::uint64_t version = 0;
  };
  using Singles = std::map<std::string, Single, std::less<>>;
  Result<Singles> singles_of_group(std::int64_t slice, std::string_view group);
  // How many bytes these have, up to about `most`.
  Result<std::uint64_t> bytes_of_singles(std::int64_t slice, std::uint64_t most);
  // What end_idle() asked for.
  Status end_idle_entries(std::uint64_t epoch);
  struct Idle {
    std::int64_t oldest_ms = 0, began_ms = 0, parts = query::kNoSlice;
  };
  Status prepare_groups(std::int64_t slice);
  Status end_idle_singles(std::int64_t slice, const Idle& idle);
  Status end_idle_singles_with_parts(std::int64_t slice, const Idle& idle);
  // The group of this entry's key.
  Status end_parts(std::int64_t parts, std::string_view key);
  Status finish_logs(std::uint64_t epoch);
  Status remove_obsolete_blocks();

  std::shared_ptr<kv::Store<>> store_;
  const StateKeys state_keys_;
  const std::uint64_t memory_bytes_;
  std::uint64_t epoch_ = 0;  // Of the last completed checkpoint.
  std::vector<std::int64_t> dropped_;
  std::vector<std::pair<std::int64_t, std::uint64_t>> older_;  // Slices and generations.
  std::map<std::int64_t, EntryLog> logs_;                      // By slice.
  std::map<std::int64_t, Grouping> with_singles_;  // Slices that are grouped and have Singles, too.
  std::map<std::int64_t, Idle> idle_;              // By slice: what ends with the next checkpoint.
  // Of entries with a key per version: records that the next checkpoint replaces; those that a
  // completed one has replaced; those without bytes that the next one has, and the last had.
  std::vector<std::string> replaced_, stale_, new_tombstones_, tombstones_;
  // Records that are not yet written, entries and small blocks: the first `waiting_` of these.
  std::vector<std::string> keys_, values_;
  std::size_t waiting_ = 0;
  // Entries of put() that are not yet written, and their slice; blocks of this checkpoint.
  std::string block_;
  std::int64_t block_slice_ = 0;
  // What put() was given in this checkpoint: slices, and of the last one its last key, and whether
  // each key was behind the one before.
  std::set<std::int64_t> put_slices_;
  std::string last_key_;
  bool ascends_ = false;
  std::uint32_t blocks_ = 0;
};

}  // namespace holdfast::stream
