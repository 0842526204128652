// Opening a store: from a clean close, or from whatever a crash left. docs/kv_arguments.md,
// "Recovery".
//
//  table word  footer   how this state arises           what is done
//  kFree       -        never used, or reclaimed        free
//  kOpen       invalid  the crash found it open         scanned; what is valid is sealed, durably
//  kOpen       valid    sealed, its word not yet        as sealed, dead bits zeroed; word written
//  kSealed     valid    the usual run                   its summary is indexed without dead records
//  kSealed     invalid  the medium lied                 kCorrupt (read-only: skipped, reported)
//  kTail       -        without its head: never opened  free
//  kImage      -        the index of a clean close      loaded if the clean mark names it; freed
//  kImage      -        the keys in order of one        the same, where the store keeps an order
//  kImage      -        the image of a mark             if the mark word names it, its runs are
//                                                       kept; else freed
//  any other   -        the word's check does not hold  kCorrupt (read-only: skipped, reported)
//
//  scanned run, behind its last record in order         what is done
//  no whole record says "all before me was durable",    a torn end, never acknowledged: dropped
//  and no mark says that more was synced
//  one does                                             the medium lied: kCorrupt (read-only:
//                                                       whole records indexed, damage reported)
#include <holdfast/kv/recovery.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/format_v1.hpp>
#include <holdfast/kv/index_image.hpp>
#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/synced_mark.hpp>
#include <holdfast/kv/workers.hpp>

namespace holdfast::kv {

Status Recovery::run() {
  if (rooms_.gate.read_only()) {
    for (const std::string& damage : rooms_.medium.region().damage())
      note(0, damage);
  }
  shared_limit_ = limit_word(kSharedLimitWordAt, kMaxGeneration, "limit of shared runs");
  HF_RETURN_IF_ERROR(read_table());
  HF_RETURN_IF_ERROR(read_mark());
  const std::uint64_t sequence_limit =
      limit_word(kSequenceLimitWordAt, kMaxSequence, "sequence limit");
  const std::uint64_t generation_limit =
      limit_word(kGenerationLimitWordAt, kMaxGeneration, "generation limit");
  std::memcpy(&mark_, rooms_.medium.at(kCleanMarkAt), sizeof mark_);
  // A mark that does not hold is a torn one, or none: then the index is rebuilt, and nothing is
  // lost.
  const bool clean = !view_ && HF_MUTANT("K45", mark_.checksum != 0, false) &&
                     mark_.checksum == mark_checksum(mark_, rooms_.superblock.store_id);
  if (clean) {
    std::string damage;
    auto image = read_index_image(rooms_, mark_, damage);
    if (!damage.empty()) note(rooms_.table.run_at(mark_.image_block), std::move(damage));
    report_.clean = image != nullptr;
    if (image != nullptr) rooms_.index.adopt(std::move(image));
  }
  if (report_.clean && rooms_.options.order) {
    std::string damage;
    order_ = StoredOrder::read(rooms_, mark_, damage);
    if (!damage.empty()) note(rooms_.table.run_at(mark_.order_block), std::move(damage));
  }
  if (!report_.clean) HF_RETURN_IF_ERROR(make_index());
  rooms_.sessions.count_in(rooms_.index.map());
  HF_RETURN_IF_ERROR(read_runs());
  drop_tombstones();
  settle_spaces();
  HF_RETURN_IF_ERROR(failed());
  HF_RETURN_IF_ERROR(refuse_defects());
  report_.records = rooms_.index.count();
  report_.superseded = superseded_.load();
  // Nothing that was ever handed out is handed out again, whether or not it left a trace.
  const std::uint64_t next_sequence =
      std::max<std::uint64_t>({clean   ? mark_.next_sequence
                               : view_ ? 0
                                       : HF_MUTANT("K12", sequence_limit, 0),
                               max_sequence_.load() + 1, 1});
  rooms_.sequences.start(next_sequence, sequence_limit);
  rooms_.group.start(next_sequence - 1);
  const std::uint64_t next_generation = std::max<std::uint64_t>(
      {clean ? mark_.next_generation : HF_MUTANT("K13", generation_limit, 0), max_generation_ + 1,
       1});
  rooms_.table.start_generations(next_generation, generation_limit);
  return rooms_.gate.read_only() ? ok_status() : make_writable(next_generation);
}

// These words have no checksum. A store that counted on from such a limit would soon begin at zero
// again.
std::uint64_t Recovery::limit_word(std::uint64_t at, std::uint64_t greatest, const char* name) {
  const std::uint64_t limit = rooms_.medium.word(at);
  if (limit <= greatest) return limit;
  note(at,
       std::string(name) + " of " + std::to_string(limit) + ": no store has handed out so many");
  return 0;
}

void Recovery::note(std::uint64_t offset, std::string what) {
  const Lock lock(mutex_);
  ++defects_total_;
  if (report_.defects.size() < 1000) report_.defects.push_back({offset, std::move(what)});
}

void Recovery::fail(Status why) {
  const Lock lock(mutex_);
  failure_ = std::move(why);
}

Status Recovery::failed() {
  const Lock lock(mutex_);
  return std::move(failure_);
}

Status Recovery::refuse_defects() {
  const Lock lock(mutex_);
  if (rooms_.options.access == RegionAccess::kOpenReadOnly || defects_total_ == 0 ||
      rooms_.gate.read_only())
    return {};
  const Defect& first = report_.defects.front();
  return Error{
      Errc::kCorrupt,
      first.what + " at byte " + std::to_string(first.offset) +
          (defects_total_ == 1 ? ""
                               : ", and " + std::to_string(defects_total_ - 1) + " more defects") +
          "; a read-only open gives access to what is intact, `verify` lists all damage"};
}

// ---- The block table ----

Status Recovery::read_table() {
  const Geometry& geometry = rooms_.table.geometry();
  const std::uint64_t size_bytes = rooms_.medium.size_bytes();
  const std::uint64_t segments = rooms_.medium.word(kSegmentsWordAt);
  if (segments == 0 || segments > size_bytes / geometry.segment_bytes) {
    if (!rooms_.gate.read_only() || segments == 0 ||
        segments > (1ull << 44) / geometry.segment_bytes) {
      return Error{Errc::kCorrupt, "the superblock counts " + std::to_string(segments) +
                                       " segments of " + std::to_string(geometry.segment_bytes) +
                                       " bytes, the region has " + std::to_string(size_bytes) +
                                       " bytes; a file is missing or was cut"};
    }
    note(kSegmentsWordAt, "region smaller than its superblock says: " + std::to_string(size_bytes) +
                              " of " + std::to_string(segments * geometry.segment_bytes) +
                              " bytes");
  }
  const std::uint64_t present = std::min(segments, size_bytes / geometry.segment_bytes);
  const std::uint64_t blocks = present * geometry.blocks_per_segment();
  HF_RETURN_IF_ERROR(rooms_.table.adopt(blocks));
  for (std::uint64_t block = 0; block < blocks;)
    block = geometry.is_table_block(block) ? block + 1 : read_run_words(block, blocks);
  return {};
}

// Enters the run that begins here, or the block alone; returns the block behind it.
std::uint64_t Recovery::read_run_words(std::uint64_t block, std::uint64_t blocks) {
  BlockTable& table = rooms_.table;
  const Geometry& geometry = table.geometry();
  const auto decode = [&](std::uint64_t at, BlockWord& word) {
    return decode_block_word(rooms_.medium.word(geometry.table_word_at(at)), geometry.store_id, at,
                             word);
  };
  BlockWord word;
  if (!decode(block, word) || word.state == BlockState::kUnformatted) {
    note(geometry.table_word_at(block),
         "table word of block " + std::to_string(block) + ": its check does not hold");
    return block + 1;
  }
  max_generation_ = std::max(max_generation_, word.generation);
  if (word.state == BlockState::kFree || word.state == BlockState::kTail) {
    if (word.state == BlockState::kTail)
      orphans_.push_back(block);
    else
      table.mark_free(block, word.generation);
    table.meta(block).generation = word.generation;
    table.meta(block).head = block;
    return block + 1;
  }
  std::uint64_t end = block + 1;
  for (BlockWord tail; end < blocks && !geometry.is_table_block(end) && decode(end, tail) &&
                       tail.state == BlockState::kTail && tail.generation == word.generation;) {
    ++end;
  }
  table.mark_run(block, end - block, word);
  if (word.generation < shared_limit_)
    table.meta(block).fixed.store(HF_MUTANT("K84", BlockMeta::kShared, std::uint8_t{0}),
                                  std::memory_order_relaxed);
  (word.state == BlockState::kImage ? images_ : runs_).push_back(block);
  return end;
}

// Page media: the ends of the next runs, where their summaries lie, are read all at once. Of each
// as much is read as the summary of a block of 256-byte records takes. The rest of a longer one is
// read when it is used.
Status Recovery::fetch_ends(std::span<const std::uint64_t> heads) {
  if (!rooms_.medium.paged()) return {};
  std::vector<Extent> ranges;
  for (const std::uint64_t head : heads.first(std::min(kFetched, heads.size()))) {
    const std::uint64_t bytes = rooms_.table.run_bytes(head);
    const std::uint64_t fetched = std::min(bytes, kFetchedOfEachRun);
    ranges.push_back({rooms_.table.run_at(head) + bytes - fetched, fetched});
  }
  return rooms_.medium.fetch(ranges);
}

// Sizes the index for what will come: growth while it is filled copies everything once more.
// Nothing is trusted yet; a wrong footer makes the index larger or smaller, not wrong.
Status Recovery::make_index() {
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (i % kFetched == 0) HF_RETURN_IF_ERROR(fetch_ends(std::span(runs_).subspan(i)));
    const std::uint64_t head = runs_[i];
    const std::uint64_t run_bytes = rooms_.table.run_bytes(head);
    RunFooter footer;
    std::memcpy(&footer, rooms_.medium.at(rooms_.table.run_at(head) + run_bytes - sizeof footer),
                sizeof footer);
    if (footer.generation != rooms_.table.meta(head).generation ||
        footer.records > kMaxRecordsPerRun || run_tail_bytes(footer.records) > run_bytes)
      continue;
    const SealedRun run = SealedRun::trusted(rooms_.medium, rooms_.table, head);
    std::uint64_t superseded = 0;
    for (std::uint64_t word = 0; word < dead_bits_bytes(footer.records) / 8; ++word)
      superseded += static_cast<std::uint64_t>(std::popcount(run.dead_words()[word]));
    expected += footer.records - std::min<std::uint64_t>(superseded, footer.records);
  }
  HF_ASSIGN_OR_RETURN(
      auto map, OffsetMap::create(rooms_.epochs, {.expected_records = expected, .reserve = true}));
  rooms_.index.adopt(std::move(map));
  return {};
}

// ---- Runs ----

Status Recovery::read_runs() {
  const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(
      runs_.size() / 16, 1, worker_count(rooms_.options.recovery_threads)));
  std::atomic<std::size_t> next{0};
  side_by_side(threads, [&] {
    auto participant = rooms_.epochs.join();
    Tallies tallies{&rooms_.index.map().new_tally(), {}};
    for (std::size_t i = next.fetch_add(1); i < runs_.size(); i = next.fetch_add(1)) {
      const auto guard = rooms_.epochs.enter(participant);
      read_run(runs_[i], tallies);
    }
  });
  HF_RETURN_IF_ERROR(failed());
  const Lock lock(mutex_);
  gathered_ = std::move(gathering_);
  return {};
}

void Recovery::read_run(std::uint64_t head, Tallies& tallies) {
  BlockMeta& meta = rooms_.table.meta(head);
  const BlockState state = meta.state.load(std::memory_order_relaxed);
  const auto run = SealedRun::read(rooms_.medium, rooms_.table, head);
  if (!run && (state == BlockState::kSealed || view_)) {
    return note(rooms_.table.run_at(head) + rooms_.table.run_bytes(head) - sizeof(RunFooter),
                "footer of sealed block " + std::to_string(head) +
                    ": it is not valid, so its records are not reachable");
  }
  if (!run) {
    const std::uint64_t synced = synced_bytes(rooms_.medium, rooms_.table, head);
    return index_scanned(
        scan_run(rooms_.medium, rooms_.table, rooms_.records, rooms_.index, head, synced), tallies);
  }
  meta.records = run->records();
  meta.tombstones = run->footer().tombstones;
  meta.space.store(run->footer().space, std::memory_order_relaxed);
  meta.used_bytes.store(run->footer().used_bytes, std::memory_order_relaxed);
  meta.min_sequence.store(run->footer().base_sequence, std::memory_order_relaxed);
  index_sealed(head, *run, tallies);
  const Lock lock(mutex_);
  if (state == BlockState::kOpen) gathering_.word_missing.push_back(head);
  ++report_.blocks_sealed_before;
}

// Bytes from a record up to the next. Where frames may lie between them, the record's header is
// read; a damaged header is not believed.
std::uint64_t Recovery::extent(const Found& found) const {
  if (!found.frames) return found.room;
  const RecordView record = rooms_.records.at(line_at(found.offset));
  return record.fits(found.room) ? record.padded_bytes() : found.room;
}

// Only the record itself says which space it is of, so its checksum is checked.
bool Recovery::is_sound_member(const Found& found) {
  const Line line = line_at(found.offset);
  const RecordView record = rooms_.records.at(line);
  if (record.fits(found.room) && rooms_.records.is_sound(record, line)) return true;
  note(found.offset, "record in a block of several keyspaces: its checksum does not hold");
  return false;
}

void Recovery::index_sealed(std::uint64_t head, const SealedRun& run, Tallies& tallies) {
  BlockMeta& meta = rooms_.table.meta(head);
  raise(max_sequence_, view_ ? view_->version : run.footer().max_sequence);
  // No dead bit is put before the word says sealed: the bits of such a run may be of the block's
  // earlier life.
  const bool bits_count =
      HF_MUTANT("K16", meta.state.load(std::memory_order_relaxed) == BlockState::kSealed, true);
  const MarkedRun* const marked = viewed(head);
  constexpr std::uint32_t kAhead = 12;  // Buckets on their way while one is worked on.
  std::uint64_t dead_bytes = 0, own_dead_bytes = run.footer().frame_bytes;
  std::uint64_t tombstones = 0;
  for (std::uint32_t i = 0; i < run.records(); ++i) {
    if (!report_.clean && i + kAhead < run.records())
      rooms_.index.map().prefetch_for_write(run.hash(i + kAhead));
    const std::uint64_t at = run.record_at(i), end = run.record_end(i);
    if (!run.is_in_order(i)) {
      note(run.offset() + at, "summary of block " + std::to_string(head) + ": entry " +
                                  std::to_string(i) + " is out of order");
      break;
    }
    const Found found{run.hash(i),       run.sequence(i),
                      run.offset() + at, meta.generation,
                      run.kind(i),       rooms_.space_at(meta, line_at(run.offset() + at)),
                      end - at,          run.footer().frame_bytes != 0};
    if (run.footer().space == kMixedSpaces && !is_sound_member(found)) continue;
    const bool erase = found.kind == RecordKind::kErase;
    const bool dead = marked != nullptr ? marked->is_dead(run, i, view_->version)
                                        : bits_count && run.dead_on_medium(i);
    if (dead) rooms_.table.mark_dead_as_found(line_at(found.offset).number);
    if (erase)
      own_dead_bytes += extent(found);
    else if (dead)
      dead_bytes += extent(found);
    tombstones += erase;
    // A clean close wrote the index of the store's own keys only.
    if (!dead && (!report_.clean || found.space != kDefaultSpace)) admit(found, tallies);
  }
  meta.dead_bytes.fetch_add(dead_bytes, std::memory_order_relaxed);
  meta.own_dead_bytes.store(own_dead_bytes, std::memory_order_relaxed);
  const Lock lock(mutex_);
  report_.tombstones += tombstones;
}

void Recovery::index_scanned(ScannedRun scanned, Tallies& tallies) {
  BlockMeta& meta = rooms_.table.meta(scanned.head);
  const std::uint64_t base = rooms_.table.run_at(scanned.head);
  for (const std::uint64_t at : scanned.damaged_at) {
    note(base + at, "open block " + std::to_string(scanned.head) +
                        ": a record that was durable is not whole any more");
  }
  meta.used_bytes.store(scanned.used_bytes, std::memory_order_relaxed);
  meta.records = static_cast<std::uint32_t>(scanned.entries.size());
  std::uint64_t lowest = ~std::uint64_t{0}, own_dead_bytes = scanned.frame_bytes;
  for (const RunEntry& entry : scanned.entries) {
    lowest = std::min(lowest, entry.sequence);
    raise(max_sequence_, entry.sequence);
    const std::uint64_t offset = base + entry.offset();
    const RecordView record = rooms_.records.at(line_at(offset));
    const std::uint64_t padded = record.padded_bytes();
    const std::uint16_t space = record.header().space();
    if (&entry == scanned.entries.data())
      meta.space.store(space, std::memory_order_relaxed);
    else if (space != meta.space.load(std::memory_order_relaxed))
      meta.space.store(kMixedSpaces, std::memory_order_relaxed);
    if (entry.kind() == RecordKind::kErase) {
      ++meta.tombstones;
      own_dead_bytes += padded;
    }
    admit({entry.hash, entry.sequence, offset, meta.generation, entry.kind(), space, padded, false},
          tallies);
  }
  meta.own_dead_bytes.store(own_dead_bytes, std::memory_order_relaxed);
  meta.min_sequence.store(lowest, std::memory_order_relaxed);
  const Lock lock(mutex_);
  ++report_.blocks_scanned;
  report_.records_scanned += scanned.entries.size();
  report_.torn_bytes_dropped += scanned.torn_bytes;
  report_.tombstones += meta.tombstones;
  gathering_.scanned.push_back(std::move(scanned));
}

// What is known of a record that an earlier admit() has put into the index. If its run was read
// from the summary, the summary says it.
Recovery::Found Recovery::indexed(Line line) const {
  const BlockMeta& meta = rooms_.table.run_of(offset_of(line));
  const RecordView record = rooms_.records.at(line);
  Found found{0,
              record.sequence(),
              offset_of(line),
              meta.generation,
              record.kind(),
              record.header().space(),
              record.padded_bytes(),
              false};
  if (meta.state.load(std::memory_order_acquire) != BlockState::kSealed) return found;  // Scanned.
  const SealedRun run = SealedRun::trusted(rooms_.medium, rooms_.table, meta.head);
  const std::uint32_t i = run.find(offset_of(line) - run.offset());
  if (i == run.records()) return found;
  found.sequence = run.sequence(i);
  found.kind = run.kind(i);
  found.room = std::min(found.room, run.record_end(i) - run.record_at(i));
  return found;
}

// The newest record of a key wins, by the greater sequence. Among equal ones (a relocated copy and
// its original) the higher generation wins, within a run the higher offset: a copy that was
// abandoned may have been made again there. A tombstone holds its key's place until all runs were
// read.
void Recovery::admit(const Found& found, Tallies& tallies) {
  OffsetMap::Tally* tally = nullptr;
  OffsetMap* const into = map_of(found.space, tallies, tally);
  if (into == nullptr) return;
  const Line line = line_at(found.offset);
  const RecordView record = rooms_.records.at(line);
  // Use only the keys from the record headers. Records of sealed runs are unchecked here, so their
  // other header fields may be damaged; sequences from the summary keep a damaged old record from
  // winning, or from standing beside its successor.
  const auto key_fits = [&](const RecordView& view, std::uint64_t offset) {
    return rooms_.table.geometry().record_header_bytes + view.header().key_bytes() <=
           rooms_.table.room_at(offset);
  };
  const auto same_key = [&](Line other) {
    const RecordView present = rooms_.records.at(other);
    if (present.header().key_bytes() != record.header().key_bytes()) return false;
    return key_fits(record, found.offset) && key_fits(present, offset_of(other)) &&
           present.key() == record.key();
  };
  OffsetMap& map = *into;
  Place place = map.place(found.hash);
  for (;;) {
    auto home = map.latch(place, *tally);
    const Entry entry = home.find(same_key);
    if (!entry && home.insert(line)) break;
    if (!entry) {
      home.release();
      if (auto grown = map.grow(found.hash); !grown) {
        return fail(std::move(grown));
      }
      continue;
    }
    if (OffsetMap::Home::line(entry) == line) return;  // From the image: it is this very record.
    const Found present = indexed(OffsetMap::Home::line(entry));
    const auto rank = [](const Found& one) {
      return std::tuple(one.sequence, HF_MUTANT("K18", one.generation, 0), one.offset);
    };
    const bool newer = rank(found) > rank(present);
    if (newer) home.replace(entry, line);
    // Tombstones' bytes count as dead from the start; their dead bits stay clear, since what they
    // erase may lie on the medium still.
    const Found& loser = newer ? present : found;
    if (is_put(loser.kind)) rooms_.table.mark_dead(line_at(loser.offset).number, extent(loser));
    superseded_.fetch_add(1, std::memory_order_relaxed);
    if (!newer) return;
    break;
  }
  if (found.kind == RecordKind::kErase) {
    const Lock lock(mutex_);
    gathering_.tombstones.push_back({found.hash, line, found.space});
  }
}

void Recovery::drop_tombstones() {
  auto participant = rooms_.epochs.join();
  Tallies tallies{&rooms_.index.map().new_tally(), {}};
  const auto guard = rooms_.epochs.enter(participant);
  for (const Tombstone& tombstone : gathered_.tombstones) {
    OffsetMap::Tally* tally = nullptr;
    OffsetMap& map = *map_of(tombstone.space, tallies, tally);  // It is there: it has an entry.
    Place place = map.place(tombstone.hash);
    auto home = map.latch(place, *tally);
    if (const auto entry = home.find([&](Line line) { return line == tombstone.line; }))
      home.remove(entry);
  }
  gathered_.tombstones = {};
}

// ---- What a writing open leaves behind ----

// After the death of a process what recovery reads may lie in caches only, and a power failure
// could still take it. So it is made durable before anything is built on it.
void Recovery::write_back_what_was_read() {
  const Medium& medium = rooms_.medium;
  const BlockTable& table = rooms_.table;
  const Persist& persist = medium.persist();
  const Geometry& geometry = table.geometry();
  const std::uint64_t group_bytes = geometry.blocks_per_group() * geometry.block_bytes;
  for (std::uint64_t group = 0; group < medium.size_bytes(); group += group_bytes) {
    persist.write_back(medium.at(group),
                       std::min(geometry.block_bytes, medium.size_bytes() - group));
  }
  for (const ScannedRun& scanned : gathered_.scanned)
    persist.write_back(
        medium.at(table.run_at(scanned.head)),
        scanned.used_bytes - HF_MUTANT("K20", 0, std::min(scanned.used_bytes, kCacheLineBytes)));
  for (const std::uint64_t head : gathered_.word_missing)
    persist.write_back(medium.at(table.run_at(head)), table.run_bytes(head));
  // Dead bits: tombstones may be dropped because of them.
  for (const std::uint64_t head : runs_) {
    const BlockMeta& run = table.meta(head);
    if (run.state.load(std::memory_order_relaxed) != BlockState::kSealed) continue;
    persist.write_back(
        medium.at(table.run_at(head) + table.run_bytes(head) - run_tail_bytes(run.records)),
        dead_bits_bytes(run.records));
  }
}

Status Recovery::make_writable(std::uint64_t next_generation) {
  Medium& medium = rooms_.medium;
  BlockTable& table = rooms_.table;
  // The clean mark first: from here on the image on the medium may not be believed any more.
  if (mark_.checksum != 0) {
    HF_RETURN_IF_ERROR(HF_MUTANT("K11", medium.put_word(kCleanMarkAt, 0), ok_status()));
    HF_RETURN_IF_ERROR(medium.order());  // Before anything else is written.
  }
  if (!report_.clean) {
    write_back_what_was_read();
    HF_RETURN_IF_ERROR(medium.order());  // Before the tails, which vouch for the records.
  }
  const Superblock& superblock = rooms_.superblock;
  if ((superblock.incompatible_features & ~kRunsOfVersion1) != 0 &&
      std::memcmp(medium.at(kSuperblockAt), &superblock, sizeof superblock) != 0)
    HF_RETURN_IF_ERROR(mend_superblock(medium, superblock));
  // Before a run of version 2 is opened, and before one of version 1 is sealed.
  if (rooms_.superblock.format_version == v1::kFormatVersion) {
    HF_RETURN_IF_ERROR(upgrade(medium, rooms_.superblock, next_generation));
    table.set_first_generation(next_generation);
  }
  // Open runs are sealed with what was accepted and never appended to, so no torn tail can revive.
  // Tails first, then the words that vouch for them.
  std::vector<std::uint64_t> to_free;
  for (const std::uint64_t head : gathered_.word_missing) {
    const BlockMeta& run = table.meta(head);
    const std::vector<std::byte> none(dead_bits_bytes(run.records));
    const std::uint64_t end = table.run_at(head) + table.run_bytes(head);
    HF_RETURN_IF_ERROR(
        HF_MUTANT("K17", medium.put(end - run_tail_bytes(run.records), none.data(), none.size()),
                  ok_status()));
  }
  for (const ScannedRun& scanned : gathered_.scanned) {
    if (scanned.entries.empty()) {
      to_free.push_back(scanned.head);
      continue;
    }
    const BlockMeta& run = table.meta(scanned.head);
    const auto tail = compose_run_tail(
        scanned.entries, {run.generation, run.run_blocks, scanned.used_bytes, scanned.frame_bytes,
                          table.geometry().seed(run.generation),
                          table.geometry().is_version1(run.generation), run.space.load()});
    HF_RETURN_IF_ERROR(
        medium.put(table.run_at(scanned.head) + table.run_bytes(scanned.head) - tail.size(),
                   tail.data(), tail.size()));
    HF_RETURN_IF_ERROR(HF_MUTANT("K21", ok_status(), table.mark_sealed(scanned.head)));
    gathered_.word_missing.push_back(scanned.head);
  }
  if (!gathered_.word_missing.empty()) HF_RETURN_IF_ERROR(medium.order());
  // These words need no fence: until they are durable, the tails say the same.
  for (const std::uint64_t head : gathered_.word_missing)
    HF_RETURN_IF_ERROR(table.mark_sealed(head));
  for (const std::uint64_t head : runs_of_dropped_) {
    BlockMeta& run = table.meta(head);
    // Reclamation frees the runs that the mark keeps, once it is gone.
    if (HF_MUTANT("K127", run.pins.load(std::memory_order_relaxed) != 0, false))
      run.dead_bytes.store(run.used_bytes.load() - run.own_dead_bytes.load());
    else
      to_free.push_back(head);
  }
  to_free.insert(to_free.end(), images_.begin(), images_.end());
  to_free.insert(to_free.end(), orphans_.begin(), orphans_.end());
  return table.free_runs(to_free);
}

}  // namespace holdfast::kv
