#include <holdfast/kv/store_core.hpp>

#include <algorithm>

#include <holdfast/kv/store_append.hpp>

namespace holdfast::kv {
namespace {

// Sequences a lane takes at a time: one visit to the shared counter per so many operations.
constexpr std::uint64_t kSequencesPerLane = 64;

Geometry geometry_of(const Superblock& superblock) {
  Geometry geometry;
  geometry.block_bytes = superblock.block_bytes;
  geometry.segment_bytes = superblock.segment_bytes;
  geometry.store_id = superblock.store_id;
  if (superblock.patchable_count != 0) geometry.record_header_bytes += sizeof(std::uint64_t);
  return geometry;
}

std::atomic<std::uint64_t> next_store_uid{1};

}  // namespace

StoreCore::StoreCore(Medium medium, const StoreOptions& options, const Superblock& superblock)
    : options_(options),
      medium_(std::move(medium)),
      superblock_(superblock),
      geometry_(geometry_of(superblock)),
      patchable_(superblock.patchable_words.begin(),
                 superblock.patchable_words.begin() + superblock.patchable_count),
      default_durability_(options.durability),
      read_only_(medium_.region().read_only()),
      power_(medium_.region().granularity() != Granularity::kNone),
      writable_(!read_only_),
      table_(medium_, geometry_, superblock.store_id, options.max_bytes),
      store_uid_(next_store_uid.fetch_add(1)),
      sync_group_([this] { return sync_files(); }) {
  const Granularity granularity = medium_.region().granularity();
  if (default_durability_ == Durability::kDefault) {
    default_durability_ = granularity == Granularity::kLine || granularity == Granularity::kByte
                              ? Durability::kPower
                              : Durability::kProcess;
  }
  if (medium_.paged()) shared_lane_ = std::make_unique<Lane>();
}

Error StoreCore::damaged(std::uint64_t offset, std::string_view what) const {
  return Error{Errc::kCorrupt,
               std::string(what) + " at byte " + std::to_string(offset) + " (block " +
                   std::to_string(table_.block_of(offset)) +
                   "); `verify` lists all damage, a read-only open exports what is intact"};
}

Status StoreCore::explain_refusal(Durability durability) const {
  if (left_to_parent_ && !read_only_)
    return Error{
        Errc::kReadOnly,
        "this process was forked from the one that opened the store, which alone may write "
        "to it and close it; open the store after the fork"};
  if (read_only_)
    return Error{Errc::kReadOnly,
                 "the store was opened read-only; reopen it with RegionAccess::kOpen to write"};
  if (!writable_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(failure_mutex_);
    return Error{
        Errc::kReadOnly,
        "the store refuses writes since " + failure_->message() +
            "; what was acknowledged before stays readable, close it and check the medium"};
  }
  HF_CHECK(durability == Durability::kPower && !power_);
  return Error{Errc::kUnsupported,
               "durability=power on a medium that loses everything with the power (" +
                   medium_.region().report().kind +
                   "); use a file, persistent memory, or durability=process"};
}

void StoreCore::fail(const Error& error) {
  if (error.code == Errc::kNoSpace || error.code == Errc::kTooLarge)
    return;  // Nothing is in doubt.
  fail_in_doubt(error);
}

void StoreCore::fail_in_doubt(const Error& error) {
  const std::lock_guard lock(failure_mutex_);
  if (!failure_) failure_ = error;
  writable_.store(false, std::memory_order_release);
}

Error StoreCore::too_large(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes > kMaxKeyBytes) {
    return {Errc::kTooLarge, "key of " + std::to_string(key_bytes) + " bytes; at most " +
                                 std::to_string(kMaxKeyBytes) + " are allowed"};
  }
  return {Errc::kTooLarge, "value of " + std::to_string(value_bytes) + " bytes; at most " +
                               std::to_string(kMaxValueBytes) + " are allowed"};
}

// ---- Sequences ----

std::uint64_t StoreCore::draw_sequence(Lane& lane, bool fresh) {
  const std::uint64_t epoch = sequence_epoch_.load(std::memory_order_acquire);
  if (fresh || lane.next_sequence == lane.end_sequence || lane.sequence_epoch != epoch)
      [[unlikely]] {
    lane.sequence_epoch = epoch;
    lane.next_sequence = next_sequence_.fetch_add(kSequencesPerLane, std::memory_order_acq_rel);
    lane.end_sequence = lane.next_sequence + kSequencesPerLane;
    if (lane.end_sequence > sequence_limit_.load(std::memory_order_acquire)) {
      if (auto reserved = reserve_sequences(lane.end_sequence); !reserved) [[unlikely]] {
        // After a crash they could be handed out again: none of them may be used.
        lane.next_sequence = lane.end_sequence;
        fail(reserved.error());
        lane.sequence_failure = std::move(reserved);
        return 0;
      }
    }
  }
  return lane.next_sequence++;
}

Status StoreCore::reserve_sequences(std::uint64_t up_to) {
  const std::lock_guard lock(sequence_mutex_);
  const std::uint64_t limit = sequence_limit_.load(std::memory_order_relaxed);
  if (up_to <= limit) return {};
  const std::uint64_t raised = up_to + sequence_step_;
  HF_RETURN_IF_ERROR(medium_.put_word(kSequenceLimitWordAt, raised));
  HF_RETURN_IF_ERROR(medium_.order());  // Before one is used.
  sequence_limit_.store(raised, std::memory_order_release);
  return {};
}

Status StoreCore::reserve(std::uint64_t records) {
  HF_RETURN_IF_ERROR(check_write(Durability::kProcess));
  return index_->reserve(records);
}

// ---- Lanes ----

Status StoreCore::make_room(Session& session, Lane& lane, std::uint64_t bytes,
                            std::uint64_t records, std::uint64_t sequence,
                            BlockTable::Purpose purpose) {
  if (lane.fits(bytes, records) && lane.spans(sequence)) return {};
  HF_RETURN_IF_ERROR(seal(session, lane));
  HF_ASSIGN_OR_RETURN(const std::uint64_t head,
                      table_.open_run(1, purpose, BlockState::kOpen, lane.expected_records));
  lane.head = head;
  lane.meta = &table_.meta(head);
  lane.run_offset = table_.run_at(head);
  lane.run_bytes = table_.run_bytes(head);
  lane.seed = geometry_.seed(lane.meta->generation);
  lane.at = lane.committed = 0;
  lane.next_ordinal = 0;
  lane.min_sequence = ~std::uint64_t{0};
  lane.max_sequence = 0;
  if (medium_.paged()) {
    if (!lane.staging) lane.staging = std::make_unique<std::byte[]>(geometry_.block_bytes);
    lane.write_base = lane.staging.get();
  } else {
    lane.write_base = medium_.at(lane.run_offset);
  }
  if (table_.free_blocks() < geometry_.blocks_per_segment() || index_->wants_memory()) {
    background_wanted_.store(true, std::memory_order_relaxed);
    background_wake_.notify_one();
  }
  return {};
}

Status StoreCore::seal(Session& session, Lane& lane) {
  if (!lane.open()) return {};
  // On page regions records of a group may still be in staging.
  // Elsewhere they may lack a fence (a group that goes on in the next run): the tail vouches for
  // them.
  HF_RETURN_IF_ERROR(commit(session, lane));
  const std::uint64_t head = std::exchange(lane.head, kNoBlock);
  lane.expected_records =
      static_cast<std::uint32_t>(lane.entries.size() + lane.entries.size() / 8 + 16);
  const auto entries = std::exchange(lane.entries, {});
  lane.entries.reserve(entries.capacity());
  if (auto sealed = seal_run(head, entries, lane.at, std::exchange(lane.frame_bytes, 0)); !sealed) {
    fail(sealed.error());
    return sealed;
  }
  session.note(1, 0);
  return {};
}

// One fence, and every record was fenced before: a valid tail says that all its records are whole.
// Until the run's word says sealed, one without a valid tail counts as open, whose records are good
// without.
Status StoreCore::seal_run(std::uint64_t head, const std::vector<Lane::Entry>& entries,
                           std::uint64_t used_bytes, std::uint64_t frame_bytes) {
  BlockMeta& run = table_.meta(head);
  run.records = static_cast<std::uint32_t>(entries.size());
  run.tombstones = static_cast<std::uint32_t>(
      std::count_if(entries.begin(), entries.end(),
                    [](const Lane::Entry& entry) { return entry.kind == RecordKind::kErase; }));
  auto tail = compose_run_tail(entries, run.generation, run.run_blocks, used_bytes, frame_bytes,
                               geometry_.seed(run.generation));
  if (medium_.paged()) {
    // The tail comes after the sync that covers the records, the word after the one that covers the
    // tail.
    const std::lock_guard lock(sealed_mutex_);
    tails_due_.push_back({head, std::move(tail)});
    unsynced_.store(true, std::memory_order_release);
    return {};
  }
  HF_RETURN_IF_ERROR(medium_.put(table_.run_at(head) + table_.run_bytes(head) - tail.size(),
                                 tail.data(), tail.size()));
  HF_RETURN_IF_ERROR(medium_.order());
  return table_.mark_sealed(head);
}

bool StoreCore::sealing() const {
  const std::lock_guard lock(sealed_mutex_);
  return !tails_due_.empty() || !tails_put_.empty();
}

Status StoreCore::commit(Session& session, Lane& lane) {
  if (lane.committed == lane.at) return {};  // A record in a run of its own has seen to itself.
  if (medium_.paged()) {
    auto put = medium_.put(lane.run_offset + lane.committed, lane.write_base + lane.committed,
                           lane.at - lane.committed);
    if (!put) {
      fail_in_doubt(put.error());
      return put;
    }
    lane.committed = lane.at;
    unsynced_.store(true, std::memory_order_release);
    return {};
  }
  medium_.persist().fence();
  lane.committed = lane.at;
  session.note(1, 0);
  return {};
}

Status StoreCore::wait_for_power(Durability durability) {
  if (durability != Durability::kPower) return {};
  auto waited = sync_group_.wait();
  if (!waited) fail(waited.error());
  return waited;
}

Status StoreCore::sync_files() {
  unsynced_.store(false, std::memory_order_release);
  std::uint64_t up_to = 0;
  {
    // Whatever has drawn a sequence of this lane has also handed its record over: both under the
    // latch.
    const std::lock_guard lock(shared_lane_->latch);
    up_to = shared_lane_->next_sequence == 0 ? 0 : shared_lane_->next_sequence - 1;
  }
  std::vector<std::uint64_t> sealed;
  std::vector<TailDue> due;
  {
    const std::lock_guard lock(sealed_mutex_);
    sealed.swap(tails_put_);
    due.swap(tails_due_);
  }
  HF_RETURN_IF_ERROR(medium_.order());
  for (const auto& [head, tail] : due) {
    HF_RETURN_IF_ERROR(medium_.put(table_.run_at(head) + table_.run_bytes(head) - tail.size(),
                                   tail.data(), tail.size()));
    const std::lock_guard lock(sealed_mutex_);
    tails_put_.push_back(head);
    unsynced_.store(true, std::memory_order_release);
  }
  for (const std::uint64_t head : sealed)
    HF_RETURN_IF_ERROR(table_.mark_sealed(head));
  if (up_to > durable_sequence_.load(std::memory_order_relaxed))
    durable_sequence_.store(up_to, std::memory_order_release);
  return {};
}

Status StoreCore::sync() {
  if (!medium_.paged() || read_only_) return {};
  if (left_to_parent_) return explain_refusal(Durability::kDefault);
  auto waited = sync_group_.wait();
  if (!waited) fail(waited.error());
  return waited;
}

Version StoreCore::durable_up_to() const {
  switch (medium_.region().granularity()) {
    case Granularity::kNone: return 0;
    case Granularity::kPage: return durable_sequence_.load(std::memory_order_acquire);
    default:
      return next_sequence_.load(std::memory_order_acquire) - 1;  // Every acknowledged one is.
  }
}

// ---- Conditional writes ----

Result<Version> StoreCore::put_if(Bytes key, Bytes value, Condition condition, Version expected,
                                  WriteOptions options) {
  return settle(try_put_if(key, value, condition, expected, options), &StoreCore::try_put_if, key,
                value, condition, expected, options);
}

Result<Version> StoreCore::try_put_if(Bytes key, Bytes value, Condition condition, Version expected,
                                      WriteOptions options) {
  HF_RETURN_IF_ERROR(check_sizes(key.size(), value.size()));
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  const NewRecord<Bytes, Bytes> record{RecordKind::kPut, hash64(key), key, value};
  index_->prefetch_for_write(record.hash);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  for (;;) {
    auto latched = index_->latch(record.hash);
    auto entry = latched.find(matches(key));
    const bool exists = entry && record_at(latched.line(entry)).kind() == RecordKind::kPut;
    if (condition == Condition::kAbsent && exists) return Error{Errc::kAlreadyExists, {}};
    if (condition == Condition::kVersion) {
      const Version present = exists ? record_at(latched.line(entry)).sequence() : 0;
      if (present != expected) {
        return Error{Errc::kVersionMismatch, "expected version " + std::to_string(expected) +
                                                 ", the record has " + std::to_string(present)};
      }
    }
    index::Entry claimed;
    if (!entry) {
      claimed = latched.claim();
      if (!claimed) {
        latched.release();
        HF_RETURN_IF_ERROR(index_->grow(record.hash));
        continue;
      }
    }
    auto appended = write_record(own, record, true, BlockTable::Purpose::kPut, durability);
    if (!appended) {
      if (claimed) latched.remove(claimed);
      return std::move(appended).error();
    }
    if (claimed)
      latched.replace(claimed, Line{appended->offset / kCacheLineBytes});
    else
      publish(latched, entry, *appended);
    return appended->sequence;
  }
}

Result<Version> StoreCore::update(Bytes key, const std::function<void(std::string&)>& change,
                                  bool fixed_size, WriteOptions options) {
  return settle(try_update(key, &change, fixed_size, options), &StoreCore::try_update, key, &change,
                fixed_size, options);
}

Result<Version> StoreCore::try_update(Bytes key, const std::function<void(std::string&)>* change,
                                      bool fixed_size, WriteOptions options) {
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  const std::uint64_t hash = hash64(key);
  index_->prefetch_for_write(hash);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  auto latched = index_->latch(hash);
  const auto entry = latched.find(matches(key));
  if (!entry || record_at(latched.line(entry)).kind() == RecordKind::kErase)
    return Error{Errc::kNotFound, {}};
  const RecordView old = record_at(latched.line(entry));
  const std::uint64_t offset = latched.line(entry).number * kCacheLineBytes;
  if (old.kind() != RecordKind::kPut || !fits(old, offset))
    return damaged(offset, "record longer than its run or of unknown kind");
  HF_RETURN_IF_ERROR(check_read(old, offset));
  std::string value(old.value());
  (*change)(value);
  if (fixed_size && value.size() != old.value_bytes()) {
    return Error{Errc::kInvalidOption, "the value of a typed store keeps its size of " +
                                           std::to_string(old.value_bytes()) + " bytes"};
  }
  HF_RETURN_IF_ERROR(check_sizes(key.size(), value.size()));
  const NewRecord<Bytes, Bytes> record{RecordKind::kPut, hash, key,
                                       std::as_bytes(std::span(value))};
  HF_ASSIGN_OR_RETURN(const Appended appended,
                      write_record(own, record, true, BlockTable::Purpose::kPut, durability));
  publish(latched, entry, appended);
  return appended.sequence;
}

void StoreCore::publish_erase(OffsetMap::Home& home, index::Entry entry, std::uint64_t hash,
                              const Appended& tombstone) {
  const Line old = home.line(entry);
  index_->raise_erase_horizon(hash, tombstone.sequence);
  if (snapshots_open_.load(std::memory_order_acquire) != 0) [[unlikely]] {
    // Snapshots still need the way to the old record: the key stays indexed, by its tombstone.
    const Line line{tombstone.offset / kCacheLineBytes};
    retire_version(line, old);
    home.replace(entry, line);
    indexed_tombstones_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(tombstones_mutex_);
    tombstones_indexed_.push_back(line);
    return;
  }
  home.remove(entry);
  const RecordView superseded = record_at(old);
  table_.mark_dead(old.number * kCacheLineBytes, superseded.header().ordinal,
                   superseded.padded_bytes());
}

Result<Pinned> StoreCore::get_pinned(Bytes key) const {
  const std::uint64_t hash = hash64(key);
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  Line line = index_->find(hash, matches(key));
  if (line) line = settled(line);
  if (!line || record_at(line).kind() == RecordKind::kErase) return Error{Errc::kNotFound, {}};
  const RecordView record = record_at(line);
  const std::uint64_t offset = line.number * kCacheLineBytes;
  if (record.kind() != RecordKind::kPut || !fits(record, offset))
    return damaged(offset, "record longer than its run or of unknown kind");
  HF_RETURN_IF_ERROR(check_read(record, offset));
  Pinned pinned;
  pinned.version_ = record.sequence();
  if (!patchable_.empty()) {
    BlockMeta& run = table_.run_of(offset);
    run.pins.fetch_add(1, std::memory_order_seq_cst);
    if (index_->latched_or_patching(hash)) {
      // A word may be being updated in place right now, by a writer that has not seen our pin: a
      // copy is what stays as it was.
      run.pins.fetch_sub(1, std::memory_order_release);
      pinned.copy_ = std::make_unique<std::string>();
      copy_value(record, *pinned.copy_);
      medium_.persist().persist(record.bytes(), record.record_bytes());
      pinned.value_ = *pinned.copy_;
      return pinned;
    }
    pinned.run_ = &run;
  } else {
    pinned.run_ = &table_.run_of(offset);
    pinned.run_->pins.fetch_add(1, std::memory_order_seq_cst);
  }
  pinned.value_ = record.value();
  return pinned;
}

// ---- Numbers ----

std::uint64_t StoreCore::count() const {
  return index_->size() - indexed_tombstones_.load(std::memory_order_relaxed);
}

StoreStats StoreCore::stats() const {
  StoreStats stats;
  const BlockTable::Totals totals = table_.totals();
  stats.records = count();
  stats.live_bytes = totals.live_bytes;
  stats.medium_bytes = medium_.size_bytes();
  stats.used_bytes = totals.used_bytes;
  stats.blocks = totals.blocks;
  stats.free_blocks = totals.free_blocks;
  stats.open_blocks = totals.open_blocks;
  stats.dram_index_bytes = index_->dram_bytes();
  stats.dram_other_bytes = table_.dram_bytes();
  {
    const std::lock_guard lock(sessions_mutex_);
    for (const auto& session : sessions_) {
      stats.sessions += session->taken.load(std::memory_order_relaxed);
      stats.fences += session->fences.load(std::memory_order_relaxed);
      stats.lines_written_back += session->lines.load(std::memory_order_relaxed);
      const std::lock_guard latch(session->lane.latch);
      stats.dram_other_bytes +=
          sizeof(Session) + session->lane.entries.capacity() * sizeof(Lane::Entry);
    }
  }
  for (const VersionShard& shard : versions_) {
    const std::lock_guard lock(shard.mutex);
    stats.dram_other_bytes += shard.older.size() * 4 * sizeof(Line);
  }
  if (shared_lane_) stats.dram_other_bytes += geometry_.block_bytes;
  if (relocator_) stats.fences += relocator_->fences.load(std::memory_order_relaxed);
  // Counted as asked for; what was executed depends on the medium.
  if (!medium_.persist().fences()) stats.fences = 0;
  if (medium_.persist().instruction() == WriteBackInstruction::kNone) stats.lines_written_back = 0;
  stats.syncs = sync_group_.syncs();
  stats.snapshots_open = snapshots_open_.load(std::memory_order_relaxed);
  stats.reclaimed_blocks = reclaimed_blocks_.load(std::memory_order_relaxed);
  stats.relocated_bytes = relocated_bytes_.load(std::memory_order_relaxed);
  stats.tombstones_dropped = tombstones_dropped_.load(std::memory_order_relaxed);
  stats.index_rehashes = index_->rehashes();
  stats.newest_version = next_sequence_.load(std::memory_order_relaxed) - 1;
  return stats;
}

}  // namespace holdfast::kv
