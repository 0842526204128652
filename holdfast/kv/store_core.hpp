// store_core.hpp: the store behind Store<>, Store<K, V> and Snapshot.
//
// How a write becomes acknowledged and newest (docs/kv.md argues it in full):
//
//   put        draw a sequence; append the record and fence; then latch the key in the index, and
//              publish if the sequence is newer than what is published, else append again under the
//              latch with a newer one. So the index miss overlaps the fence, and no locked
//              instruction, which would wait for the write-backs too, lies between append and
//              fence.
//   the rest   conditional writes decide under the latch, then append, fence and publish under it.
//   erase      looks the key up first, then goes the way of put with a tombstone; the partition's
//              erase horizon says afterwards that nothing older may be published.
//
// Invariants (1) what the index points to is durable as the operation's Durability promises;
//            (2) per key, sequences rise in the order of publication, tombstones included;
//            (3) a record that was appended but not published is marked dead before its operation
//            ends; (4) blocks are freed only when nothing in the index, no guard, no pin, no
//            snapshot
//                refers to them, and when what made their records superfluous is durable.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/index/offset_map.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/lane.hpp>
#include <holdfast/kv/medium.hpp>
#include <holdfast/kv/record.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/kv/sync_group.hpp>

namespace holdfast::kv {

using index::kNoLine;
using index::Line;
using index::OffsetMap;

// The session that this thread used last, of whichever store: nearly always the one it uses next.
struct LastSession {
  std::uint64_t store_uid = 0;
  struct Session* session = nullptr;
};
extern constinit thread_local LastSession last_session;

struct LineHash {
  std::size_t operator()(Line line) const { return mix64(line.number); }
};

struct alignas(kCacheLineBytes) Session {
  EpochDomain::Participant participant;
  Lane lane;
  std::atomic<bool> taken{true};  // By a thread; free ones are taken by the next thread that comes.
  bool undone = false;            // An operation failed after it had appended; see take_back().
  std::atomic<std::uint64_t> fences{0}, lines{0};  // Written by the session's thread only.
  void note(std::uint64_t more_fences, std::uint64_t more_lines) {
    fences.store(fences.load(std::memory_order_relaxed) + more_fences, std::memory_order_relaxed);
    lines.store(lines.load(std::memory_order_relaxed) + more_lines, std::memory_order_relaxed);
  }
  std::uint64_t seen_head = 0,
                seen_at = 0;       // The reclaimer's: where the lane was when it last looked.
  OffsetMap::LatchedMany latches;  // Of atomic batches; keeps its memory.
  static constexpr std::size_t kScratchBytes = 4096;
  alignas(kCacheLineBytes) std::byte scratch[kScratchBytes];
};

class StoreCore {
 public:
  using Bytes = std::span<const std::byte>;

  static Result<StoreCorePointer> open(Region region, const StoreOptions& options,
                                       RecordShape shape);
  StoreCore(Medium medium, const StoreOptions& options, const Superblock& superblock);
  ~StoreCore();
  StoreCore(const StoreCore&) = delete;

  // In a child that fork() made the store stays the parent's. The child has a copy of its books
  // from one moment, none of its threads, and the same medium: its writes would go where the
  // parent's go, and its close would put the clean mark on a store that goes on.
  void leave_to_parent();
  bool left_to_parent() const { return left_to_parent_; }
  std::uint64_t uid() const { return store_uid_; }

  // ---- Verbs. Key and Value are spans of bytes, of static extent in typed stores. ----
  template <class Key, class Value>
  Result<PutOutcome> put(Key key, Value value, WriteOptions options);
  enum class Condition { kAbsent, kVersion };
  Result<Version> put_if(Bytes key, Bytes value, Condition condition, Version expected,
                         WriteOptions options);
  // Calls copy(RecordView) on the newest record while it cannot go away. kNotFound, kCorrupt.
  template <class Key, class Copy>
  Result<Version> get(Key key, Copy&& copy) const;
  Result<Pinned> get_pinned(Bytes key) const;
  // key_at(i), and copy(i, RecordView) for each found, outcome(i, Errc).
  template <class KeyAt, class Copy>
  Status get_many(std::size_t count, KeyAt&& key_at, Copy&& copy, std::span<Errc> outcomes) const;
  template <class KeyAt, class ValueAt>
  Status put_many(std::size_t count, KeyAt&& key_at, ValueAt&& value_at, WriteOptions options);
  Result<Version> update(Bytes key, const std::function<void(std::string&)>& change,
                         bool fixed_size, WriteOptions options);
  template <class Key, class Change>
  Result<std::uint64_t> update_word(Key key, std::uint32_t offset_bytes, Change& change,
                                    WriteOptions options);
  template <class Key>
  Result<bool> erase(Key key, WriteOptions options);
  Result<Version> write(const WriteBatch& batch, WriteOptions options);

  std::uint64_t count() const;
  Status sync();
  Version durable_up_to() const;
  StoreStats stats() const;
  Status reserve(std::uint64_t records);
  Status reclaim();
  VerifyReport verify() const;
  Status close();
  Snapshot snapshot();
  void release_snapshot(Version version);
  Result<Version> snapshot_get(Version version, Bytes key, std::string& value) const;
  Status snapshot_for_each(
      Version version,
      const std::function<bool(std::string_view, std::string_view, Version)>& visit) const;

  // Words may be updated in place meanwhile; each is seen as it was or as it is.
  void copy_value(const RecordView& record, std::byte* to, std::uint64_t count) const {
    read_words(to, record.value_data(), count);
  }
  void copy_value(const RecordView& record, std::string& to) const {
    to.resize(record.value_bytes());
    copy_value(record, reinterpret_cast<std::byte*>(to.data()), to.size());
  }

  const RecoveryReport& recovery() const { return recovery_; }
  RegionReport region_report() const { return medium_.region().report(); }
  bool read_only() const { return read_only_; }
  std::uint64_t snapshots_open() const { return snapshots_open_.load(std::memory_order_acquire); }
  Durability default_durability() const { return default_durability_; }
  const Geometry& geometry() const { return geometry_; }

 private:
  friend class Recovery;
  friend class Reclaimer;
  friend struct ForTests;

  // ---- Small things ----
  RecordView record_at(Line line) const {
    return {medium_.at(line.number * kCacheLineBytes), geometry_};
  }
  template <class Key>
  auto matches(Key key) const {
    return [this, key](Line line) {
      const std::byte* const at = medium_.at(line.number * kCacheLineBytes);
      const auto* header = reinterpret_cast<const RecordHeader*>(at);
      // A run's last 128 bytes are no record's beginning, so only a longer key could lead beyond
      // the region.
      if (header->key_bytes() != key.size()) return false;
      if (key.size() > 64 &&
          line.number * kCacheLineBytes + geometry_.record_header_bytes + key.size() >
              medium_.size_bytes())
        return false;
      return equal_bytes(at + geometry_.record_header_bytes, key.data(), key.size());
    };
  }
  // How many bytes of the record's run lie from its beginning on.
  std::uint64_t room_at(std::uint64_t offset) const {
    const std::uint64_t in_block = geometry_.block_bytes - (offset & (geometry_.block_bytes - 1));
    const BlockMeta& own = table_.meta(table_.block_of(offset));
    const std::uint64_t up_to_own = table_.block_of(offset) - own.head + 1;
    const std::uint64_t in_run = table_.meta(own.head).run_blocks;
    if (up_to_own > in_run) return in_block;  // The word of its block is damaged.
    return in_block + (in_run - up_to_own) * geometry_.block_bytes;
  }
  bool fits(const RecordView& record, std::uint64_t offset) const {
    const std::uint64_t in_block = geometry_.block_bytes - (offset & (geometry_.block_bytes - 1));
    return has_shape(record) && (record.fits(in_block) || record.fits(room_at(offset)));
  }
  // A typed store's callers copy as many bytes as its types have.
  bool has_shape(const RecordView& record) const {
    return superblock_.value_bytes == 0 ||
           (record.header().key_bytes() == superblock_.key_bytes &&
            (record.kind() != RecordKind::kPut ||
             record.header().value_bytes == superblock_.value_bytes));
  }
  // The same of a record whose key was just found to be the one asked for: only the value is in
  // doubt.
  bool value_fits(const RecordView& record, std::uint64_t offset) const {
    const std::uint64_t in_block = geometry_.block_bytes - (offset & (geometry_.block_bytes - 1));
    if (!has_shape(record)) [[unlikely]]
      return false;
    // Two comparisons, since the sum could wrap.
    if (record.header().value_bytes < in_block &&
        record.value_at() + record.header().value_bytes <= in_block) [[likely]]
      return true;
    return record.fits(room_at(offset));
  }
  Error damaged(std::uint64_t offset, std::string_view what) const;
  // Option verify_reads, of a record that fits. What is updated in place is in no sum that is
  // asked.
  Status check_read(const RecordView& record, std::uint64_t offset) const {
    if (!options_.verify_reads) [[likely]]
      return {};
    if (record.is_sound(geometry_.seed(table_.run_of(offset).generation), patchable_)) return {};
    return damaged(offset, "record whose checksum does not hold");
  }
  // What a write with this durability needs; the ordinary case is one load.
  Status check_write(Durability durability) const {
    if (writable_.load(std::memory_order_acquire) && (durability != Durability::kPower || power_))
        [[likely]]
      return {};
    return explain_refusal(durability);
  }
  Status explain_refusal(Durability durability) const;
  Status check_sizes(std::uint64_t key_bytes, std::uint64_t value_bytes) const {
    if (key_bytes <= kMaxKeyBytes && value_bytes <= kMaxValueBytes) [[likely]]
      return {};
    return too_large(key_bytes, value_bytes);
  }
  static Error too_large(std::uint64_t key_bytes, std::uint64_t value_bytes);
  Durability effective(WriteOptions options) const {
    return options.durability == Durability::kDefault ? default_durability_ : options.durability;
  }
  bool patchable(std::uint32_t offset_bytes) const {
    for (const std::uint32_t at : patchable_) {
      if (at >= offset_bytes) return at == offset_bytes;
    }
    return false;
  }
  void fail(const Error& error);  // The medium refused: read-only from here on.
  // The same also for lack of space: a record was written, perhaps in part, perhaps wholly, and its
  // operation was not acknowledged.
  void fail_in_doubt(const Error& error);

  // ---- Sessions ----
  Session& session() const {  // Of this thread.
    if (last_session.store_uid == store_uid_) [[likely]]
      return *last_session.session;
    return find_session();
  }
  Session& find_session() const;
  Session& take_session() const;
  // Threads that end while the store lives give their sessions back; children of fork() know whose
  // it is.
  void enroll();
  void withdraw();
  Lane& lane_of(Session& session) const { return medium_.paged() ? *shared_lane_ : session.lane; }

  // ---- Appending ----
  std::uint64_t draw_sequence(Lane& lane, bool fresh);  // 0: see lane.sequence_failure.
  Status reserve_sequences(std::uint64_t up_to);
  // Room for `bytes` of `records` records in the lane's run, sealing and opening as needed.
  // The run's sequences stay within what its summary can say.
  Status make_room(Session& session, Lane& lane, std::uint64_t bytes, std::uint64_t records,
                   std::uint64_t sequence, BlockTable::Purpose purpose);
  Status seal(Session& session, Lane& lane);
  Status seal_run(std::uint64_t head, const std::vector<Lane::Entry>& entries,
                  std::uint64_t used_bytes, std::uint64_t frame_bytes = 0);
  // One record, written back but not yet fenced or handed over. `sequence` 0: draw one.
  template <class Key, class Value>
  Status append(Session& session, Lane& lane, const NewRecord<Key, Value>& record,
                std::uint64_t sequence, bool fresh, BlockTable::Purpose purpose,
                Appended& appended);
  template <class Key, class Value>
  Status append_own_run(const NewRecord<Key, Value>& record, std::uint64_t sequence,
                        Session& session, BlockTable::Purpose purpose, Appended& appended);
  // What was appended since the last commit survives the process (page: handed over), or power loss
  // where fences give that. Under the lane's latch.
  Status commit(Session& session, Lane& lane);
  // Page regions, kPower: waits for the group. Without the lane's latch.
  Status wait_for_power(Durability durability);
  // Asks for what publishing over a record of this hash will touch: its first line, the one
  // `word_at` bytes behind it, and what is known of its run. Waits for the index, for nothing else.
  void fetch_superseded(std::uint64_t hash, std::uint64_t word_at) const {
    const Line line = index_->candidate(hash);
    if (line == kNoLine) return;
    const std::byte* const at = medium_.at(line.number * kCacheLineBytes);
    prefetch_for_write(at);
    if (word_at >= kCacheLineBytes) prefetch_for_write(at + word_at);
    prefetch_for_write(&table_.meta(table_.block_of(line.number * kCacheLineBytes)).head);
  }
  // append + commit + wait.
  template <class Key, class Value>
  Result<Appended> write_record(Session& session, const NewRecord<Key, Value>& record, bool fresh,
                                BlockTable::Purpose purpose, Durability durability);
  void abandon(const Appended& record) {
    table_.mark_dead(record.offset, record.ordinal, record.padded_bytes);
  }
  // The operation fails although its record is durable: nothing that is older may be acknowledged
  // from here on, since recovery would let the record win over it. In the operation's guard.
  void disown(Session& session, std::uint64_t hash, const Appended& record, RecordKind kind) {
    index_->raise_erase_horizon(hash, record.sequence);
    if (kind == RecordKind::kPut)
      abandon(record);
    else  // Its bytes count as dead already.
      table_.set_dead(table_.run_of(record.offset), record.ordinal);
    session.undone = true;
  }
  // After a failed verb, outside of its guard: what it appended is marked dead on the medium, so
  // that it does not appear after a crash. Returns why the verb failed, or that this failed, too.
  Error take_back(Session& session, Error why);
  // What a verb returns whose first attempt came out as `outcome`: that, or where it found the
  // medium full, what it comes out as when dead records have made room.
  template <class Outcome, class... Parameters, class... Arguments>
  Outcome settle(Outcome outcome, Outcome (StoreCore::*attempt)(Parameters...),
                 const Arguments&... arguments) {
    if (outcome.has_value()) [[likely]]
      return outcome;
    return try_again(std::move(outcome), attempt, arguments...);
  }
  template <class Outcome, class... Parameters, class... Arguments>
  [[gnu::noinline, gnu::cold]] Outcome try_again(Outcome outcome,
                                                 Outcome (StoreCore::*attempt)(Parameters...),
                                                 const Arguments&... arguments) {
    for (;;) {
      if (session().undone) outcome = take_back(session(), std::move(outcome).error());
      if (outcome.has_value() || outcome.code() != Errc::kNoSpace) return outcome;
      HF_ASSIGN_OR_RETURN(const bool room, reclaim_some());
      if (!room) return full(std::move(outcome).error());
      outcome = (this->*attempt)(arguments...);
    }
  }

  struct Member {  // Of an atomic batch.
    NewRecord<Bytes, Bytes> record;
    Appended appended;
  };
  Result<Version> append_batch(Session& session, std::vector<Member>& members,
                               Durability durability);
  Status append_batch_run(Session& session, std::vector<Member>& members, Version sequence,
                          std::uint64_t bytes);
  void append_frame(Lane& lane, Version sequence, std::uint64_t members_bytes);
  void compose_frame(std::byte* to, Version sequence, std::uint64_t members_bytes,
                     std::uint32_t ordinal, std::uint64_t seed) const;
  void publish_batch(Session& session, std::vector<Member>& members,
                     const std::vector<index::Entry>& entries, const std::vector<bool>& claimed);

  // ---- Publishing ----
  inline bool newest(const OffsetMap::Home& home, index::Entry entry, std::uint64_t hash,
                     std::uint64_t sequence) const;
  // Under the latch. False: the index needs to grow first; nothing was published.
  inline bool publish(OffsetMap::Home& home, index::Entry entry, const Appended& record);
  void publish_erase(OffsetMap::Home& home, index::Entry entry, std::uint64_t hash,
                     const Appended& tombstone);
  void retire_version(Line newer, Line older);
  template <class Key, class Value>
  Result<PutOutcome> publish_put(Session& session, const NewRecord<Key, Value>& record,
                                 Appended appended, Durability durability);
  template <class Key, class Value>
  Result<PutOutcome> try_put(Key key, Value value, WriteOptions options);
  // From the first that is not `done` on; counts as far as it gets.
  template <class KeyAt, class ValueAt>
  Status try_put_many(std::size_t count, const KeyAt& key_at, const ValueAt& value_at,
                      WriteOptions options, std::size_t* done);
  template <class Key>
  Result<bool> try_erase(Key key, WriteOptions options);
  Result<Version> try_put_if(Bytes key, Bytes value, Condition condition, Version expected,
                             WriteOptions options);
  Result<Version> try_update(Bytes key, const std::function<void(std::string&)>* change,
                             bool fixed_size, WriteOptions options);
  template <class Key, class Change>
  Result<std::uint64_t> try_update_word(Key key, std::uint32_t offset_bytes, Change* change,
                                        WriteOptions options);
  Result<Version> try_write(const WriteBatch* batch, WriteOptions options);
  // reclaim_mutex_, before the background's next pass; a rate limit does not hold up the present
  // one.
  [[nodiscard]] std::unique_lock<Mutex> lock_reclamation() const {
    reclaim_waiters_.fetch_add(1, std::memory_order_relaxed);
    std::unique_lock lock(reclaim_mutex_);
    reclaim_waiters_.fetch_sub(1, std::memory_order_relaxed);
    return lock;
  }
  // Room in a full medium, by a pass in the caller or by one that another thread made meanwhile.
  // False: what is in use lives, or is held by snapshots and pins.
  Result<bool> reclaim_some();
  Error full(Error why) const;
  template <class Key>
  Result<bool> publish_tombstone(Session& session, const NewRecord<Key, Key>& record,
                                 Appended appended, Durability durability);

  // ---- Versions kept for snapshots ----
  struct VersionShard {
    mutable std::mutex mutex;
    std::unordered_map<Line, Line, LineHash> older;  // Of a newer record: the one it superseded.
  };
  VersionShard& version_shard(Line line) const {
    return versions_[mix64(line.number) % versions_.size()];
  }
  Line older_version(Line newer) const;
  // The newest record of the chain beginning at `line` that is not newer than `version`; kNoLine if
  // none.
  Line visible_at(Line line, Version version) const;
  void prune_versions();

  // ---- Batches being published ----
  struct PendingBatch {
    std::unordered_map<Line, Line, LineHash> previous;  // By new line; kNoLine: there was none.
  };
  Line settled(Line line) const {
    const PendingBatch* pending = pending_batch_.load(std::memory_order_acquire);
    if (pending == nullptr) [[likely]]
      return line;
    const auto found = pending->previous.find(line);
    return found == pending->previous.end() ? line : found->second;
  }

  // Dead bits of a run to be put on the medium. Who supersedes a record believes its header's
  // ordinal, which may be damaged; before that could cost a neighbour its life, the index is asked.
  std::vector<std::uint64_t> take_dead_bits(std::uint64_t head);  // Under reclaim_mutex_.
  // Whether the index leads to record `i` of a run. In a guard.
  bool is_indexed(std::uint64_t run_offset, const SummaryEntry& entry) const {
    const Line own{(run_offset + entry.offset_bytes()) / kCacheLineBytes};
    return static_cast<bool>(index_->find(entry.hash, [&](Line line) { return line == own; }));
  }
  Status write_image(CleanMark& mark);
  void mark_moved_dead();

  // ---- Background ----
  void start_background();
  void stop_background();
  void background_loop();
  void maintain();
  bool wants_reclaim(const BlockTable::Totals& totals) const;
  Status sync_files();
  bool sealing() const;  // Page regions: syncs are still to come until all full runs are sealed.

  StoreOptions options_;
  Medium medium_;
  Superblock superblock_;
  Geometry geometry_;
  std::vector<std::uint32_t> patchable_;
  Durability default_durability_;
  bool read_only_;
  bool power_;                  // Whether the medium can give kPower at all.
  std::atomic<bool> writable_;  // Neither read-only nor failed.
  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;
  bool closed_ = false;
  bool left_to_parent_ = false;

  mutable EpochDomain epochs_;
  BlockTable table_;
  std::unique_ptr<OffsetMap> index_;
  RecoveryReport recovery_;

  std::uint64_t store_uid_ = 0;  // Of this object in this process.
  mutable std::mutex sessions_mutex_;
  mutable std::vector<std::unique_ptr<Session>> sessions_;
  std::unique_ptr<Lane> shared_lane_;  // Page regions.
  std::unique_ptr<Session> relocator_;

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next_sequence_{1};
  std::atomic<std::uint64_t> sequence_limit_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> sequence_epoch_{
      1};  // Raised by snapshots: reserved sequences lapse.
  Mutex sequence_mutex_;
  std::uint64_t sequence_step_ =
      1'048'576;  // Made durable as handed out at a time: one fence per so many.

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> snapshots_open_{0};
  // Snapshots that are open or whose versions are being pruned: what reclamation heeds.
  std::atomic<std::uint64_t> versions_held_{0};
  std::atomic<PendingBatch*> pending_batch_{nullptr};
  std::atomic<std::uint64_t> indexed_tombstones_{0};
  Mutex batch_mutex_;
  mutable Mutex snapshot_mutex_;
  std::vector<Version> snapshot_versions_;  // Open ones, ascending.
  mutable std::array<VersionShard, 64> versions_;
  std::vector<Line> tombstones_indexed_;  // To be taken out when no snapshot needs them.
  std::mutex tombstones_mutex_;

  SyncGroup sync_group_;
  std::atomic<std::uint64_t> durable_sequence_{0};
  std::atomic<bool> unsynced_{false};
  mutable Mutex sealed_mutex_;
  // Page regions: runs that are full, whose tail waits for a sync of the records, then their word
  // for a sync of the tail.
  struct TailDue {
    std::uint64_t head;
    std::vector<std::byte> tail;
  };
  std::vector<TailDue> tails_due_;
  std::vector<std::uint64_t> tails_put_;

  mutable Mutex reclaim_mutex_;  // One reclaimer at a time.
  std::atomic<std::uint64_t> reclaimed_blocks_{0}, relocated_bytes_{0}, tombstones_dropped_{0};
  // Threads that wait for the reclaimer's turn to end: it hurries while there are.
  mutable std::atomic<std::uint32_t> reclaim_waiters_{0};
  std::vector<std::uint64_t> evacuated_;  // Runs whose live records were moved, not free yet.

  std::thread background_;
  std::mutex background_mutex_;
  std::condition_variable background_wake_;
  bool background_stop_ = false;
  std::atomic<bool> background_wanted_{false};
};

}  // namespace holdfast::kv
