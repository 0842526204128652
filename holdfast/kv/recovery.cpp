// Opening a store: from a clean close, or from whatever a crash left. docs/kv.md, "Recovery".
//
//  table word   footer    how this state arises                        what is done
//  kFree        -         never used, or reclaimed                     free
//  kOpen        invalid   the crash found it open                      scan; seal what is valid,
//  durably kOpen        valid     sealed, its word not yet                     as sealed, dead bits
//  zeroed; the word is written kSealed      valid     the usual run its summary is indexed, dead
//  records skipped kSealed      invalid   the medium lied                              kCorrupt
//  (read-only: skipped, reported) kTail        -         without its head before it: run never
//  opened free kImage       -         the index image of a clean close             loaded if the
//  clean mark names it, then freed any other    -         the word's check does not hold kCorrupt
//  (read-only: skipped, reported)
#include <holdfast/kv/store_core.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>

#include <holdfast/kv/create.hpp>
#include <holdfast/kv/recovery.hpp>

namespace holdfast::kv {

Result<StoreCorePointer> StoreCore::open(Region region, const StoreOptions& options,
                                         RecordShape shape) {
  HF_RETURN_IF_ERROR(options.validate());
  const auto start = std::chrono::steady_clock::now();
  Medium medium(std::move(region));
  if (options.durability == Durability::kPower &&
      medium.region().granularity() == Granularity::kNone) {
    return Error{Errc::kUnsupported,
                 "durability=power on a medium that loses everything with the power (" +
                     medium.region().report().kind +
                     "); use a file, persistent memory, or durability=process"};
  }
  auto superblock = read_superblock(medium.region(), options, shape);
  bool created = false;
  const bool may_create =
      options.access == RegionAccess::kCreate || options.access == RegionAccess::kOpenOrCreate;
  if (!superblock && superblock.code() == Errc::kNotHoldfast && may_create &&
      !medium.region().read_only() && medium.region().size_bytes() >= kSuperblockPageBytes &&
      medium.word(offsetof(Superblock, magic)) == 0) {
    HF_RETURN_IF_ERROR(create_store(medium, options, shape));
    created = true;
    superblock = read_superblock(medium.region(), options, shape);
  }
  if (!superblock) return std::move(superblock).error();
  StoreCorePointer core(new StoreCore(std::move(medium), options, *superblock));
  if (auto recovered = Recovery(*core).run(); !recovered) {
    core->closed_ =
        true;  // A store that could not be opened is left as it is: no close, no clean mark.
    return std::move(recovered).error();
  }
  core->recovery_.created = created;
  core->recovery_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  core->enroll();
  if (!core->read_only_) core->start_background();
  return core;
}

Status Recovery::run() {
  if (core_.read_only_) {
    for (const std::string& damage : core_.region_report().damage)
      note(0, damage);
  }
  HF_RETURN_IF_ERROR(read_table());
  // No check lies over these words; but a store that counted from such a limit on would soon begin
  // at zero again.
  std::uint64_t sequence_limit = core_.medium_.word(kSequenceLimitWordAt);
  if (sequence_limit > kMaxSequence) {
    note(kSequenceLimitWordAt, "sequence limit of " + std::to_string(sequence_limit) +
                                   ": no store has handed out so many");
    sequence_limit = 0;
  }
  std::uint64_t generation_limit = core_.medium_.word(kGenerationLimitWordAt);
  if (generation_limit > kMaxGeneration) {
    note(kGenerationLimitWordAt, "generation limit of " + std::to_string(generation_limit) +
                                     ": no store has handed out so many");
    generation_limit = 0;
  }
  std::memcpy(&mark_, core_.medium_.at(kCleanMarkAt), sizeof mark_);
  // A mark that does not hold is a torn one, or none: then the index is rebuilt, and nothing is
  // lost.
  const bool clean = mark_.checksum != 0 &&
                     mark_.checksum == clean_mark_checksum(mark_, core_.superblock_.store_id);
  core_.recovery_.clean = clean && load_image();
  if (!core_.recovery_.clean) HF_RETURN_IF_ERROR(make_index());
  HF_RETURN_IF_ERROR(read_runs());
  if (!core_.recovery_.clean) drop_tombstones();
  if (core_.options_.access != RegionAccess::kOpenReadOnly && defects_total_ != 0 &&
      !core_.read_only_) {
    return Error{
        Errc::kCorrupt,
        core_.recovery_.defects.front().what + " at byte " +
            std::to_string(core_.recovery_.defects.front().offset) +
            (defects_total_ == 1
                 ? ""
                 : ", and " + std::to_string(defects_total_ - 1) + " more defects") +
            "; a read-only open gives access to what is intact, `verify` lists all damage"};
  }
  core_.recovery_.records = core_.count();
  core_.recovery_.superseded = superseded_.load();
  // Nothing that was ever handed out is handed out again, whether or not it left a trace.
  const std::uint64_t next_sequence = clean
                                          ? std::max(mark_.next_sequence, max_sequence_.load() + 1)
                                          : std::max(sequence_limit, max_sequence_.load() + 1);
  core_.next_sequence_.store(std::max<std::uint64_t>(next_sequence, 1));
  core_.sequence_limit_.store(sequence_limit);
  core_.durable_sequence_.store(core_.next_sequence_.load() - 1);
  const std::uint64_t next_generation = clean ? std::max(mark_.next_generation, max_generation_ + 1)
                                              : std::max(generation_limit, max_generation_ + 1);
  core_.table_.start_generations(std::max<std::uint64_t>(next_generation, 1), generation_limit);
  return core_.read_only_ ? ok_status() : make_writable();
}

void Recovery::note(std::uint64_t offset, std::string what) {
  const std::lock_guard lock(mutex_);
  ++defects_total_;
  if (core_.recovery_.defects.size() < 1000)
    core_.recovery_.defects.push_back({offset, std::move(what)});
}

Status Recovery::read_table() {
  const Geometry& geometry = core_.geometry_;
  const std::uint64_t segments = core_.medium_.word(kSegmentsWordAt);
  if (segments == 0 || segments > core_.medium_.size_bytes() / geometry.segment_bytes) {
    if (!core_.read_only_ || segments == 0 || segments > (1ull << 44) / geometry.segment_bytes) {
      return Error{Errc::kCorrupt, "the superblock counts " + std::to_string(segments) +
                                       " segments of " + std::to_string(geometry.segment_bytes) +
                                       " bytes, the region has " +
                                       std::to_string(core_.medium_.size_bytes()) +
                                       " bytes; a file is missing or was cut"};
    }
    note(kSegmentsWordAt,
         "region smaller than its superblock says: " + std::to_string(core_.medium_.size_bytes()) +
             " of " + std::to_string(segments * geometry.segment_bytes) + " bytes");
  }
  const std::uint64_t present =
      std::min(segments, core_.medium_.size_bytes() / geometry.segment_bytes);
  const std::uint64_t blocks = present * geometry.blocks_per_segment();
  HF_RETURN_IF_ERROR(core_.table_.adopt(blocks));
  for (std::uint64_t block = 0; block < blocks;) {
    if (geometry.is_table_block(block)) {
      ++block;
      continue;
    }
    BlockWord word;
    const std::uint64_t at = geometry.table_word_at(block);
    const bool valid =
        decode_block_word(core_.medium_.word(at), core_.superblock_.store_id, block, word);
    if (!valid || word.state == BlockState::kUnformatted) {
      note(at, "table word of block " + std::to_string(block) + ": its check does not hold");
      ++block;
      continue;
    }
    max_generation_ = std::max(max_generation_, word.generation);
    if (word.state == BlockState::kFree || word.state == BlockState::kTail) {
      if (word.state == BlockState::kTail)
        orphans_.push_back(block);
      else
        core_.table_.mark_free(block, word.generation);
      core_.table_.meta(block).generation = word.generation;
      core_.table_.meta(block).head = block;
      ++block;
      continue;
    }
    std::uint64_t end = block + 1;
    for (BlockWord tail; end < blocks && !geometry.is_table_block(end) &&
                         decode_block_word(core_.medium_.word(geometry.table_word_at(end)),
                                           core_.superblock_.store_id, end, tail) &&
                         tail.state == BlockState::kTail && tail.generation == word.generation;) {
      ++end;
    }
    core_.table_.mark_run(block, end - block, word);
    if (word.state == BlockState::kImage)
      images_.push_back(block);
    else
      runs_.push_back(block);
    block = end;
  }
  return {};
}

// With room for what will come: an index that grows while it is filled copies everything once more.
// Nothing is trusted yet; a wrong footer makes the index larger or smaller, not wrong.
Status Recovery::make_index() {
  std::uint64_t expected = 0;
  for (const std::uint64_t head : runs_) {
    const std::uint64_t run_bytes = core_.table_.run_bytes(head);
    const std::byte* const end = core_.medium_.at(core_.table_.run_at(head)) + run_bytes;
    RunFooter footer;
    std::memcpy(&footer, end - sizeof footer, sizeof footer);
    if (footer.generation != core_.table_.meta(head).generation ||
        footer.records > kMaxRecordsPerRun || run_tail_bytes(footer.records) > run_bytes)
      continue;
    const auto* const dead =
        reinterpret_cast<const std::uint64_t*>(end - run_tail_bytes(footer.records));
    std::uint64_t superseded = 0;
    for (std::uint64_t word = 0; word < dead_bits_bytes(footer.records) / 8; ++word)
      superseded += static_cast<std::uint64_t>(std::popcount(dead[word]));
    expected += footer.records - std::min<std::uint64_t>(superseded, footer.records);
  }
  HF_ASSIGN_OR_RETURN(core_.index_, OffsetMap::create(core_.epochs_, {.expected_records = expected,
                                                                      .reserve = true}));
  return {};
}

// ---- Runs ----

Status Recovery::read_runs() {
  unsigned threads = core_.options_.recovery_threads != 0
                         ? core_.options_.recovery_threads
                         : std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::clamp<std::uint64_t>(runs_.size() / 16, 1, threads));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    auto participant = core_.epochs_.join();
    for (std::size_t i = next.fetch_add(1); i < runs_.size(); i = next.fetch_add(1)) {
      const auto guard = core_.epochs_.enter(participant);
      read_run(runs_[i]);
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread& other : others)
    other.join();
  return std::move(failure_);
}

void Recovery::read_run(std::uint64_t head) {
  BlockMeta& run = core_.table_.meta(head);
  RunFooter footer;
  const std::byte* tail = nullptr;
  if (read_footer(core_.medium_, core_.geometry_, core_.table_, head, footer, tail)) {
    run.records = footer.records;
    run.tombstones = footer.tombstones;
    run.used_bytes.store(footer.used_bytes, std::memory_order_relaxed);
    run.min_sequence.store(footer.base_sequence, std::memory_order_relaxed);
    core_.table_.reserve_bits(run, footer.records);
    if (run.state.load(std::memory_order_relaxed) == BlockState::kOpen) {
      const std::lock_guard lock(mutex_);
      word_missing_.push_back(head);
    }
    index_sealed(head, footer, tail);
    const std::lock_guard lock(mutex_);
    ++core_.recovery_.blocks_sealed_before;
    return;
  }
  if (run.state.load(std::memory_order_relaxed) == BlockState::kSealed) {
    note(core_.table_.run_at(head) + core_.table_.run_bytes(head) - sizeof(RunFooter),
         "footer of sealed block " + std::to_string(head) +
             ": it is not valid, so its records are not reachable");
    return;
  }
  scan_open(head);
}

bool read_footer(const Medium& medium, const Geometry& geometry, const BlockTable& table,
                 std::uint64_t head, RunFooter& footer, const std::byte*& tail) {
  const BlockMeta& run = table.meta(head);
  const std::uint64_t run_bytes = table.run_bytes(head);
  const std::byte* const base = medium.at(table.run_at(head));
  std::memcpy(&footer, base + run_bytes - sizeof footer, sizeof footer);
  if (footer.generation != run.generation || footer.run_blocks != run.run_blocks ||
      footer.records > kMaxRecordsPerRun || run_tail_bytes(footer.records) > run_bytes ||
      footer.used_bytes > run_bytes - run_tail_bytes(footer.records)) {
    return false;
  }
  tail = base + run_bytes - run_tail_bytes(footer.records);
  return run_tail_checksum(tail, run_tail_bytes(footer.records), footer.records,
                           geometry.seed(run.generation)) == footer.checksum;
}

// Bytes of a record that has `room` up to the next. Where frames may lie between them, its header
// is read; but a damaged one is not believed.
std::uint64_t Recovery::extent(std::uint64_t offset, std::uint64_t room, bool frames) const {
  if (!frames) return room;
  const RecordView record = core_.record_at(Line{offset / kCacheLineBytes});
  return record.fits(room) ? record.padded_bytes() : room;
}

void Recovery::index_sealed(std::uint64_t head, const RunFooter& footer, const std::byte* tail) {
  const auto* const dead_words = reinterpret_cast<const std::uint64_t*>(tail);
  const auto* const entries =
      reinterpret_cast<const SummaryEntry*>(tail + dead_bits_bytes(footer.records));
  BlockMeta& run = core_.table_.meta(head);
  const std::uint64_t base = core_.table_.run_at(head);
  raise(max_sequence_, footer.max_sequence);
  const bool clean = core_.recovery_.clean;
  // Until its word said sealed nobody put a dead bit: what lies there may be of the block's earlier
  // life.
  const bool bits_count = run.state.load(std::memory_order_relaxed) == BlockState::kSealed;
  constexpr std::uint32_t kAhead = 12;  // Buckets on their way while one is worked on.
  std::uint64_t dead_bytes = footer.frame_bytes;
  std::uint64_t tombstones = 0;
  for (std::uint32_t i = 0; i < footer.records; ++i) {
    if (!clean && i + kAhead < footer.records)
      core_.index_->prefetch_for_write(entries[i + kAhead].hash);
    const SummaryEntry& entry = entries[i];
    const std::uint64_t offset = entry.offset_bytes();
    const std::uint64_t end =
        i + 1 < footer.records ? entries[i + 1].offset_bytes() : footer.used_bytes;
    if (offset >= footer.used_bytes || end <= offset || end > footer.used_bytes) {
      note(base + offset, "summary of block " + std::to_string(head) + ": entry " +
                              std::to_string(i) + " is out of order");
      break;
    }
    const bool dead = bits_count && (dead_words[i / 64] >> i % 64 & 1) != 0;
    if (dead) core_.table_.set_dead_as_found(run, i);
    const bool counts = dead || entry.kind() == RecordKind::kErase;
    if (counts) dead_bytes += extent(base + offset, end - offset, footer.frame_bytes != 0);
    tombstones += entry.kind() == RecordKind::kErase;
    if (!dead && !clean) {
      admit({entry.hash, footer.base_sequence + entry.sequence_delta(), base + offset,
             run.generation, i, entry.kind(), end - offset, footer.frame_bytes != 0});
    }
  }
  run.dead_bytes.fetch_add(dead_bytes, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  core_.recovery_.tombstones += tombstones;
}

// What is known of a record that an earlier admit() has put into the index: where its run was read
// from its summary, what the summary says.
Recovery::Found Recovery::indexed(std::uint64_t offset) const {
  const BlockMeta& run = core_.table_.run_of(offset);
  const std::uint64_t base = core_.table_.run_at(run.head);
  const RecordView record = core_.record_at(Line{offset / kCacheLineBytes});
  Found found{0,
              record.sequence(),
              offset,
              run.generation,
              record.header().ordinal,
              record.kind(),
              record.padded_bytes(),
              false};
  if (run.state.load(std::memory_order_acquire) != BlockState::kSealed) return found;  // Scanned.
  const auto* const first = reinterpret_cast<const SummaryEntry*>(
      core_.medium_.at(base + core_.table_.run_bytes(run.head) - run_tail_bytes(run.records) +
                       dead_bits_bytes(run.records)));
  const auto* entry = first + found.ordinal;
  if (found.ordinal >= run.records || base + entry->offset_bytes() != offset) {
    entry = std::partition_point(first, first + run.records, [&](const SummaryEntry& other) {
      return base + other.offset_bytes() < offset;
    });
    if (entry == first + run.records || base + entry->offset_bytes() != offset) return found;
    found.ordinal = static_cast<std::uint32_t>(entry - first);
  }
  const std::uint64_t end = found.ordinal + 1 < run.records
                                ? (entry + 1)->offset_bytes()
                                : run.used_bytes.load(std::memory_order_relaxed);
  found.sequence = run.min_sequence.load(std::memory_order_relaxed) + entry->sequence_delta();
  found.kind = entry->kind();
  found.padded_bytes = std::min(found.padded_bytes, base + end - offset);
  return found;
}

// The newest record of a key wins: the greater sequence, and among equal ones (a relocated copy and
// its original) the higher generation; a copy that was abandoned and made again may lie in the same
// run as the one before. A tombstone holds its key's place until all runs were read.
void Recovery::admit(const Found& found) {
  const Line line{found.offset / kCacheLineBytes};
  const RecordView record = core_.record_at(line);
  // Of the headers only the keys are asked: records of sealed runs were not read, so the rest of
  // theirs may be damaged. A superseded one may not win for that, nor stand beside its successor.
  const auto key_fits = [&](const RecordView& view, std::uint64_t offset) {
    return core_.geometry_.record_header_bytes + view.header().key_bytes() <= core_.room_at(offset);
  };
  const auto same_key = [&](Line other) {
    const RecordView present = core_.record_at(other);
    if (present.header().key_bytes() != record.header().key_bytes()) return false;
    return key_fits(record, found.offset) && key_fits(present, other.number * kCacheLineBytes) &&
           present.key() == record.key();
  };
  for (;;) {
    auto latched = core_.index_->latch(found.hash);
    const auto entry = latched.find(same_key);
    if (!entry) {
      if (!latched.insert(line)) {
        latched.release();
        if (auto grown = core_.index_->grow(found.hash); !grown) {
          const std::lock_guard lock(mutex_);
          failure_ = std::move(grown);
          return;
        }
        continue;
      }
    } else {
      const Line other = latched.line(entry);
      const Found present = indexed(other.number * kCacheLineBytes);
      const bool newer = std::tuple(found.sequence, found.generation, found.offset) >
                         std::tuple(present.sequence, present.generation, present.offset);
      if (newer) latched.replace(entry, line);
      // Tombstones' bytes count as dead from the start; their dead bits stay clear, since what they
      // erase may lie on the medium still.
      if (newer && present.kind == RecordKind::kPut) {
        core_.table_.mark_dead(present.offset, present.ordinal, present.padded_bytes);
      } else if (!newer && found.kind == RecordKind::kPut) {
        core_.table_.mark_dead(found.offset, found.ordinal,
                               extent(found.offset, found.padded_bytes, found.frames));
      }
      superseded_.fetch_add(1, std::memory_order_relaxed);
      if (!newer) return;
    }
    break;
  }
  if (found.kind == RecordKind::kErase) {
    const std::lock_guard lock(mutex_);
    tombstones_.push_back({found.hash, line});
  }
}

void Recovery::drop_tombstones() {
  auto participant = core_.epochs_.join();
  const auto guard = core_.epochs_.enter(participant);
  for (const Tombstone& tombstone : tombstones_) {
    auto latched = core_.index_->latch(tombstone.hash);
    if (const auto entry = latched.find([&](Line line) { return line == tombstone.line; }))
      latched.remove(entry);
  }
  tombstones_ = {};
}

// Accepts records from the run's beginning as long as they are whole and in order. What follows was
// never acknowledged: each acknowledgement had everything before it in its run durable.
void Recovery::scan_open(std::uint64_t head) {
  BlockMeta& run = core_.table_.meta(head);
  const std::uint64_t base = core_.table_.run_at(head);
  const std::uint64_t run_bytes = core_.table_.run_bytes(head);
  const std::uint64_t seed = core_.geometry_.seed(run.generation);
  Scanned scanned{head, {}, 0, 0};
  std::uint64_t at = 0;
  const auto whole = [&](std::uint64_t offset, std::uint64_t ordinal) {
    const std::uint64_t room = run_bytes - run_tail_bytes(ordinal + 1);
    if (offset + sizeof(RecordHeader) > room) return false;
    const RecordView record(core_.medium_.at(base + offset), core_.geometry_);
    if (!record.fits(room - offset) || record.header().ordinal != ordinal) return false;
    if (record.kind() == RecordKind::kBatch &&
        record.header().value_bytes > room - offset - record.padded_bytes())
      return false;
    return record.is_whole(seed, core_.patchable_);
  };
  const auto accept = [&](std::uint64_t offset) {
    const RecordView record(core_.medium_.at(base + offset), core_.geometry_);
    scanned.entries.push_back(
        {hash64(std::as_bytes(std::span(record.key()))), record.sequence(), offset, record.kind()});
    raise(max_sequence_, record.sequence());
    return record.padded_bytes();
  };
  while (whole(at, scanned.entries.size())) {
    const RecordView record(core_.medium_.at(base + at), core_.geometry_);
    if (record.kind() != RecordKind::kBatch) {
      at += accept(at);
      continue;
    }
    // All members or none.
    const std::uint64_t members_at = at + record.padded_bytes();
    const std::uint64_t members_end = members_at + record.header().value_bytes;
    std::uint64_t member = members_at;
    std::uint64_t members = 0;
    while (member < members_end && whole(member, scanned.entries.size() + members)) {
      const RecordView part(core_.medium_.at(base + member), core_.geometry_);
      if (part.kind() == RecordKind::kBatch || part.sequence() != record.sequence()) break;
      member += part.padded_bytes();
      ++members;
    }
    if (member != members_end) break;
    for (member = members_at; member < members_end;)
      member += accept(member);
    scanned.frame_bytes += record.padded_bytes();
    at = members_end;
  }
  scanned.used_bytes = at;
  core_.table_.reserve_bits(run, static_cast<std::uint32_t>(scanned.entries.size()));
  run.used_bytes.store(at, std::memory_order_relaxed);
  run.records = static_cast<std::uint32_t>(scanned.entries.size());
  run.dead_bytes.store(scanned.frame_bytes, std::memory_order_relaxed);
  std::uint64_t lowest = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < scanned.entries.size(); ++i) {
    const Lane::Entry& entry = scanned.entries[i];
    lowest = std::min(lowest, entry.sequence);
    const std::uint64_t padded =
        core_.record_at(Line{(base + entry.offset) / kCacheLineBytes}).padded_bytes();
    if (entry.kind == RecordKind::kErase) {
      ++run.tombstones;
      run.dead_bytes.fetch_add(padded, std::memory_order_relaxed);
    }
    admit({entry.hash, entry.sequence, base + entry.offset, run.generation, i, entry.kind, padded,
           false});
  }
  run.min_sequence.store(lowest, std::memory_order_relaxed);
  std::uint64_t torn = 0;  // Up to the last byte that is not zero of the record that follows.
  if (at + sizeof(RecordHeader) <= run_bytes && core_.medium_.word(base + at) != 0)
    torn = kCacheLineBytes;
  const std::lock_guard lock(mutex_);
  ++core_.recovery_.blocks_scanned;
  core_.recovery_.torn_bytes_dropped += torn;
  core_.recovery_.tombstones += run.tombstones;
  scanned_.push_back(std::move(scanned));
}

// ---- What a writing open leaves behind ----

Status Recovery::make_writable() {
  Medium& medium = core_.medium_;
  // The clean mark first: from here on the image on the medium may not be believed any more.
  if (mark_.checksum != 0) {
    HF_RETURN_IF_ERROR(medium.put_word(kCleanMarkAt, 0));
    HF_RETURN_IF_ERROR(medium.order());  // Before anything else is written.
  }
  // After the death of a process what we read may lie in caches only, and so could still be lost
  // with the power: what this recovery relies on is made durable before anything is built on it.
  if (!core_.recovery_.clean && medium.paged()) HF_RETURN_IF_ERROR(medium.order());
  if (!core_.recovery_.clean && !medium.paged()) {
    const std::uint64_t group_bytes =
        core_.geometry_.blocks_per_group() * core_.geometry_.block_bytes;
    for (std::uint64_t group = 0; group < medium.size_bytes(); group += group_bytes) {
      medium.persist().write_back(
          medium.at(group), std::min(core_.geometry_.block_bytes, medium.size_bytes() - group));
    }
    for (const Scanned& scanned : scanned_) {
      medium.persist().write_back(medium.at(core_.table_.run_at(scanned.head)), scanned.used_bytes);
    }
    for (const std::uint64_t head : word_missing_) {
      medium.persist().write_back(medium.at(core_.table_.run_at(head)),
                                  core_.table_.run_bytes(head));
    }
    for (const std::uint64_t head :
         runs_) {  // Dead bits: tombstones may be dropped because of them.
      const BlockMeta& run = core_.table_.meta(head);
      if (run.state.load(std::memory_order_relaxed) != BlockState::kSealed) continue;
      medium.persist().write_back(
          medium.at(core_.table_.run_at(head) + core_.table_.run_bytes(head) -
                    run_tail_bytes(run.records)),
          dead_bits_bytes(run.records));
    }
    HF_RETURN_IF_ERROR(medium.order());  // Before the tails, which vouch for the records.
  }
  // Open runs are sealed with what was accepted, so that no torn tail can revive, and are never
  // appended to. Tails first, then the words that vouch for them.
  std::vector<std::uint64_t> to_free;
  bool ordered = false;
  for (const std::uint64_t head : word_missing_) {
    const BlockMeta& run = core_.table_.meta(head);
    const std::vector<std::byte> none(dead_bits_bytes(run.records));
    HF_RETURN_IF_ERROR(medium.put(
        core_.table_.run_at(head) + core_.table_.run_bytes(head) - run_tail_bytes(run.records),
        none.data(), none.size()));
  }
  for (const Scanned& scanned : scanned_) {
    if (scanned.entries.empty()) {
      to_free.push_back(scanned.head);
      continue;
    }
    const BlockMeta& run = core_.table_.meta(scanned.head);
    const auto tail =
        compose_run_tail(scanned.entries, run.generation, run.run_blocks, scanned.used_bytes,
                         scanned.frame_bytes, core_.geometry_.seed(run.generation));
    HF_RETURN_IF_ERROR(medium.put(
        core_.table_.run_at(scanned.head) + core_.table_.run_bytes(scanned.head) - tail.size(),
        tail.data(), tail.size()));
    word_missing_.push_back(scanned.head);
    ordered = true;
  }
  if (ordered || !word_missing_.empty()) HF_RETURN_IF_ERROR(medium.order());
  // These words need no fence: until they are durable, the tails say the same.
  for (const std::uint64_t head : word_missing_)
    HF_RETURN_IF_ERROR(core_.table_.mark_sealed(head));
  to_free.insert(to_free.end(), images_.begin(), images_.end());
  to_free.insert(to_free.end(), orphans_.begin(), orphans_.end());
  return core_.table_.free_runs(to_free);
}

}  // namespace holdfast::kv
