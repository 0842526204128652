#include <holdfast/kv/reclaim.hpp>

#include <algorithm>
#include <bit>
#include <chrono>

#include <holdfast/kv/recovery.hpp>
#include <holdfast/kv/store_append.hpp>

namespace holdfast::kv {
namespace {

bool is_whole_run(const BlockMeta& run, std::uint64_t block) { return run.head == block; }

}  // namespace

std::vector<std::uint64_t> Reclaimer::choose(std::size_t limit, double least_gain) const {
  struct Victim {
    std::uint64_t head;
    double gain;
  };
  std::vector<Victim> victims;
  for (std::uint64_t block = 0; block < core_.table_.blocks(); ++block) {
    const BlockMeta& run = core_.table_.meta(block);
    if (run.state.load(std::memory_order_acquire) != BlockState::kSealed ||
        !is_whole_run(run, block))
      continue;
    if (run.evacuated.load(std::memory_order_relaxed))
      continue;  // Waits for its pins, or is damaged.
    const double used = static_cast<double>(run.used_bytes.load(std::memory_order_relaxed));
    const double dead = static_cast<double>(run.dead_bytes.load(std::memory_order_relaxed));
    const auto room = static_cast<double>(core_.table_.run_bytes(block));
    double gain = used == 0 ? 1 : dead / used;
    // Sealed half empty (an idle session, an earlier pass): its records fit beside others.
    if (run.run_blocks == 1 && used < room / 2) gain = std::max(gain, 1 - (used - dead) / room);
    if (gain >= least_gain) victims.push_back({block, gain});
  }
  limit = std::min(limit, victims.size());
  std::partial_sort(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(limit),
                    victims.end(),
                    [](const Victim& a, const Victim& b) { return a.gain > b.gain; });
  std::vector<std::uint64_t> heads;
  for (std::size_t i = 0; i < limit; ++i)
    heads.push_back(victims[i].head);
  return heads;
}

std::vector<std::uint64_t> StoreCore::take_dead_bits(std::uint64_t head) {
  std::vector<std::uint64_t> bits = table_.take_dead_bits(head);
  BlockMeta& run = table_.meta(head);
  RunFooter footer;
  const std::byte* tail = nullptr;
  if (!read_footer(medium_, geometry_, table_, head, footer, tail)) return bits;
  const auto* const on_medium = reinterpret_cast<const std::uint64_t*>(tail);
  const auto* const entries =
      reinterpret_cast<const SummaryEntry*>(tail + dead_bits_bytes(footer.records));
  const auto guard = epochs_.enter(relocator_->participant);
  for (std::size_t word = 0; word < bits.size(); ++word) {
    // Each bit once: those that the medium has are no news.
    for (std::uint64_t fresh = bits[word] & ~on_medium[word]; fresh != 0; fresh &= fresh - 1) {
      const auto i = static_cast<std::uint32_t>(word * 64) +
                     static_cast<std::uint32_t>(std::countr_zero(fresh));
      if (i >= footer.records || entries[i].kind() != RecordKind::kPut ||
          !is_indexed(table_.run_at(head), entries[i]))
        continue;
      table_.unset_dead(run, i);
      bits[word] &= ~(std::uint64_t{1} << i % 64);
    }
  }
  return bits;
}

Status Reclaimer::put_all_dead_bits() {
  std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> dead;
  for (std::uint64_t block = 0; block < core_.table_.blocks(); ++block) {
    BlockMeta& run = core_.table_.meta(block);
    if (run.state.load(std::memory_order_acquire) == BlockState::kSealed &&
        is_whole_run(run, block) && run.dead_dirty.load(std::memory_order_acquire)) {
      dead.emplace_back(block, core_.take_dead_bits(block));
    }
  }
  // What superseded them is durable before they are durably dead: on page regions after a sync that
  // began when the bits had been taken; elsewhere it was fenced before it was published. Word and
  // bits need no order between them, only both before a tombstone goes: until its word is durable a
  // run counts as open, and recovery puts zeros over the bits that it then does not believe.
  for (const auto& [head, bits] : dead)
    HF_RETURN_IF_ERROR(core_.table_.confirm_sealed(head));
  if (!dead.empty() && core_.medium_.paged()) HF_RETURN_IF_ERROR(core_.sync());
  for (const auto& [head, bits] : dead)
    HF_RETURN_IF_ERROR(core_.table_.put_dead_bits(head, bits));
  if (dead.empty()) return {};
  return core_.medium_.paged() ? core_.sync() : core_.medium_.order();
}

// A session that rests keeps its run open for ever, and the relocator's holds the oldest records
// there are: theirs are sealed.
Status Reclaimer::seal_resting_lanes() {
  const auto seal_lane = [&](Lane& lane, std::uint64_t& seen_head, std::uint64_t& seen_at,
                             bool always) -> Status {
    const std::lock_guard lock(lane.latch);
    const bool rests = lane.head == seen_head && lane.at == seen_at;
    seen_head = lane.head;
    seen_at = lane.at;
    return lane.open() && !lane.entries.empty() && (rests || always)
               ? core_.seal(*core_.relocator_, lane)
               : ok_status();
  };
  std::vector<Session*> sessions;
  {
    const std::lock_guard lock(core_.sessions_mutex_);
    for (const auto& session : core_.sessions_)
      sessions.push_back(session.get());
  }
  for (Session* session : sessions) {
    HF_RETURN_IF_ERROR(seal_lane(session->lane, session->seen_head, session->seen_at, false));
  }
  Session& own = *core_.relocator_;
  if (core_.shared_lane_)
    HF_RETURN_IF_ERROR(seal_lane(*core_.shared_lane_, own.seen_head, own.seen_at, false));
  std::uint64_t unused_head = 0, unused_at = 0;
  HF_RETURN_IF_ERROR(seal_lane(own.lane, unused_head, unused_at, true));
  // On page regions a sealed run counts as open until syncs have covered its tail.
  while (core_.medium_.paged() && core_.sealing())
    HF_RETURN_IF_ERROR(core_.sync());
  return {};
}

Result<std::uint64_t> Reclaimer::seal_wasteful_lanes() {
  std::uint64_t sealed = 0;
  const auto seal_lane = [&](Lane& lane, bool left) -> Status {
    const std::lock_guard lock(lane.latch);
    if (!lane.open() || lane.entries.empty()) return {};
    if (!left && lane.meta->dead_bytes.load(std::memory_order_relaxed) < lane.run_bytes / 4)
      return {};
    ++sealed;
    return core_.seal(*core_.relocator_, lane);
  };
  std::vector<Session*> sessions;
  {
    const std::lock_guard lock(core_.sessions_mutex_);
    for (const auto& session : core_.sessions_)
      sessions.push_back(session.get());
  }
  for (Session* session : sessions) {
    HF_RETURN_IF_ERROR(seal_lane(session->lane, !session->taken.load(std::memory_order_relaxed)));
  }
  if (core_.shared_lane_) HF_RETURN_IF_ERROR(seal_lane(*core_.shared_lane_, false));
  HF_RETURN_IF_ERROR(seal_lane(core_.relocator_->lane, false));
  while (core_.medium_.paged() && core_.sealing())
    HF_RETURN_IF_ERROR(core_.sync());
  return sealed;
}

// The dead records of an open run cannot be marked on the medium, so what erased them must stay;
// nor are those marked of which a copy was erased, in a run that is kept by a pin.
Result<std::uint64_t> Reclaimer::tombstone_floor() {
  HF_RETURN_IF_ERROR(seal_resting_lanes());
  std::uint64_t oldest = ~std::uint64_t{0};
  for (std::uint64_t block = 0; block < core_.table_.blocks(); ++block) {
    const BlockMeta& run = core_.table_.meta(block);
    const BlockState state = run.state.load(std::memory_order_acquire);
    const bool unmarked = state == BlockState::kOpen || (state == BlockState::kSealed &&
                                                         run.moved.load(std::memory_order_relaxed));
    if (unmarked && is_whole_run(run, block)) {
      oldest = std::min(oldest, run.min_sequence.load(std::memory_order_acquire));
    }
  }
  return oldest;
}

Result<std::uint64_t> Reclaimer::pass(std::size_t victims_limit, double least_gain,
                                      std::uint64_t bytes_per_second) {
  HF_ASSIGN_OR_RETURN(const std::uint64_t freed, free_evacuated());
  if (core_.versions_held_.load(std::memory_order_acquire) != 0) return freed;
  HF_ASSIGN_OR_RETURN(const std::uint64_t more,
                      evacuate_all(choose(victims_limit, least_gain), bytes_per_second));
  return freed + more;
}

Result<std::uint64_t> Reclaimer::empty_last_segment(std::uint64_t bytes_per_second) {
  if (core_.versions_held_.load(std::memory_order_acquire) != 0) return 0;
  HF_RETURN_IF_ERROR(seal_resting_lanes());
  std::vector<std::uint64_t> victims;
  const std::uint64_t end = core_.table_.blocks();
  for (std::uint64_t block = end - core_.geometry_.blocks_per_segment(); block < end; ++block) {
    // Also a run that begins before the segment and reaches into it.
    const std::uint64_t head = core_.table_.meta(block).head;
    const BlockMeta& run = core_.table_.meta(head);
    if (run.state.load(std::memory_order_acquire) != BlockState::kSealed ||
        run.evacuated.load(std::memory_order_relaxed))
      continue;
    if (!core_.geometry_.is_table_block(block) && (victims.empty() || victims.back() != head))
      victims.push_back(head);
  }
  return evacuate_all(std::move(victims), bytes_per_second);
}

Result<std::uint64_t> Reclaimer::evacuate_all(std::vector<std::uint64_t> victims,
                                              std::uint64_t bytes_per_second) {
  if (victims.empty()) return 0;
  for (const std::uint64_t head : victims)
    core_.table_.meta(head).relocating.store(true, std::memory_order_seq_cst);
  core_.epochs_.synchronize();
  target_ = core_.relocator_->lane.head;
  std::uint64_t floor = 0;
  if (std::any_of(victims.begin(), victims.end(),
                  [&](std::uint64_t head) { return core_.table_.meta(head).tombstones != 0; })) {
    HF_ASSIGN_OR_RETURN(floor, tombstone_floor());
    HF_RETURN_IF_ERROR(put_all_dead_bits());
  }
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const std::uint64_t head = victims[i];
    BlockMeta& run = core_.table_.meta(head);
    const std::uint64_t used = run.used_bytes.load(std::memory_order_relaxed);
    moved += used - std::min(run.dead_bytes.load(std::memory_order_relaxed), used);
    auto evacuated = evacuate(head, floor);
    if (!evacuated && evacuated.code() == Errc::kNoSpace) {
      // Those before it make room for the others. It was copied in part, so it keeps its mark; they
      // do not.
      for (std::size_t rest = i + 1; rest < victims.size(); ++rest) {
        core_.table_.meta(victims[rest]).relocating.store(false, std::memory_order_seq_cst);
      }
      break;
    }
    if (!evacuated) {
      run.evacuated.store(true, std::memory_order_relaxed);  // Not tried again; it stays as it is.
      return std::move(evacuated).error();
    }
    // A run that could not be emptied keeps its mark `relocating`: of what was copied the copy wins
    // after a crash, so the original may not be patched any more.
    if (*evacuated) {
      run.evacuated.store(true, std::memory_order_relaxed);
      core_.evacuated_.push_back(head);
    }
    if (bytes_per_second != 0) {
      const std::chrono::duration<double> due(static_cast<double>(moved) /
                                              static_cast<double>(bytes_per_second));
      pace(start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due));
    }
  }
  return free_evacuated();
}

// The limit on bytes moved is for quiet times: whoever waits for this pass to end ends the rest.
void Reclaimer::pace(std::chrono::steady_clock::time_point due) const {
  constexpr std::chrono::milliseconds kStep{5};
  for (auto now = std::chrono::steady_clock::now();
       now < due && core_.reclaim_waiters_.load(std::memory_order_relaxed) == 0;
       now = std::chrono::steady_clock::now()) {
    std::this_thread::sleep_until(std::min(due, now + kStep));
  }
}

Result<bool> Reclaimer::evacuate(std::uint64_t head, std::uint64_t floor) {
  StoreCore& core = core_;
  Session& own = *core.relocator_;
  RunFooter footer;
  const std::byte* tail = nullptr;
  if (!read_footer(core.medium_, core.geometry_, core.table_, head, footer, tail)) {
    return core.damaged(core.table_.run_at(head),
                        "footer of sealed block " + std::to_string(head) + " is not valid");
  }
  const auto* const entries =
      reinterpret_cast<const SummaryEntry*>(tail + dead_bits_bytes(footer.records));
  const std::uint64_t base = core.table_.run_at(head);
  const BlockMeta& run = core.table_.meta(head);
  const std::uint64_t seed = core.geometry_.seed(run.generation);
  struct Move {
    std::uint64_t hash;
    Line from;
    Appended to;
    std::uint64_t padded;
    bool erase;
  };
  std::vector<Move> moves;
  std::uint64_t copied_bytes = 0;
  const auto discard = [&](const Appended& copy, bool erase) {
    if (erase)  // Its bytes count as dead already.
      core.table_.set_dead(core.table_.run_of(copy.offset), copy.ordinal);
    else
      core.abandon(copy);
  };
  {
    Lane& lane = own.lane;
    const std::lock_guard lock(lane.latch);
    // Copies that nothing will point to: dead, since a later erase of their keys would not know of
    // them; and fenced, since the next one who appends here may be another thread, whose fence does
    // not cover what this one wrote back.
    const auto give_up = [&](Error why) -> Error {
      for (const Move& move : moves)
        discard(move.to, move.erase);
      if (auto committed = core.commit(own, lane); !committed) return std::move(committed).error();
      return why;
    };
    for (std::uint32_t i = 0; i < footer.records; ++i) {
      const bool erase = entries[i].kind() == RecordKind::kErase;
      const std::uint64_t sequence = footer.base_sequence + entries[i].sequence_delta();
      if (erase && sequence < floor) {
        core.tombstones_dropped_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      const std::uint64_t offset = base + entries[i].offset_bytes();
      const Line from{offset / kCacheLineBytes};
      if (erase) {
        if (core.table_.is_dead(run, i)) continue;
      } else {
        // The index decides, not the dead bit: what was moved by an earlier pass that could not
        // finish has none (the copy may have been patched since, and another one, of a higher
        // generation, would win over it after a crash); and a record may have one in error.
        const auto guard = core.epochs_.enter(own.participant);
        if (!core.is_indexed(base, entries[i])) continue;
      }
      const RecordView record = core.record_at(from);
      // A damaged record is not copied under a fresh checksum, and its run is not freed.
      const bool sound = record.fits(footer.used_bytes - entries[i].offset_bytes()) &&
                         record.sequence() == sequence && record.is_sound(seed, core.patchable_);
      if (!sound) {
        return give_up(core.damaged(offset, "record " + std::to_string(i) + " of sealed block " +
                                                std::to_string(head) + " is not valid"));
      }
      const auto key = std::as_bytes(std::span(record.key()));
      const NewRecord<StoreCore::Bytes, StoreCore::Bytes> copy{
          record.kind(), entries[i].hash, key, std::as_bytes(std::span(record.value()))};
      Appended to;
      auto done = core.append(own, lane, copy, sequence, false, BlockTable::Purpose::kReclaim, to);
      if (!done) return give_up(std::move(done).error());
      moves.push_back({entries[i].hash, from, to, record.padded_bytes(), erase});
      copied_bytes += to.padded_bytes;
      const BlockMeta& target = core.table_.run_of(to.offset);
      if (std::exchange(target_, target.head) != target.head) opened_blocks_ += target.run_blocks;
    }
    HF_RETURN_IF_ERROR(core.commit(own, lane));
  }
  bool complete = true;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (i + 8 < moves.size()) core.index_->prefetch_for_write(moves[i + 8].hash);
    const Move& move = moves[i];
    if (move.erase) continue;  // Nothing points to it.
    const auto guard = core.epochs_.enter(own.participant);
    auto latched = core.index_->latch(move.hash);
    const auto entry = latched.find([&](Line line) { return line == move.from; });
    if (entry && core.versions_held_.load(std::memory_order_acquire) == 0) {
      core.table_.meta(head).moved.store(true, std::memory_order_relaxed);
      latched.replace(entry, Line{move.to.offset / kCacheLineBytes});
      // Dead in our books only: its bit on the medium would say that the copy is durable.
      core.table_.meta(head).dead_bytes.fetch_add(move.padded, std::memory_order_relaxed);
      core.relocated_bytes_.fetch_add(move.padded, std::memory_order_relaxed);
    } else {
      // Superseded since, or a snapshot needs it where it is: the copy is superfluous.
      core.abandon(move.to);
      complete = complete && !entry;
    }
  }
  if (!complete || core.versions_held_.load(std::memory_order_acquire) != 0) return false;
  dropped_bytes_ += footer.used_bytes - std::min(copied_bytes, footer.used_bytes);
  return true;
}

Result<std::uint64_t> Reclaimer::free_evacuated() {
  if (core_.evacuated_.empty()) return 0;
  core_.epochs_.synchronize();
  // Who was publishing a batch has ended, and nothing names a victim's record any more. But until
  // it had, it sent readers there (settled()), those too that came after the first wait began.
  core_.epochs_.synchronize();
  // Who found a victim's record before is out of its guard now: it either pinned the run or let go.
  std::vector<std::uint64_t> ready;
  std::erase_if(core_.evacuated_, [&](std::uint64_t head) {
    if (core_.table_.meta(head).pins.load(std::memory_order_acquire) != 0) return false;
    ready.push_back(head);
    return true;
  });
  std::uint64_t blocks = 0;
  for (const std::uint64_t head : ready)
    blocks += core_.table_.meta(head).run_blocks;
  // Page regions: the copies are durable before their originals go.
  if (core_.medium_.paged()) HF_RETURN_IF_ERROR(core_.sync());
  HF_RETURN_IF_ERROR(core_.table_.free_runs(ready));
  core_.reclaimed_blocks_.fetch_add(blocks, std::memory_order_relaxed);
  freed_blocks_ += blocks;
  return blocks;
}

}  // namespace holdfast::kv
