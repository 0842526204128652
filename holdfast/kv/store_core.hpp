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
  void enroll();  // Threads that end while the store lives give their sessions back.
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
  Result<Appended> append(Session& session, Lane& lane, const NewRecord<Key, Value>& record,
                          std::uint64_t sequence, bool fresh, BlockTable::Purpose purpose);
  template <class Key, class Value>
  Result<Appended> append_own_run(const NewRecord<Key, Value>& record, std::uint64_t sequence,
                                  Session& session, BlockTable::Purpose purpose);
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
  bool newest(const OffsetMap::Home& home, index::Entry entry, std::uint64_t hash,
              std::uint64_t sequence) const;
  // Under the latch. False: the index needs to grow first; nothing was published.
  bool publish(OffsetMap::Home& home, index::Entry entry, const Appended& record);
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

// ==== Templates ====

template <class Key, class Value>
Result<Appended> StoreCore::append(Session& session, Lane& lane,
                                   const NewRecord<Key, Value>& record, std::uint64_t sequence,
                                   bool fresh, BlockTable::Purpose purpose) {
  const std::uint64_t bytes = record.bytes(geometry_);
  const std::uint64_t padded = Geometry::padded(bytes);
  if (sequence == 0) {
    sequence = draw_sequence(lane, fresh);
    if (sequence == 0) [[unlikely]]
      return lane.sequence_failure.error();
  }
  if (!lane.fits(padded, 1) || !lane.spans(sequence)) [[unlikely]] {
    if (padded + run_tail_bytes(1) > geometry_.block_bytes)
      return append_own_run(record, sequence, session, purpose);
    HF_RETURN_IF_ERROR(make_room(session, lane, padded, 1, sequence, purpose));
  }
  if (sequence < lane.min_sequence)
    lane.meta->min_sequence.store(lane.min_sequence = sequence, std::memory_order_relaxed);
  lane.max_sequence = std::max(lane.max_sequence, sequence);
  const std::uint32_t ordinal = lane.next_ordinal;
  table_.prepare_ordinal(*lane.meta, ordinal);
  std::byte* const to = lane.write_base + lane.at;
  if (padded <= Session::kScratchBytes) {
    compose_record(session.scratch, geometry_, record, sequence, ordinal, lane.seed, patchable_);
    if (medium_.paged())
      std::memcpy(to, session.scratch, padded);
    else
      medium_.persist().stream(to, session.scratch, padded);
  } else {
    const auto composed = std::make_unique<std::byte[]>(padded);
    compose_record(composed.get(), geometry_, record, sequence, ordinal, lane.seed, patchable_);
    if (medium_.paged())
      std::memcpy(to, composed.get(), padded);
    else
      medium_.persist().stream(to, composed.get(), padded);
  }
  const Appended appended{lane.run_offset + lane.at, padded, sequence, ordinal};
  lane.entries.push_back({record.hash, sequence, lane.at, record.kind});
  lane.at += padded;
  ++lane.next_ordinal;
  lane.meta->used_bytes.store(lane.at, std::memory_order_relaxed);
  if (record.kind == RecordKind::kErase)
    lane.meta->dead_bytes.fetch_add(padded, std::memory_order_relaxed);
  session.note(0, padded / kCacheLineBytes);
  return appended;
}

template <class Key, class Value>
Result<Appended> StoreCore::append_own_run(const NewRecord<Key, Value>& record,
                                           std::uint64_t sequence, Session& session,
                                           BlockTable::Purpose purpose) {
  const std::uint64_t bytes = record.bytes(geometry_);
  const std::uint64_t padded = Geometry::padded(bytes);
  const std::uint64_t blocks = geometry_.blocks_for(padded, 1);
  HF_ASSIGN_OR_RETURN(const std::uint64_t head, table_.open_run(blocks, purpose));
  BlockMeta& run = table_.meta(head);
  const std::uint64_t at = table_.run_at(head);
  const std::uint64_t seed = geometry_.seed(run.generation);
  // Header, key and value go straight to the medium: there is no second copy of a large value.
  const Bytes value = record.kind == RecordKind::kPut ? Bytes(record.value) : Bytes();
  RecordHeader header{0, sequence, value.size(),
                      static_cast<std::uint32_t>(record.key.size()) |
                          std::uint32_t{static_cast<std::uint8_t>(record.kind)} << 24,
                      0};
  const std::uint64_t value_at = geometry_.value_at(record.key.size());
  std::vector<std::byte> front(bytes -
                               value.size());  // A tombstone ends with its key, a value is aligned.
  std::memcpy(front.data(), &header, sizeof header);
  std::memcpy(front.data() + geometry_.record_header_bytes, record.key.data(), record.key.size());
  const std::uint64_t sum = record_sum(
      header, body_hash(std::span(front).subspan(geometry_.record_header_bytes), value, patchable_),
      seed);
  if (!patchable_.empty()) std::memcpy(front.data() + sizeof header, &sum, sizeof sum);
  header.checksum = record.kind == RecordKind::kPut ? whole_checksum(sum, value, patchable_) : sum;
  std::memcpy(front.data(), &header, sizeof header);
  const auto put = [&]() -> Status {
    HF_RETURN_IF_ERROR(medium_.put(at, front.data(), front.size()));
    HF_RETURN_IF_ERROR(medium_.put(at + value_at, value.data(), value.size()));
    // Before the tail, which vouches for it.
    return medium_.paged() ? ok_status() : medium_.order();
  };
  if (auto done = put(); !done) {
    fail_in_doubt(done.error());
    return std::move(done).error();
  }
  session.note(2, padded / kCacheLineBytes + 2);
  run.used_bytes.store(padded, std::memory_order_relaxed);
  if (record.kind == RecordKind::kErase) run.dead_bytes.store(padded, std::memory_order_relaxed);
  run.min_sequence.store(sequence, std::memory_order_relaxed);
  if (auto sealed = seal_run(head, {{record.hash, sequence, 0, record.kind}}, padded); !sealed) {
    fail(sealed.error());
    return std::move(sealed).error();
  }
  return Appended{at, padded, sequence, 0};
}

template <class Key, class Value>
Result<Appended> StoreCore::write_record(Session& session, const NewRecord<Key, Value>& record,
                                         bool fresh, BlockTable::Purpose purpose,
                                         Durability durability) {
  Lane& lane = lane_of(session);
  lane.latch.lock();
  auto appended = append(session, lane, record, 0, fresh, purpose);
  if (!appended) [[unlikely]] {
    lane.latch.unlock();
    return appended;
  }
  auto committed = commit(session, lane);
  lane.latch.unlock();
  // Loads pass the fence that still waits: what the record supersedes comes while it does.
  if (!fresh) fetch_superseded(record.hash, 0);
  if (!committed) [[unlikely]]
    return std::move(committed).error();
  if (medium_.paged()) HF_RETURN_IF_ERROR(wait_for_power(durability));
  return appended;
}

template <class Key, class Value>
Result<PutOutcome> StoreCore::put(Key key, Value value, WriteOptions options) {
  return settle(try_put(key, value, options), &StoreCore::try_put<Key, Value>, key, value, options);
}

template <class Key, class Value>
Result<PutOutcome> StoreCore::try_put(Key key, Value value, WriteOptions options) {
  HF_RETURN_IF_ERROR(check_sizes(key.size(), value.size()));
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  const NewRecord<Key, Value> record{RecordKind::kPut, hash64(key), key, value};
  index_->prefetch_for_write(record.hash);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  HF_ASSIGN_OR_RETURN(const Appended appended,
                      write_record(own, record, false, BlockTable::Purpose::kPut, durability));
  return publish_put(own, record, appended, durability);
}

template <class Key, class Value>
Result<PutOutcome> StoreCore::publish_put(Session& session, const NewRecord<Key, Value>& record,
                                          Appended appended, Durability durability) {
  for (;;) {
    auto latched = index_->latch(record.hash);
    const auto entry = latched.find(matches(record.key));
    if (!newest(latched, entry, record.hash, appended.sequence)) [[unlikely]] {
      // A later writer of this key was faster. Once more, under the latch, with a newer sequence.
      auto again = write_record(session, record, true, BlockTable::Purpose::kPut, durability);
      if (!again) {
        disown(session, record.hash, appended, record.kind);
        return std::move(again).error();
      }
      abandon(appended);
      appended = *again;
    }
    const bool existed = entry && record_at(latched.line(entry)).kind() == RecordKind::kPut;
    if (publish(latched, entry, appended)) [[likely]]
      return existed ? PutOutcome::kOverwrote : PutOutcome::kInserted;
    latched.release();
    if (auto grown = index_->grow(record.hash); !grown) {
      disown(session, record.hash, appended, record.kind);
      return std::move(grown).error();
    }
  }
}

inline bool StoreCore::newest(const OffsetMap::Home& home, index::Entry entry, std::uint64_t hash,
                              std::uint64_t sequence) const {
  // The horizon counts also where there is a record: a tombstone that came too late to erase
  // anything is durable all the same, so nothing older may be acknowledged after it.
  if (index_->erase_horizon(hash).load(std::memory_order_acquire) >= sequence) return false;
  return !entry || record_at(home.line(entry)).sequence() < sequence;
}

inline bool StoreCore::publish(OffsetMap::Home& home, index::Entry entry, const Appended& record) {
  const Line line{record.offset / kCacheLineBytes};
  if (!entry) return home.insert(line);
  const Line old = home.line(entry);
  if (snapshots_open_.load(std::memory_order_acquire) != 0) [[unlikely]] {
    retire_version(line, old);
    home.replace(entry, line);
    if (record_at(old).kind() == RecordKind::kErase)
      indexed_tombstones_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  home.replace(entry, line);
  const RecordView superseded = record_at(old);
  if (superseded.kind() == RecordKind::kErase) [[unlikely]] {
    indexed_tombstones_.fetch_sub(1, std::memory_order_relaxed);
    return true;  // Its bytes count as dead since it was written.
  }
  table_.mark_dead(old.number * kCacheLineBytes, superseded.header().ordinal,
                   superseded.padded_bytes());
  return true;
}

template <class Key, class Copy>
Result<Version> StoreCore::get(Key key, Copy&& copy) const {
  const std::uint64_t hash = hash64(key);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  OffsetMap::Sighting seen;
  Line line = index_->find(hash, matches(key), seen);
  if (line != kNoLine) line = settled(line);
  if (line == kNoLine) return Error{Errc::kNotFound, {}};
  const RecordView record = record_at(line);
  if (record.kind() != RecordKind::kPut) [[unlikely]] {
    if (record.kind() == RecordKind::kErase) return Error{Errc::kNotFound, {}};
    return damaged(line.number * kCacheLineBytes, "record of unknown kind");
  }
  if (!value_fits(record, line.number * kCacheLineBytes)) [[unlikely]]
    return damaged(line.number * kCacheLineBytes, "record longer than its run");
  HF_RETURN_IF_ERROR(check_read(record, line.number * kCacheLineBytes));
  const Version version = record.sequence();
  copy(record);
  if (!patchable_.empty() && index_->patching(hash, seen)) [[unlikely]] {
    // A word of this bucket's keys is being updated in place and may not be durable yet: what we
    // read is made durable before we tell anybody.
    medium_.persist().persist(record.bytes(), record.record_bytes());
  }
  return version;
}

template <class KeyAt, class Copy>
Status StoreCore::get_many(std::size_t count, KeyAt&& key_at, Copy&& copy,
                           std::span<Errc> outcomes) const {
  // Stages over groups: buckets on their way, then records on their way, then copies. 16 misses of
  // each kind are about what a core can have outstanding.
  constexpr std::size_t kGroup = 16;
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  std::array<std::uint64_t, kGroup> hashes;
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t size = std::min(kGroup, count - first);
    for (std::size_t i = 0; i < size; ++i) {
      hashes[i] = hash64(key_at(first + i));
      index_->prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < size; ++i) {
      // The first candidate is nearly always the one.
      const Line candidate = index_->find(hashes[i], [](Line) { return true; });
      if (candidate == kNoLine) continue;
      const std::byte* const at = medium_.at(candidate.number * kCacheLineBytes);
      for (std::size_t line = 0; line < 4; ++line)
        __builtin_prefetch(at + line * kCacheLineBytes);
    }
    for (std::size_t i = 0; i < size; ++i) {
      Line line = index_->find(hashes[i], matches(key_at(first + i)));
      if (line != kNoLine) line = settled(line);
      if (line == kNoLine || record_at(line).kind() == RecordKind::kErase) {
        outcomes[first + i] = Errc::kNotFound;
        continue;
      }
      const RecordView record = record_at(line);
      if (record.kind() != RecordKind::kPut || !value_fits(record, line.number * kCacheLineBytes)) {
        return damaged(line.number * kCacheLineBytes,
                       "record longer than its run or of unknown kind");
      }
      HF_RETURN_IF_ERROR(check_read(record, line.number * kCacheLineBytes));
      copy(first + i, record);
      if (!patchable_.empty() && index_->patching(hashes[i])) [[unlikely]] {
        medium_.persist().persist(record.bytes(), record.record_bytes());
      }
      outcomes[first + i] = Errc::kOk;
    }
  }
  return {};
}

template <class KeyAt, class ValueAt>
Status StoreCore::put_many(std::size_t count, KeyAt&& key_at, ValueAt&& value_at,
                           WriteOptions options) {
  std::size_t done = 0;
  return settle(try_put_many(count, key_at, value_at, options, &done),
                &StoreCore::try_put_many<std::remove_cvref_t<KeyAt>, std::remove_cvref_t<ValueAt>>,
                count, key_at, value_at, options, &done);
}

template <class KeyAt, class ValueAt>
Status StoreCore::try_put_many(std::size_t count, const KeyAt& key_at, const ValueAt& value_at,
                               WriteOptions options, std::size_t* done) {
  using Key = decltype(key_at(0));
  using Value = decltype(value_at(0));
  constexpr std::size_t kGroup = 64;
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  for (std::size_t i = 0; i < count; ++i)
    HF_RETURN_IF_ERROR(check_sizes(key_at(i).size(), value_at(i).size()));
  Session& own = session();
  Lane& lane = lane_of(own);
  std::array<std::uint64_t, kGroup> hashes;
  std::array<Appended, kGroup> appended;
  while (*done < count) {
    const auto guard = epochs_.enter(own.participant);
    const std::size_t first = *done;
    const std::size_t size = std::min(kGroup, count - first);
    for (std::size_t i = 0; i < size; ++i) {
      hashes[i] = hash64(key_at(first + i));
      index_->prefetch_for_write(hashes[i]);
    }
    Status failed;
    std::size_t written = 0;
    {
      const std::lock_guard lock(lane.latch);
      for (; written < size; ++written) {
        const NewRecord<Key, Value> record{RecordKind::kPut, hashes[written],
                                           key_at(first + written), value_at(first + written)};
        auto one = append(own, lane, record, 0, false, BlockTable::Purpose::kPut);
        if (!one) {
          failed = std::move(one).error();
          break;
        }
        appended[written] = *one;
      }
      HF_RETURN_IF_ERROR(commit(own, lane));
    }
    for (std::size_t i = 0; i < written; ++i)
      fetch_superseded(hashes[i], 0);
    if (medium_.paged()) HF_RETURN_IF_ERROR(wait_for_power(durability));
    for (std::size_t i = 0; i < written; ++i) {
      const NewRecord<Key, Value> record{RecordKind::kPut, hashes[i], key_at(first + i),
                                         value_at(first + i)};
      if (auto published = publish_put(own, record, appended[i], durability); !published) {
        for (std::size_t rest = i + 1; rest < written; ++rest) {
          const auto latched = index_->latch(hashes[rest]);
          disown(own, hashes[rest], appended[rest], RecordKind::kPut);
        }
        return std::move(published).error();
      }
      ++*done;
    }
    HF_RETURN_IF_ERROR(std::move(failed));
  }
  return {};
}

template <class Key, class Change>
Result<std::uint64_t> StoreCore::update_word(Key key, std::uint32_t offset_bytes, Change& change,
                                             WriteOptions options) {
  return settle(try_update_word(key, offset_bytes, &change, options),
                &StoreCore::try_update_word<Key, Change>, key, offset_bytes, &change, options);
}

template <class Key, class Change>
Result<std::uint64_t> StoreCore::try_update_word(Key key, std::uint32_t offset_bytes,
                                                 Change* change, WriteOptions options) {
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  const std::uint64_t hash = hash64(key);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  // Both misses before the latch: it is a locked instruction, and all loads behind it wait for the
  // fence of the caller's last write.
  fetch_superseded(hash, geometry_.value_at(key.size()) + offset_bytes);
  for (;;) {
    auto latched = index_->latch(hash);
    const auto entry = latched.find(matches(key));
    if (!entry) return Error{Errc::kNotFound, {}};
    const std::uint64_t offset = latched.line(entry).number * kCacheLineBytes;
    const RecordView old = record_at(latched.line(entry));
    if (old.kind() == RecordKind::kErase) return Error{Errc::kNotFound, {}};
    if (old.kind() != RecordKind::kPut || !value_fits(old, offset)) [[unlikely]]
      return damaged(offset, "record longer than its run or of unknown kind");
    if (offset_bytes % 8 != 0 || offset_bytes + sizeof(std::uint64_t) > old.value_bytes())
        [[unlikely]] {
      return Error{Errc::kInvalidOption,
                   "offset_bytes=" + std::to_string(offset_bytes) + " into a value of " +
                       std::to_string(old.value_bytes()) +
                       " bytes; a multiple of 8 with 8 bytes behind it is allowed"};
    }
    auto* const word = reinterpret_cast<std::uint64_t*>(old.value_data() + offset_bytes);
    BlockMeta& run = table_.run_of(offset);
    if (!medium_.paged() && patchable(offset_bytes) &&
        run.state.load(std::memory_order_acquire) == BlockState::kSealed &&
        !run.relocating.load(std::memory_order_acquire) &&
        snapshots_open_.load(std::memory_order_acquire) == 0) {
      // Pins since the latch was taken copy instead.
      if (run.pins.load(std::memory_order_seq_cst) == 0) [[likely]] {
        const std::uint64_t before = Persist::load(word);
        const std::uint64_t after = (*change)(before);
        latched.set_patching(true);  // Readers of this bucket from now on persist what they read.
        medium_.persist().store(word, after);
        medium_.persist().write_back(word, sizeof *word);
        medium_.persist().fence();
        latched.set_patching(false);
        own.note(1, 1);
        return before;
      }
    }
    HF_RETURN_IF_ERROR(check_read(old, offset));
    std::string value(old.value());
    std::uint64_t before;
    std::memcpy(&before, value.data() + offset_bytes, sizeof before);
    const std::uint64_t after = (*change)(before);
    std::memcpy(value.data() + offset_bytes, &after, sizeof after);
    const NewRecord<Bytes, Bytes> record{RecordKind::kPut, hash, key,
                                         std::as_bytes(std::span(value))};
    HF_ASSIGN_OR_RETURN(const Appended appended,
                        write_record(own, record, true, BlockTable::Purpose::kPut, durability));
    publish(latched, entry, appended);  // Replaces an entry, so the index has room.
    return before;
  }
}

template <class Key>
Result<bool> StoreCore::erase(Key key, WriteOptions options) {
  return settle(try_erase(key, options), &StoreCore::try_erase<Key>, key, options);
}

template <class Key>
Result<bool> StoreCore::try_erase(Key key, WriteOptions options) {
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  // No record has such a key, but one key in 10^4 has the tag of one: its tombstone would have a
  // length that no reader of the medium believes, and hide what follows it in its run.
  if (key.size() > kMaxKeyBytes) [[unlikely]]
    return false;
  const NewRecord<Key, Key> record{RecordKind::kErase, hash64(key), key, key};
  index_->prefetch_for_write(record.hash);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  // Absent keys leave no trace on the medium, save one in 10^4, whose tag another key has. To look
  // at the record as well would put its miss before the fence instead of beside it.
  if (!index_->find(record.hash, [](Line) { return true; })) return false;
  HF_ASSIGN_OR_RETURN(const Appended appended,
                      write_record(own, record, false, BlockTable::Purpose::kErase, durability));
  return publish_tombstone(own, record, appended, durability);
}

template <class Key>
Result<bool> StoreCore::publish_tombstone(Session& session, const NewRecord<Key, Key>& record,
                                          Appended appended, Durability durability) {
  auto latched = index_->latch(record.hash);
  const auto entry = latched.find(matches(record.key));
  if (!entry || record_at(latched.line(entry)).kind() == RecordKind::kErase) {
    // Somebody else erased it meanwhile. Our tombstone erases nothing, but recovery would let it
    // win over whatever is older than it: so nothing older may be published from here on.
    index_->raise_erase_horizon(record.hash, appended.sequence);
    return false;
  }
  if (!newest(latched, entry, record.hash, appended.sequence)) [[unlikely]] {
    auto again = write_record(session, record, true, BlockTable::Purpose::kErase, durability);
    if (!again) {
      disown(session, record.hash, appended, record.kind);
      return std::move(again).error();
    }
    appended = *again;
  }
  publish_erase(latched, entry, record.hash, appended);
  return true;
}

}  // namespace holdfast::kv
