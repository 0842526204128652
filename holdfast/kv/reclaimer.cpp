#include <holdfast/kv/reclaimer.hpp>

#include <algorithm>
#include <cmath>
#include <thread>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/evacuation.hpp>
#include <holdfast/kv/lane_sealing.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

template <class Visit>
void Reclaimer::for_each_sealed_run(Visit&& visit) const {
  for (std::uint64_t block = 0; block < rooms_.table.blocks(); ++block) {
    BlockMeta& run = rooms_.table.meta(block);
    if (run.state.load(std::memory_order_acquire) == BlockState::kSealed && run.head == block)
      visit(block, run);
  }
}

// ---- Which runs, and when ----

std::vector<std::uint64_t> Reclaimer::choose(Choice choice, std::size_t limit,
                                             double least_gain) const {
  struct Victim {
    std::uint64_t head;
    double worth;
  };
  std::vector<Victim> victims;
  std::uint64_t newest = 0;  // Generations are ages: they rise from run to run.
  for_each_sealed_run([&](std::uint64_t head, const BlockMeta& run) {
    if (run.is_given_up()) return;
    const double used = static_cast<double>(run.used_bytes.load(std::memory_order_relaxed));
    const double dead = static_cast<double>(run.dead());
    const auto room = static_cast<double>(rooms_.table.run_bytes(head));
    double gain = used == 0 ? 1 : dead / used;
    // Sealed half empty (an idle session, an earlier pass): its records fit beside others.
    if (run.run_blocks == 1 && used < room / 2) gain = std::max(gain, 1 - (used - dead) / room);
    newest = std::max(newest, run.generation);
    // Those that do not fit would keep the others from their turn, pass for pass.
    if (gain >= least_gain && fits(head)) victims.push_back({head, gain});
  });
  if (choice == Choice::kWorthMost) {
    for (Victim& victim : victims) {
      const std::uint64_t age = newest - rooms_.table.meta(victim.head).generation;
      victim.worth *= std::sqrt(static_cast<double>(age)) / (2 - victim.worth);
    }
  }
  limit = std::min(limit, victims.size());
  std::partial_sort(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(limit),
                    victims.end(),
                    [](const Victim& a, const Victim& b) { return a.worth > b.worth; });
  std::vector<std::uint64_t> heads;
  for (std::size_t i = 0; i < limit; ++i)
    heads.push_back(victims[i].head);
  return heads;
}

bool Reclaimer::fits(std::uint64_t head) const {
  const BlockTable& table = rooms_.table;
  const BlockMeta& run = table.meta(head);
  const std::uint64_t free = table.free_blocks();
  const auto live = static_cast<std::uint64_t>(std::max<std::int64_t>(run.live(), 0));
  if (live == 0 || (run.run_blocks == 1 && free != 0) || HF_MUTANT("K160", table.may_grow(), false))
    return true;
  if (HF_MUTANT("K158", false, true)) return true;
  if (run.run_blocks == 1) {
    SpaceRooms* const space = rooms_.spaces.find(run.space.load(std::memory_order_relaxed));
    const Lane& lane = space == nullptr ? own_.lane : space->relocator->lane;
    return lane.run.open() &&
           lane.run.left >= live + std::uint64_t{run.records} * OpenRun::kTailBytesPerRecord;
  }
  if (live > free * table.geometry().block_bytes) return false;
  // The largest of its records may need several blocks side by side.
  const auto sealed = SealedRun::read(rooms_.medium, table, head);
  if (!sealed) return true;  // Damaged: it is given up when it is read.
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < sealed->records(); ++i) {
    if (!table.is_dead(line_at(sealed->offset() + sealed->record_at(i)).number))
      largest = std::max<std::uint64_t>(largest, sealed->record_end(i) - sealed->record_at(i));
  }
  const std::uint64_t blocks = table.geometry().blocks_for(largest, 1);
  return blocks == 1 || blocks <= table.longest_free();
}

Result<std::uint64_t> Reclaimer::pass(Choice choice, std::size_t victims_limit, double least_gain,
                                      std::uint64_t bytes_per_second) {
  HF_ASSIGN_OR_RETURN(const std::uint64_t freed, free_evacuated());
  rooms_.drain_notes();  // So that the books say which runs are worth it.
  HF_ASSIGN_OR_RETURN(const std::uint64_t more,
                      evacuate_all(choose(choice, victims_limit, least_gain), bytes_per_second,
                                   choice == Choice::kWorthMost));
  return freed + more;
}

Result<std::uint64_t> Reclaimer::empty_segment(std::uint64_t segment,
                                               std::uint64_t bytes_per_second) {
  HF_RETURN_IF_ERROR(seal_resting_lanes());
  std::vector<std::uint64_t> victims;
  const BlockTable& table = rooms_.table;
  const std::uint64_t per_segment = table.geometry().blocks_per_segment();
  const std::uint64_t end = (segment + 1) * per_segment;
  for (std::uint64_t block = segment * per_segment; block < end; ++block) {
    // A free block may be being taken, and its head written. Also a run that begins before the
    // segment and reaches into it.
    const BlockState state = table.meta(block).state.load(std::memory_order_acquire);
    if (state != BlockState::kSealed && state != BlockState::kTail) continue;
    const std::uint64_t head = table.meta(block).head;
    const BlockMeta& run = table.meta(head);
    if (run.state.load(std::memory_order_acquire) != BlockState::kSealed || run.is_given_up())
      continue;
    if (!table.geometry().is_table_block(block) && (victims.empty() || victims.back() != head))
      victims.push_back(head);
  }
  return evacuate_all(std::move(victims), bytes_per_second, false);
}

Result<std::uint64_t> Reclaimer::evacuate_all(std::vector<std::uint64_t> victims,
                                              std::uint64_t bytes_per_second, bool gives_way) {
  if (victims.empty()) return 0;
  BlockTable& table = rooms_.table;
  const auto settle = [&] { return rooms_.displaced ? settle_displaced(victims) : ok_status(); };
  HF_RETURN_IF_ERROR(HF_MUTANT("K71", ok_status(), settle()));
  for (const std::uint64_t head : victims)
    table.meta(head).set_moving(true);
  HF_MUTANT("K08", rooms_.epochs.synchronize(), void());
  // Between that wait and the notes: each of the victims' records is in the index then, or dead.
  HF_RETURN_IF_ERROR(HF_MUTANT("K70", HF_MUTANT("K71", settle(), ok_status()), ok_status()));
  rooms_.drain_notes();
  const auto spare_from = [&](std::size_t first) {
    for (std::size_t rest = first; rest < victims.size(); ++rest)
      table.meta(victims[rest]).set_moving(false);
  };
  const auto known_floor = floor_of(victims);
  if (!known_floor) {
    spare_from(0);
    return known_floor.error();
  }
  const std::uint64_t floor = *known_floor;
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t moved = 0;
  Evacuation evacuation(rooms_, own_, counts_);
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const std::uint64_t head = victims[i];
    BlockMeta& run = table.meta(head);
    if (!fits(head)) {
      run.set_moving(false);  // Those before it took the room, and make more when they are free.
      continue;
    }
    const std::uint64_t used = run.used_bytes.load(std::memory_order_relaxed);
    moved += used - std::min(run.dead(), used);
    auto evacuated = evacuation.run(head, floor);
    if (!evacuated && evacuated.code() == Errc::kNoSpace) {
      // It was copied in part, so it keeps its mark. The others may be smaller.
      opened_blocks_ += evacuation.opened_blocks();
      counts_.wasted_bytes += evacuation.wasted_bytes();
      continue;
    }
    if (!evacuated) {  // It stays as it is: what lives in it does so, and is in checkpoints.
      run.damaged.store(true, std::memory_order_relaxed);
      spare_from(i + 1);
      return std::move(evacuated).error();
    }
    run.evacuated.store(true, std::memory_order_relaxed);
    evacuated_.push_back(head);
    opened_blocks_ += evacuated->opened_blocks;
    const std::uint64_t waste = std::min(counts_.wasted_bytes, evacuated->dropped_bytes);
    counts_.wasted_bytes -= waste;
    dropped_bytes_ += evacuated->dropped_bytes - waste;
    gained_blocks_ += evacuated->gained_blocks;
    if (gives_way && waiters_.load(std::memory_order_relaxed) != 0) {
      spare_from(i + 1);
      break;
    }
    if (bytes_per_second != 0) {
      const std::chrono::duration<double> due(static_cast<double>(moved) /
                                              static_cast<double>(bytes_per_second));
      pace(start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due));
    }
  }
  return free_evacuated();
}

// Tombstones below it may be dropped.
Result<std::uint64_t> Reclaimer::floor_of(std::span<const std::uint64_t> victims) {
  const bool tombstones = std::any_of(victims.begin(), victims.end(), [&](std::uint64_t head) {
    return rooms_.table.meta(head).tombstones != 0;
  });
  // Versions that snapshots see have no dead bits: while there are any, every tombstone stays.
  if (!tombstones || rooms_.versions_held()) return 0;
  HF_ASSIGN_OR_RETURN(const std::uint64_t floor, tombstone_floor());
  HF_RETURN_IF_ERROR(HF_MUTANT("K01", put_all_dead_bits(), ok_status()));
  return floor;
}

Status Reclaimer::settle_displaced(std::span<const std::uint64_t> victims) {
  auto settled = rooms_.displaced->settle_runs(own_, victims);
  for (std::size_t i = 0; i < victims.size() && !settled; ++i)
    rooms_.table.meta(victims[i]).set_moving(false);
  return settled;
}

// The limit on bytes moved is for quiet times: a thread that waits for this pass to end ends the
// rest, and so do writers that outrun it.
void Reclaimer::pace(std::chrono::steady_clock::time_point due) const {
  constexpr std::chrono::milliseconds kStep{5};
  const auto start = std::chrono::steady_clock::now();
  auto now = start;
  for (; now < due && waiters_.load(std::memory_order_relaxed) == 0 &&
         rooms_.upkeep.pace.position() < 0.5;
       now = std::chrono::steady_clock::now()) {
    std::this_thread::sleep_until(std::min(due, now + kStep));
  }
  rooms_.upkeep.pace.rested(now - start);
}

// ---- Tombstones and dead bits ----

std::vector<std::uint64_t> dead_bits_of(const BlockTable& table, const SealedRun& run) {
  std::vector<std::uint64_t> bits(dead_bits_bytes(run.records()) / sizeof(std::uint64_t));
  for (std::uint32_t i = 0; i < run.records(); ++i) {
    if (table.is_dead(line_at(run.offset() + run.record_at(i)).number))
      bits[i / 64] |= std::uint64_t{1} << i % 64;
  }
  return bits;
}

Status Reclaimer::put_all_dead_bits() {
  rooms_.drain_notes();
  std::vector<DeadBits> dead;
  for_each_sealed_run([&](std::uint64_t head, const BlockMeta& run) {
    // A run whose tail was damaged meanwhile has nothing to be marked in.
    if (!run.dead_dirty.load(std::memory_order_acquire)) return;
    const auto sealed = SealedRun::read(rooms_.medium, rooms_.table, head);
    if (!sealed) return;
    rooms_.table.take_dead_dirty(
        head);  // Before the bits are read: one set meanwhile counts again.
    dead.emplace_back(head, dead_bits_of(rooms_.table, *sealed));
  });
  if (dead.empty()) return {};
  auto put = put_dead_bits(dead);
  if (!put) {
    for (const auto& [head, bits] : dead)
      HF_MUTANT("K168", rooms_.table.leave_dead_dirty(head), void());
  }
  return put;
}

Status Reclaimer::put_dead_bits(std::span<const DeadBits> dead) {
  // What superseded them is durable before they are durably dead: on page media after a sync that
  // began when the bits had been taken; elsewhere it was fenced before it was published. Word and
  // bits need no order between them, only both before a tombstone goes: until its word is durable a
  // run counts as open, and recovery puts zeros over the bits that it then does not believe.
  for (const auto& [head, bits] : dead)
    HF_RETURN_IF_ERROR(HF_MUTANT("K25", rooms_.table.confirm_sealed(head), ok_status()));
  HF_RETURN_IF_ERROR(rooms_.group.wait());
  for (const auto& [head, bits] : dead) {
    const SealedRun run = SealedRun::trusted(rooms_.medium, rooms_.table, head);
    HF_RETURN_IF_ERROR(
        rooms_.medium.put(run.dead_words_at(), bits.data(), bits.size() * sizeof bits[0]));
  }
  return rooms_.group.order();
}

// A session that rests keeps its run open for ever, and the relocator's holds the oldest records
// there are: theirs are sealed.
Status Reclaimer::seal_resting_lanes() {
  const auto sealed = seal_lanes(rooms_, own_, [](const Lane& lane, Session& books, LaneOf whose) {
    if (whose == LaneOf::kRelocator) return true;
    const bool rests = lane.run.head == books.rest_head && lane.run.at == books.rest_at;
    books.rest_head = lane.run.head;
    books.rest_at = lane.run.at;
    return rests;
  });
  if (!sealed) return sealed.error();
  return rooms_.group.finish_sealing();
}

Result<std::uint64_t> Reclaimer::seal_wasteful_lanes(Waste waste) {
  rooms_.drain_notes();
  HF_ASSIGN_OR_RETURN(
      const std::uint64_t sealed,
      seal_lanes(rooms_, own_, [waste](const Lane& lane, Session& books, LaneOf whose) {
        if (waste == Waste::kAge) return true;
        const bool session = whose == LaneOf::kSession;
        const bool left = session && !books.taken.load(std::memory_order_relaxed);
        const OpenRun& run = lane.run;
        const bool empty = waste == Waste::kHalfEmpty && session && run.at < run.bytes / 2;
        return run.open() && (left || empty || run.meta->dead() >= run.bytes / 4);
      }));
  HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
  return sealed;
}

// The dead records of an open run cannot be marked on the medium, so what erased them must stay;
// nor are those marked of which a copy was erased, in a run that is kept by a pin. In the system
// space nothing is erased and nothing expires, so its run, which fills slowly, does not count.
Result<std::uint64_t> Reclaimer::tombstone_floor() {
  HF_RETURN_IF_ERROR(seal_resting_lanes());
  std::uint64_t oldest = ~std::uint64_t{0};
  for (std::uint64_t block = 0; block < rooms_.table.blocks(); ++block) {
    const BlockMeta& run = rooms_.table.meta(block);
    const BlockState state = run.state.load(std::memory_order_acquire);
    const bool unmarked = HF_MUTANT("K03", state == BlockState::kOpen, false) ||
                          (state == BlockState::kSealed &&
                           HF_MUTANT("K04", run.moved.load(std::memory_order_relaxed), false));
    const std::uint16_t space = run.space.load(std::memory_order_relaxed);
    const bool has_none = space == kSystemSpace || space == kPieceSpace;  // Of these, tombstones.
    if (unmarked && run.head == block && !has_none)
      oldest = std::min(oldest, run.min_sequence.load(std::memory_order_acquire));
  }
  return oldest;
}

void Reclaimer::mark_moved_dead() {
  const auto guard = rooms_.epochs.enter(own_.participant);
  for_each_sealed_run([&](std::uint64_t head, const BlockMeta& meta) {
    if (!meta.moved.load()) return;
    const auto run = SealedRun::read(rooms_.medium, rooms_.table, head);
    if (!run) return;
    for (std::uint32_t i = 0; i < run->records(); ++i) {
      const Line line = line_at(run->offset() + run->record_at(i));
      const KeyIndex* const index = rooms_.index_of(rooms_.space_at(meta, line));
      if (is_put(run->kind(i)) && (index == nullptr || !index->leads_to(run->hash(i), line, guard)))
        rooms_.table.mark_dead(line.number, 0);
    }
  });
}

// Nothing leads to a record of these runs any more, and nothing will: they were emptied, and no
// snapshot holds versions.
void Reclaimer::mark_copied_dead() {
  for (const std::uint64_t head : evacuated_) {
    BlockMeta& meta = rooms_.table.meta(head);
    if (!meta.moved.load(std::memory_order_relaxed)) continue;
    const auto run = SealedRun::read(rooms_.medium, rooms_.table, head);
    if (!run) continue;
    for (std::uint32_t i = 0; i < run->records(); ++i) {
      const std::uint64_t line = line_at(run->offset() + run->record_at(i)).number;
      if (is_put(run->kind(i)) && !rooms_.table.is_dead(line))
        rooms_.table.mark_dead(line, 0, /*tell=*/false);  // Its bytes are counted, its copy lives.
    }
    HF_MUTANT("K128", meta.moved.store(false, std::memory_order_relaxed), void());
  }
}

// ---- Freeing ----

void Reclaimer::forget_versions(std::uint64_t head) {
  const SealedRun run = SealedRun::trusted(rooms_.medium, rooms_.table, head);
  const BlockMeta& meta = rooms_.table.meta(head);
  for (std::uint32_t i = 0; i < run.records(); ++i) {
    const Line line = line_at(run.offset() + run.record_at(i));
    if (Versions* const versions = rooms_.versions_of(rooms_.space_at(meta, line)))
      versions->forget(line);
  }
}

Status Reclaimer::free_space(std::uint16_t space) {
  for_each_sealed_run([&](std::uint64_t head, BlockMeta& meta) {
    const std::uint16_t of_run = meta.space.load(std::memory_order_relaxed);
    if (of_run == space && !meta.evacuated.exchange(true, std::memory_order_relaxed))
      evacuated_.push_back(head);
    if (of_run != kMixedSpaces) return;
    const auto run = SealedRun::read(rooms_.medium, rooms_.table, head);
    for (std::uint32_t i = 0; run && i < run->records(); ++i) {
      const Line line = line_at(run->offset() + run->record_at(i));
      const RecordView record = rooms_.records.at(line);
      if (!is_put(run->kind(i)) || record.header().space() != space ||
          rooms_.table.is_dead(line.number))
        continue;
      rooms_.table.mark_dead(line.number, record.padded_bytes());
      rooms_.table.count_dead(record.padded_bytes());
    }
  });
  HF_RETURN_IF_ERROR(free_evacuated());
  return {};
}

Result<std::uint64_t> Reclaimer::free_evacuated() {
  if (evacuated_.empty()) return 0;
  HF_MUTANT("K06", rooms_.epochs.synchronize(), void());
  // Writers that were publishing a batch have ended, and nothing names a victim's record any more.
  // But until then readers were sent there (KeyIndex::settled), also readers that came after the
  // first wait began. Notes about a victim's records are all written by now.
  rooms_.drain_notes();
  if (rooms_.versions_held()) {
    for (const std::uint64_t head : evacuated_)
      forget_versions(head);
  }
  HF_MUTANT("K07", rooms_.epochs.synchronize(), void());
  // A reader that found a victim's record before is out of its guard now: it either pinned the run
  // or let go.
  std::vector<std::uint64_t> ready;
  std::erase_if(evacuated_, [&](std::uint64_t head) {
    const auto pins = rooms_.table.meta(head).pins.load(std::memory_order_acquire);
    if (HF_MUTANT("K05", pins != 0, false)) return false;
    ready.push_back(head);
    return true;
  });
  std::uint64_t blocks = 0, held = 0;
  for (const std::uint64_t head : ready)
    blocks += rooms_.table.meta(head).run_blocks;
  for (const std::uint64_t head : evacuated_)
    held += rooms_.table.meta(head).run_blocks;
  rooms_.upkeep.pace.set_held(held);
  // Page media: the copies are durable before their originals go.
  HF_RETURN_IF_ERROR(HF_MUTANT("K09", rooms_.group.wait(), ok_status()));
  // A pin may keep runs for long. Their records have durable copies, so they are marked dead, and
  // tombstones need not wait for them.
  if (!rooms_.versions_held()) mark_copied_dead();
  if (auto freed = rooms_.table.free_runs(ready); !freed) {
    evacuated_.insert(evacuated_.end(), ready.begin(), ready.end());  // The next pass tries again.
    return std::move(freed).error();
  }
  counts_.blocks.fetch_add(blocks, std::memory_order_relaxed);
  freed_blocks_ += blocks;
  return blocks;
}

}  // namespace holdfast::kv
