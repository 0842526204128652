// entry_log.hpp: entries of one slice that replace one another, as a log of blocks in a store of
// `kv`: a checkpoint writes what changed behind one another, at memory's bandwidth.
//
//   a block      a record of the store (StateKeys::of_log), entries one behind the other
//   an entry     handle (4 bytes, the machine's order), key and state, each with its size before
//                it (compile/runtime/blocks.hpp). No state: the key is gone ("tombstone").
//   a handle     the number of a key in this log, from 0 on, for as long as there is an entry of
//                it. The newest entry of a handle counts: the last one, by epoch and block number.
//
// Space      A block of which half or less is wanted is compacted: the next checkpoint writes what
//            is wanted of it again, and does without it. The same with small blocks, once there are
//            kMostSmall of them. So blocks take at most twice what is wanted of them, but for what
//            a checkpoint's budget leaves for the next one: it copies at most twice the bytes that
//            it was given, and kLeastBudget.
// Tombstones stay while an older entry of their handle is on the medium, so that no crash brings
//            it back: only an erase that is durable makes them superfluous.
// Groups     The entries of a group are found by a hash of it, and read where they are.
// Idle       end_idle() puts a tombstone for each entry that has not changed for long enough. Of a
//            block memory knows the least time of its entries, so that only those are read in which
//            there is such an entry. An entry may say when it ends in place of when it changed.
//            end_group() puts one for each entry of a group.
// Memory     16 bytes per handle, 48 per block, and a block that is being filled; for groups 16 to
//            20 bytes more per handle.
// Costs      replace() O(bytes). A checkpoint: O(bytes that changed), amortised.
//            for_each_of_group() reads a block per entry, kBlockBytes and an entry at most; the
//            first one reads all, once.
// Threads    One at a time.
// Errors     kCorrupt: a block is none. Those of the store.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/stream/compile/runtime/large_pages.hpp>
#include <holdfast/stream/state_keys.hpp>
#include <holdfast/stream/state_store.hpp>
#include <holdfast/stream_kv/group_index.hpp>

namespace holdfast::stream {

class EntryLog {
 public:
  // A block is full then. Each read of an entry has the store check all of its block.
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t kMostSmall = 64;
  static constexpr std::uint64_t kLeastBudget = 1 << 20;  // Bytes.

  // Takes a block to the medium; it may wait there with others for a fence.
  using PutBlock = FunctionRef<Status(std::string key, std::string_view block)>;

  EntryLog(const StateKeys& keys, std::int64_t slice) : keys_(keys), slice_(slice) {}

  // What the store has of it; once, before anything is put.
  Status load(kv::Store<>& store);
  // Entries that count, tombstones not; of those that are in the store.
  Status for_each(kv::Store<>& store, StateStore::VisitVersion visit) const;
  // The bytes of the blocks that are in the store.
  std::uint64_t bytes() const;
  // Before for_each_of_group(). How keys are grouped does not change.
  void group_by(StateStore::Grouping grouping) { grouping_ = grouping; }
  // The same as for_each(), of one group. Not between an entry of a checkpoint and its end. Nothing
  // is put meanwhile.
  Status for_each_of_group(kv::Store<>& store, std::string_view group,
                           StateStore::VisitVersion visit);
  // The same, of entries that say a time from `from` to `until`. Reads blocks that may have one.
  // The least time beyond `until` that one may say; INT64_MAX: none does.
  Result<std::int64_t> for_each_of_times(kv::Store<>& store, std::int64_t from, std::int64_t until,
                                         StateStore::VisitVersion visit) const;
  // Whether each entry says a time.
  bool says_times() const;
  // `version`: of a key that is there, as replace() or for_each() gave it; 0: of another. A key
  // without state has none: it is 0 behind that.
  Status replace(std::string_view key, std::string_view state, std::uint64_t& version,
                 std::uint64_t epoch, PutBlock put);
  static bool is_version(std::uint64_t version) { return (version & kVersion) != 0; }

  // What has not changed since `oldest_ms` is gone with the checkpoint `epoch`, of entries of those
  // before it. An entry that does not say when it changed did so at `began_ms`. Nobody holds a
  // version of such an entry. Before finish(). ended(key) of each.
  using Ended = FunctionRef<Status(std::string_view key)>;
  Status end_idle(kv::Store<>& store, std::int64_t oldest_ms, std::int64_t began_ms,
                  std::uint64_t epoch, PutBlock put, Ended ended);
  // Groups can be found during a checkpoint, too: among all that was put before. write_waiting():
  // what put() was given is in the store behind it.
  Status prepare_groups(kv::Store<>& store, PutBlock put, FunctionRef<Status()> write_waiting);
  // Behind prepare_groups(), and before finish(): entries of this group, none of which is of the
  // checkpoint `epoch`, are gone with it.
  Status end_group(kv::Store<>& store, std::string_view group, std::uint64_t epoch, PutBlock put);
  // Whether there is an entry of this group. Behind prepare_groups(), before more is put.
  Result<bool> has_group(kv::Store<>& store, std::string_view group);
  // Before the checkpoint `epoch` is complete: the rest of its entries, and what is wanted of
  // blocks that it does without.
  Status finish(kv::Store<>& store, std::uint64_t epoch, PutBlock put);
  // Behind it: the keys of these blocks, to be erased; and when they are.
  std::vector<std::string> obsolete() const;
  void erased();

 private:
  static constexpr std::uint64_t kVersion = std::uint64_t{1} << 63;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::min();

  // Where the newest entry of a handle is.
  struct Place {
    std::uint32_t block = kNone;
    std::uint32_t at = 0;  // In the block.
    std::uint32_t bytes = 0;
    std::uint32_t copies : 31 = 0;  // Entries of the handle that are on the medium.
    std::uint32_t tombstone : 1 = 0;
  };
  struct Block {
    std::uint64_t epoch = 0;
    std::uint32_t number = 0;
    std::uint32_t bytes = 0, wanted_bytes = 0;
    bool queued = false;  // Among those that are to be compacted.
    // None of its entries that count changed before; kAlways: one does not say when.
    std::int64_t oldest_ms = kNever;
    std::int64_t newest_ms = kAlways;  // All of its entries are as old as that, or older.
  };
  struct Entry {
    std::uint32_t handle = 0;
    std::string_view key, state;
    std::uint32_t at = 0, bytes = 0;
  };
  struct Obsolete {
    std::uint32_t block;
    std::vector<std::uint32_t> handles;  // Of its entries.
  };

  // Entries of a block, in their order: visit(entry) -> Status.
  template <class Visit>
  static Status for_each_entry(std::string_view block, Visit visit);
  template <class Visit>
  Status for_each_block(kv::Store<>& store, Visit visit) const;
  Status load_block(std::uint32_t block, std::string_view bytes, std::uint64_t most_handles);
  // One more entry of the handle, its newest.
  void set_newest(Place& place, std::uint32_t block, const Entry& entry);
  // When it changed; of a tombstone kNever.
  static std::int64_t time_of(const Entry& entry);
  Status end_idle_of(kv::Store<>& store, std::uint32_t block, std::int64_t oldest_ms,
                     std::int64_t began_ms, std::uint64_t epoch, PutBlock put, Ended ended);
  Status end_entry(std::uint32_t handle, std::string_view key, std::uint64_t epoch, PutBlock put);
  // The entry of the handle that counts; it lives as long as `pinned`, which is its block.
  Result<Entry> read(kv::Store<>& store, std::uint32_t handle, std::uint32_t& block,
                     kv::Pinned& pinned) const;
  bool is_newest(const Entry& entry, std::uint32_t block) const;
  // A tombstone is, while there is something that it hides.
  static bool is_needed(const Place& place);
  std::uint32_t take_block(std::uint64_t epoch);
  std::uint32_t take_handle();
  void append(std::uint32_t handle, std::string_view key, std::string_view state,
              std::uint64_t epoch);
  void forget_bytes(const Place& place);
  void queue_if_wasteful(std::uint32_t block);
  Status write(PutBlock put);
  Status compact(kv::Store<>& store, std::uint32_t block, std::uint64_t epoch, PutBlock put);
  // Of its group.
  std::uint32_t group_hash(std::string_view key) const;
  Status find_groups(kv::Store<>& store);
  std::string key_of(const Block& block) const {
    return keys_.of_log(slice_, block.epoch, block.number);
  }

  const StateKeys keys_;
  const std::int64_t slice_;
  query::LargeVector<Place> places_;  // By handle.
  std::vector<std::uint32_t> free_handles_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_blocks_;
  std::vector<std::uint32_t> wasteful_, small_;  // Some of the second are among the first.
  std::vector<Obsolete> obsolete_;
  StateStore::Grouping grouping_ = StateStore::Grouping::kKey;
  bool finds_ = false;   // Groups: from the first search on.
  GroupIndex groups_;    // Of handles.
  std::string filling_;  // The block that is being filled.
  std::uint32_t block_ = kNone;
  std::uint32_t next_number_ = 0;  // In this epoch.
  std::uint64_t put_bytes_ = 0;    // In this epoch.
};

}  // namespace holdfast::stream
