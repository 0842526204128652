#include <holdfast/kv/maintenance.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/expiry_sweep.hpp>
#include <holdfast/kv/piece_collector.hpp>
#include <holdfast/kv/reclaimer.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

constexpr auto kIdleInterval = std::chrono::milliseconds(50);
constexpr std::size_t kVictimsPerPass = 16;             // Of passes in callers.
constexpr int kSegmentsPerTurn = Pace::kSegmentsAhead;  // By which the medium grows between passes.
// What trim() leaves free for the next writes.
constexpr std::uint64_t kKeepFreeBlocks = 4;

// The dead share above which a run is worth moving, for a given goal: half the average that the
// goal allows, so that the goal can be reached whatever the spread.
double least_gain(double space_amplification) { return (1 - 1 / space_amplification) / 2; }

}  // namespace

// From its making to its end one pass of reclamation, by the holder of the turn.
class Maintenance::PassWatch {
 public:
  PassWatch(Maintenance& of, bool in_caller)
      : of_(of),
        in_caller_(in_caller),
        begin_(std::chrono::steady_clock::now()),
        moved_before_(of.counts_.relocated_bytes.load(std::memory_order_relaxed)) {}
  // A pass that did nothing is none.
  void ended(const Result<std::uint64_t>& freed_blocks) const {
    const std::uint64_t freed = freed_blocks ? *freed_blocks : 0;
    const std::uint64_t moved =
        of_.counts_.relocated_bytes.load(std::memory_order_relaxed) - moved_before_;
    if (!of_.rooms_.events || (freed == 0 && moved == 0)) return;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    of_.rooms_.events.post(ReclaimEvent{freed, moved, spent.count(), in_caller_});
  }

 private:
  Maintenance& of_;
  const bool in_caller_;
  const std::chrono::steady_clock::time_point begin_;
  const std::uint64_t moved_before_;
};

Maintenance::Maintenance(Rooms& rooms)
    : rooms_(rooms), expired_(std::make_unique<ExpirySweep>(rooms)) {}
Maintenance::~Maintenance() { stop(); }

// ---- In the background ----

Status Maintenance::start() {
  relocator_ = rooms_.sessions.make_own();
  const StoreOptions& options = rooms_.options;
  if (!options.background) return {};
  pool_ = options.background_pool ? options.background_pool : BackgroundPool::of_process();
  HF_ASSIGN_OR_RETURN(upkeep_, pool_->upkeep().add(kIdleInterval, [this] { maintain(); }));
  rooms_.upkeep.wake.lead_to(&pool_->upkeep(), upkeep_);
  if (!rooms_.group.needed() || options.sync_interval_ms == 0) return {};
  const std::chrono::milliseconds interval(options.sync_interval_ms);
  HF_ASSIGN_OR_RETURN(syncs_, pool_->syncs().add(interval, [this] {
    if (!rooms_.gate.open()) return;
    // A failure closes the write gate.
    if (!rooms_.group.unsynced() || rooms_.group.wait()) rooms_.group.mark_synced();
  }));
  return {};
}

void Maintenance::stop() {
  hurry();  // For good: what it has begun ends soon.
  rooms_.upkeep.wake.stop();
  if (upkeep_ != nullptr) pool_->upkeep().remove(std::exchange(upkeep_, nullptr));
  if (syncs_ != nullptr) pool_->syncs().remove(std::exchange(syncs_, nullptr));
  rooms_.upkeep.wake.lead_to(nullptr, nullptr);  // No round is left that asks.
  pool_.reset();
}

void Maintenance::maintain() {
  if (!rooms_.gate.open()) return;
  rooms_.end_left_snapshots();
  rooms_.index.map().take_memory();
  rooms_.spaces.for_each([](SpaceRooms& space) { space.index.map().take_memory(); });
  const bool unsettled = rooms_.displaced && settle_in_background();
  collect_in_background();
  const bool reclaims = rooms_.options.reclaim.background;
  const bool unswept = reclaims && sweep_in_background();
  const bool unfinished = reclaims && reclaim_in_background();
  grow_ahead();
  const bool unshrunk = shrink();
  if (unsettled || unswept || unfinished || unshrunk) rooms_.upkeep.wake.ask();
}

// What was superseded unread is left to lie for a while, since many that lie side by side are read
// at once: half a table full, or a 16th of the keys, since the books take it for live. All of it
// when nobody writes. What cannot be read stays where it is, and readers find it. Some at a time:
// other stores wait for this thread.
bool Maintenance::settle_in_background() {
  constexpr std::uint64_t kKeysForEach = 16;
  Displaced& displaced = *rooms_.displaced;
  const std::uint64_t newest = rooms_.sequences.next();
  const bool at_rest = std::exchange(last_sequence_, newest) == newest;
  const auto wanted = [&] {
    const std::uint64_t count = displaced.count();
    return count != 0 && !rooms_.upkeep.wake.stopped() &&
           (at_rest || displaced.half_full() || count > rooms_.index.count() / kKeysForEach);
  };
  if (!wanted()) return false;
  // Not the relocator's session: a caller may be reclaiming with that.
  return displaced.settle_some(rooms_.sessions.of_this_thread(), Displaced::kSettledAtOnce) &&
         wanted();
}

void Maintenance::collect_in_background() {
  if (!rooms_.pieces.any_ended()) return;
  const auto lock = after_waiters();
  if (auto collected = PieceCollector(rooms_).collect();
      !collected && collected.code() == Errc::kIo)
    rooms_.gate.fail(collected.error());
}

// Grows the medium before writers need it, so no writer waits for the file system.
void Maintenance::grow_ahead() {
  BlockTable& table = rooms_.table;
  for (int turn = 0; turn < kSegmentsPerTurn; ++turn) {
    if (table.free_blocks() >= rooms_.upkeep.pace.blocks_ahead() || rooms_.upkeep.wake.stopped())
      return;
    auto grown = table.grow_by_segment(table.blocks());
    if (!grown && grown.code() == Errc::kIo) rooms_.gate.fail(grown.error());
    if (!grown) return;
  }
}

bool Maintenance::sweep_in_background() {
  if (!rooms_.expiry.any()) return false;
  const Turn turn = after_waiters();
  Reclaimer reclaimer = reclaimer_of(turn);
  auto more = expired_->run(ExpirySweep::Reach::kDue, reclaimer, *relocator_);
  if (!more && more.code() == Errc::kIo) rooms_.gate.fail(more.error());
  return more && *more && !rooms_.upkeep.wake.stopped();
}

std::uint64_t Maintenance::expired_records() const { return expired_->dropped(); }

bool Maintenance::reclaim_in_background() {
  BlockTable& table = rooms_.table;
  Pace& pace = rooms_.upkeep.pace;
  const ReclaimOptions& options = rooms_.options.reclaim;
  const Turn turn = after_waiters();
  for (;;) {
    rooms_.drain_notes();
    if (!pace.wants_reclaim()) return false;
    const std::uint64_t free_before = table.free_blocks();
    const std::uint64_t sequence_before = rooms_.sequences.next();
    Reclaimer reclaimer = reclaimer_of(turn);
    pace.begin_pass();
    const PassWatch watch(*this, /*in_caller=*/false);
    auto freed = reclaimer.pass(Reclaimer::Choice::kWorthMost, pace.runs_per_pass(),
                                least_gain(options.space_amplification), options.bytes_per_second);
    watch.ended(freed);
    pace.end_pass(freed && *freed != 0 ? reclaimer.gained_blocks() : 0);
    if (!freed && freed.code() == Errc::kIo) rooms_.gate.fail(freed.error());
    if (!freed || *freed == 0) return false;
    // What it moved took as much as it freed, and no writer took any: another pass would do the
    // same.
    if (table.free_blocks() <= free_before && rooms_.sequences.next() == sequence_before)
      return false;
    if (rooms_.upkeep.wake.stopped() || waiters_.load(std::memory_order_relaxed) != 0) return false;
    // Growth takes a turn of this thread between two passes, and a bounded one.
    if (table.free_blocks() < pace.blocks_ahead() / 2) return true;
  }
}

// Gives segments at the end back, some at a time, since a checkpoint may be waiting: to free a
// gigabyte takes the system a tenth of a second. What the user asked for at open stays. Returns
// whether there may be more.
bool Maintenance::shrink() {
  BlockTable& table = rooms_.table;
  const Geometry& geometry = table.geometry();
  const std::uint64_t per_segment = geometry.blocks_per_segment();
  const std::uint64_t ahead = std::max(rooms_.upkeep.pace.blocks_ahead(), per_segment);
  const std::uint64_t keep = std::max<std::uint64_t>(
      (rooms_.options.initial_bytes + geometry.segment_bytes - 1) / geometry.segment_bytes, 1);
  if (table.free_blocks() <= 3 * ahead || table.blocks() <= keep * per_segment) return false;
  // verify() reads words of blocks that must stay while it does.
  const Turn turn = after_waiters();
  const auto trim = [&] {
    auto trimmed = table.trim(2 * ahead, keep, kSegmentsPerTurn);
    if (!trimmed) rooms_.gate.fail(trimmed.error());
    return trimmed.value_or(0) != 0;
  };
  if (trim()) return true;
  // What lies at the end keeps the files from shrinking: it moves to where there is room.
  if (!rooms_.options.reclaim.background || table.free_blocks() <= 3 * ahead) return false;
  auto moved = reclaimer_of(turn).empty_last_segment(rooms_.options.reclaim.bytes_per_second);
  if (!moved) {
    if (moved.code() == Errc::kIo) rooms_.gate.fail(moved.error());
    return false;
  }
  return trim();
}

// ---- For callers ----

namespace {

// An open run that is older than what has expired holds it back, also one whose thread rests.
Status drop_expired(ExpirySweep& sweep, ExpirySweep::Reach reach, Reclaimer& reclaimer,
                    Session& relocator, const Rooms& rooms) {
  HF_RETURN_IF_ERROR(sweep.run(reach, reclaimer, relocator));
  if (!sweep.holds_back() || rooms.versions_held()) return {};
  HF_RETURN_IF_ERROR(reclaimer.seal_wasteful_lanes(Reclaimer::Waste::kAge));
  HF_RETURN_IF_ERROR(sweep.run(ExpirySweep::Reach::kAllOnce, reclaimer, relocator));
  return {};
}

}  // namespace

// After this the books say what is dead.
Status Maintenance::settle_all_displaced() {
  if (!rooms_.displaced || rooms_.displaced->count() == 0) return {};
  return rooms_.displaced->settle_all(rooms_.sessions.of_this_thread());
}

// The caller is the only one.
Status Maintenance::collect_pieces() {
  rooms_.drain_notes();
  return PieceCollector(rooms_).collect();
}

Maintenance::Turn Maintenance::hold_off() {
  waiters_.fetch_add(1, std::memory_order_relaxed);
  Turn turn(mutex_);
  waiters_.fetch_sub(1, std::memory_order_relaxed);
  return turn;
}

// A mutex that is released and taken again at once does not go to a thread that sleeps for it: that
// thread may wait for a dozen turns of the background. The wait is bounded, since callers of
// hurry() wait without end.
Maintenance::Turn Maintenance::after_waiters() {
  constexpr int kSteps = 50;
  for (int step = 0; step < kSteps && waiters_.load(std::memory_order_relaxed) != 0; ++step)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  return Turn(mutex_);
}

Reclaimer Maintenance::reclaimer_of(const Turn&) {
  return {rooms_, *relocator_, evacuated_, counts_, waiters_};
}

Result<std::uint64_t> Maintenance::pass(const Turn& turn, std::size_t victims, double gain,
                                        std::uint64_t bytes_per_second) {
  const PassWatch watch(*this, /*in_caller=*/true);
  auto freed =
      reclaimer_of(turn).pass(Reclaimer::Choice::kMostDead, victims, gain, bytes_per_second);
  watch.ended(freed);
  return freed;
}

Status Maintenance::reclaim() {
  HF_RETURN_IF_ERROR(rooms_.gate.check(false));
  rooms_.end_left_snapshots();
  HF_RETURN_IF_ERROR(settle_all_displaced());
  const Turn turn = hold_off();
  BlockTable& table = rooms_.table;
  constexpr double kLeastGain = 0.05;
  // On page media a run counts as sealed only when syncs have covered it.
  HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
  HF_RETURN_IF_ERROR(collect_pieces());
  Reclaimer sweeper = reclaimer_of(turn);
  HF_RETURN_IF_ERROR(
      drop_expired(*expired_, ExpirySweep::Reach::kAll, sweeper, *relocator_, rooms_));
  HF_RETURN_IF_ERROR(sweeper.seal_wasteful_lanes(Reclaimer::Waste::kUseless));
  for (;;) {
    HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
    const std::uint64_t before = table.free_blocks();
    HF_ASSIGN_OR_RETURN(const std::uint64_t freed, pass(turn, kVictimsPerPass, kLeastGain, 0));
    if (freed == 0 || table.free_blocks() <= before) break;
  }
  // Then from the end down, as long as that shortens the files.
  const std::uint64_t per_segment = table.geometry().blocks_per_segment();
  for (std::uint64_t blocks = table.blocks() + 1; table.blocks() < blocks;) {
    blocks = table.blocks();
    HF_RETURN_IF_ERROR(table.trim(kKeepFreeBlocks));
    if (table.free_blocks() < per_segment + kKeepFreeBlocks) break;
    HF_RETURN_IF_ERROR(reclaimer_of(turn).empty_last_segment(0));
    HF_RETURN_IF_ERROR(table.trim(kKeepFreeBlocks));
  }
  HF_RETURN_IF_ERROR(table.trim(kKeepFreeBlocks));
  return {};
}

// Every writer that finds the medium full comes here, outside of latches and guards, and makes room
// in turn. A pass that gained nothing is the last one, so that of many that wait none does so for
// ever; one that finds that another thread's pass freed blocks meanwhile tries with these first.
Result<bool> Maintenance::make_room(RoomSoFar& so_far) {
  const auto begin = std::chrono::steady_clock::now();
  auto made = make_room_now(so_far);
  so_far.freed_blocks = counts_.blocks.load(std::memory_order_acquire);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  rooms_.events.post(StallEvent{spent.count(), made && *made});
  return made;
}

Result<bool> Maintenance::make_room_now(RoomSoFar& so_far) {
  // Called from what update() was given: passes wait for guards, and so for ourselves.
  if (rooms_.inside()) return false;
  constexpr double kLeastGain = 0.02;
  rooms_.end_left_snapshots();
  HF_RETURN_IF_ERROR(HF_MUTANT("K78", settle_all_displaced(), ok_status()));
  const std::uint64_t before =
      so_far.freed_blocks.value_or(counts_.blocks.load(std::memory_order_acquire));
  const Turn turn = hold_off();
  // Others take the blocks that come free one by one: a run of several may find none side by side.
  constexpr unsigned kRounds = 16;
  const bool in_vain = HF_MUTANT("K172", ++so_far.rounds > kRounds, false);
  if (!in_vain && counts_.blocks.load(std::memory_order_acquire) != before) return true;
  HF_RETURN_IF_ERROR(collect_pieces());
  Reclaimer reclaimer = reclaimer_of(turn);
  HF_RETURN_IF_ERROR(
      drop_expired(*expired_, ExpirySweep::Reach::kAllOnce, reclaimer, *relocator_, rooms_));
  constexpr std::array kWaste{Reclaimer::Waste::kUseless, Reclaimer::Waste::kHalfEmpty};
  for (auto waste = kWaste.begin();;) {
    HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
    const PassWatch watch(*this, /*in_caller=*/true);
    auto freed = reclaimer.pass(Reclaimer::Choice::kMostDead, kVictimsPerPass, kLeastGain, 0);
    watch.ended(freed);
    // A damaged record costs its own run only: that one is not tried again, the next pass goes on.
    if (freed.code() == Errc::kCorrupt) return true;
    HF_RETURN_IF_ERROR(std::move(freed));
    if (reclaimer.gained()) {
      if (in_vain) HF_RETURN_IF_ERROR(put_free_blocks_together(reclaimer, so_far));
      return true;
    }
    // What is dead may lie in runs that are open still, and so may room that sessions do not use.
    std::uint64_t sealed = 0;
    while (sealed == 0 && waste != kWaste.end()) {
      HF_ASSIGN_OR_RETURN(sealed, reclaimer.seal_wasteful_lanes(*waste++));
    }
    if (sealed == 0) break;
  }
  HF_ASSIGN_OR_RETURN(const bool longer, put_free_blocks_together(reclaimer, so_far));
  if (longer) return true;
  // Another thread may have made room between the first attempt and `before`.
  const bool unknown = !so_far.freed_blocks.has_value();
  return HF_MUTANT("K166", unknown, false) && rooms_.table.may_have_room();
}

// For a run of several blocks. Segments are emptied from the end down, into what is free before
// them. True: there is a longer stretch of free blocks than before. The passes of make_room() may
// break what was put together, so that alone would go on without end.
Result<bool> Maintenance::put_free_blocks_together(Reclaimer& reclaimer, RoomSoFar& so_far) {
  const BlockTable& table = rooms_.table;
  const std::uint64_t per_segment = table.geometry().blocks_per_segment();
  const std::uint64_t before = table.longest_free();
  for (std::uint64_t segment = table.segments() - 1; segment > 0; --segment) {
    const std::uint64_t begin = segment * per_segment, free = table.free_before(begin);
    if (free < per_segment - (table.free_before(begin + per_segment) - free)) break;
    HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
    const auto emptied = reclaimer.empty_segment(segment, 0);
    if (emptied.code() == Errc::kCorrupt) break;  // Its records stay; others have been moved.
    if (!emptied) return emptied.error();
  }
  const std::uint64_t longest = table.longest_free();
  if (longest > so_far.longest) {
    so_far.longest = longest;
    return longest > before;
  }
  return longest > before && so_far.tries-- != 0;
}

// Where something is held, erases can free nothing either, and are refused in the end.
Error Maintenance::full(Error why) const {
  if (rooms_.versions_held()) why.detail += "; open snapshots hold back what they can see";
  if (const std::uint64_t held = rooms_.mark.held_bytes(); held != 0) {
    why.detail += "; the mark holds " + std::to_string(held) +
                  " bytes: mark() anew, or drop_mark(), lets them go";
  } else if (rooms_.table.pins_held() != 0) {
    why.detail += "; checkpoints or pinned values hold runs until they are let go";
  }
  return why;
}

Status Maintenance::take_back(Sessions& sessions, Lane& lane) {
  const auto mark = [&]() -> Status {
    const Turn turn = hold_off();
    {
      // Only sealed runs have dead bits on the medium.
      const Sessions::Revoked revoked(sessions);
      const Lock latch(lane.latch);
      if (lane.run.open() && lane.run.records != 0) HF_RETURN_IF_ERROR(rooms_.appender.seal(lane));
    }
    HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
    return reclaimer_of(turn).put_all_dead_bits();
  };
  auto marked = mark();
  if (!marked) rooms_.gate.fail_in_doubt(marked.error());
  return marked;
}

Status Maintenance::free_space(SpaceRooms& space) {
  const Turn turn = hold_off();
  Status sealed;
  const auto close = [&](Session& session) {
    if (sealed) sealed = rooms_.appender.close(session.lane);
  };
  space.sessions.for_each(close);
  close(*space.relocator);
  HF_RETURN_IF_ERROR(std::move(sealed));
  // Its records in runs of several spaces: these are looked through when they are sealed.
  const auto seal_if_shared = [&](Lane& lane) -> Status {
    const Lock latch(lane.latch);
    const OpenRun& run = lane.run;
    const bool shared = run.open() && (run.space == kMixedSpaces || run.space == space.id);
    return shared ? rooms_.appender.seal(lane) : ok_status();
  };
  {
    const Sessions::Revoked revoked(rooms_.sessions);
    for (Session* session : revoked.sessions())
      HF_RETURN_IF_ERROR(seal_if_shared(session->lane));
  }
  HF_RETURN_IF_ERROR(seal_if_shared(relocator_->lane));
  HF_RETURN_IF_ERROR(seal_if_shared(rooms_.group.lane()));
  HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
  // All: a batch notes what it superseded with the store's own sessions.
  HF_MUTANT("K54", rooms_.drain_notes(), space.sessions.drain_notes());
  const std::uint16_t id = space.id;  // From retire() on the rooms may be another space's.
  rooms_.spaces.retire(id);
  rooms_.expiry.forget(id);  // A sweep, which asks for rules, waits for our turn.
  HF_RETURN_IF_ERROR(reclaimer_of(turn).free_space(id));
  return HF_MUTANT("K104", PieceCollector(rooms_).sweep(), ok_status());
}

Status Maintenance::settle_for_close() {
  HF_RETURN_IF_ERROR(HF_MUTANT("K77", settle_all_displaced(), ok_status()));
  HF_RETURN_IF_ERROR(collect_pieces());
  Status closed;
  const auto close = [&](Session& session) {
    if (closed) closed = rooms_.appender.close(session.lane);
  };
  rooms_.sessions.for_each(close);
  rooms_.spaces.for_each([&](SpaceRooms& space) {
    space.sessions.for_each(close);
    close(*space.relocator);
  });
  HF_RETURN_IF_ERROR(std::move(closed));
  if (relocator_) HF_RETURN_IF_ERROR(rooms_.appender.close(relocator_->lane));
  {
    const Lock lock(rooms_.group.lane().latch);
    HF_RETURN_IF_ERROR(rooms_.appender.close(rooms_.group.lane()));
  }
  HF_RETURN_IF_ERROR(rooms_.group.finish_sealing());
  HF_RETURN_IF_ERROR(rooms_.group.wait());
  const Turn turn = hold_off();
  Reclaimer reclaimer = reclaimer_of(turn);
  HF_MUTANT("K24", reclaimer.mark_moved_dead(), void());
  return reclaimer.put_all_dead_bits();
}

}  // namespace holdfast::kv
