// What the store does beside its callers: room ahead of them, space back, syncs in time.
#include <holdfast/kv/store_core.hpp>

#include <algorithm>
#include <chrono>

#include <holdfast/kv/reclaim.hpp>

namespace holdfast::kv {
namespace {

constexpr auto kIdleInterval = std::chrono::milliseconds(50);
constexpr std::size_t kVictimsPerPass = 16;

// The dead share above which a run is worth moving, for a given goal: half the average that the
// goal allows, so that the goal can be reached whatever the spread.
double least_gain(double space_amplification) { return (1 - 1 / space_amplification) / 2; }

}  // namespace

void StoreCore::start_background() {
  relocator_ = std::make_unique<Session>();
  relocator_->participant = epochs_.join();
  if (options_.background) background_ = std::thread([this] { background_loop(); });
}

void StoreCore::stop_background() {
  reclaim_waiters_.fetch_add(1,
                             std::memory_order_relaxed);  // For good: what it has begun ends soon.
  {
    const std::lock_guard lock(background_mutex_);
    background_stop_ = true;
  }
  background_wake_.notify_all();
  if (background_.joinable()) background_.join();
}

void StoreCore::background_loop() {
  auto interval = kIdleInterval;
  if (medium_.paged() && options_.sync_interval_ms != 0) {
    interval = std::min(interval, std::chrono::milliseconds(options_.sync_interval_ms));
  }
  auto last_sync = std::chrono::steady_clock::now();
  std::unique_lock lock(background_mutex_);
  while (!background_stop_) {
    background_wake_.wait_for(lock, interval, [&] {
      return background_stop_ || background_wanted_.load(std::memory_order_relaxed);
    });
    if (background_stop_) break;
    background_wanted_.store(false, std::memory_order_relaxed);
    lock.unlock();
    maintain();
    const auto now = std::chrono::steady_clock::now();
    if (medium_.paged() && options_.sync_interval_ms != 0 &&
        now - last_sync >= std::chrono::milliseconds(options_.sync_interval_ms)) {
      last_sync = now;
      if (unsynced_.load(std::memory_order_acquire))
        (void)sync();  // A failure has made the store read-only.
    }
    lock.lock();
  }
}

bool StoreCore::wants_reclaim(const BlockTable::Totals& totals) const {
  // Open runs, the one under relocation and the reserve are no waste that moving records could
  // mend.
  const double slack = static_cast<double>((totals.open_blocks + 4) * geometry_.block_bytes);
  return static_cast<double>(totals.used_bytes) >
         options_.reclaim.space_amplification * static_cast<double>(totals.live_bytes) + slack;
}

void StoreCore::maintain() {
  if (!writable_.load(std::memory_order_acquire)) return;
  index_->take_memory();
  const std::uint64_t ahead = geometry_.blocks_per_segment();
  if (options_.reclaim.background) {
    const std::lock_guard lock(reclaim_mutex_);
    while (wants_reclaim(table_.totals())) {
      const std::uint64_t free_before = table_.free_blocks();
      const std::uint64_t sequence_before = next_sequence_.load(std::memory_order_relaxed);
      auto freed =
          Reclaimer(*this).pass(kVictimsPerPass, least_gain(options_.reclaim.space_amplification),
                                options_.reclaim.bytes_per_second);
      if (!freed) {
        if (freed.code() == Errc::kIo) fail(freed.error());
        break;
      }
      if (*freed == 0) break;
      // What it moved took as much as it freed, and no writer took any: another pass would do the
      // same.
      if (table_.free_blocks() <= free_before &&
          next_sequence_.load(std::memory_order_relaxed) == sequence_before)
        break;
      const std::lock_guard stop(background_mutex_);
      if (background_stop_) return;
      if (reclaim_waiters_.load(std::memory_order_relaxed) != 0) break;  // Their turn.
      if (table_.free_blocks() < ahead / 2) break;                       // Growing cannot wait.
    }
  }
  // A segment ahead of the writers, so that none of them waits for the file system.
  if (table_.free_blocks() < ahead) {
    if (auto grown = table_.grow_by_segment(table_.blocks()); !grown && grown.code() == Errc::kIo)
      fail(grown.error());
  }
  // What the user asked for at open stays.
  const std::uint64_t keep =
      (options_.initial_bytes + geometry_.segment_bytes - 1) / geometry_.segment_bytes;
  if (table_.free_blocks() > 3 * ahead && table_.blocks() > keep * ahead) {
    // verify() reads words of blocks that must stay while it does.
    const std::lock_guard lock(reclaim_mutex_);
    if (auto trimmed = table_.trim(2 * ahead, std::max<std::uint64_t>(keep, 1)); !trimmed)
      return fail(trimmed.error());
    // What lies at the end keeps the files from shrinking: it moves to where there is room.
    if (!options_.reclaim.background || table_.free_blocks() <= 3 * ahead) return;
    if (auto moved = Reclaimer(*this).empty_last_segment(options_.reclaim.bytes_per_second);
        !moved) {
      if (moved.code() == Errc::kIo) fail(moved.error());
    } else if (auto trimmed = table_.trim(2 * ahead, std::max<std::uint64_t>(keep, 1)); !trimmed) {
      fail(trimmed.error());
    }
  }
}

Error StoreCore::take_back(Session& session, Error why) {
  session.undone = false;
  const auto mark = [&]() -> Status {
    const auto lock = lock_reclamation();
    {
      // Only sealed runs have dead bits on the medium.
      Lane& lane = lane_of(session);
      const std::lock_guard latch(lane.latch);
      if (!lane.entries.empty()) HF_RETURN_IF_ERROR(seal(session, lane));
    }
    while (medium_.paged() && sealing())
      HF_RETURN_IF_ERROR(sync());
    return Reclaimer(*this).put_all_dead_bits();
  };
  auto marked = mark();
  if (marked) return why;
  fail_in_doubt(marked.error());
  return std::move(marked).error();
}

// ---- A full medium ----

// Everybody who finds it full comes here, outside of latches and guards, and makes room in turn. A
// pass that gained nothing is the last one, so that of many who wait none does so for ever; whoever
// finds that another thread's pass freed blocks meanwhile tries with these first.
Result<bool> StoreCore::reclaim_some() {
  // Called from what update() was given: passes wait for guards, and so for ourselves.
  if (session().participant.inside()) return false;
  constexpr double kLeastGain = 0.02;
  const std::uint64_t before = reclaimed_blocks_.load(std::memory_order_acquire);
  const auto lock = lock_reclamation();
  if (reclaimed_blocks_.load(std::memory_order_acquire) != before) return true;
  Reclaimer reclaimer(*this);
  for (bool last = false;; last = true) {
    while (medium_.paged() && sealing())
      HF_RETURN_IF_ERROR(sync());
    auto freed = reclaimer.pass(kVictimsPerPass, kLeastGain, 0);
    // A damaged record costs its own run only: that one is not tried again, the next pass goes on.
    if (freed.code() == Errc::kCorrupt) return true;
    HF_RETURN_IF_ERROR(std::move(freed));
    if (reclaimer.gained()) return true;
    // What is dead may lie in runs that are open still.
    if (last) return false;
    HF_ASSIGN_OR_RETURN(const std::uint64_t sealed, reclaimer.seal_wasteful_lanes());
    if (sealed == 0) return false;
  }
}

Error StoreCore::full(Error why) const {
  if (versions_held_.load(std::memory_order_acquire) != 0)
    why.detail += "; open snapshots hold back what is dead";
  return why;
}

Status StoreCore::reclaim() {
  HF_RETURN_IF_ERROR(check_write(Durability::kProcess));
  const auto lock = lock_reclamation();
  constexpr double kLeastGain = 0.05;
  for (;;) {
    // On page regions a run counts as sealed only when syncs have covered it.
    while (medium_.paged() && sealing())
      HF_RETURN_IF_ERROR(sync());
    const std::uint64_t before = table_.free_blocks();
    HF_ASSIGN_OR_RETURN(const std::uint64_t freed,
                        Reclaimer(*this).pass(kVictimsPerPass, kLeastGain, 0));
    if (freed == 0 || table_.free_blocks() <= before) break;
  }
  // Then from the end down, as long as that shortens the files.
  for (std::uint64_t blocks = table_.blocks() + 1; table_.blocks() < blocks;) {
    blocks = table_.blocks();
    HF_ASSIGN_OR_RETURN([[maybe_unused]] const std::uint64_t trimmed, table_.trim(4));
    if (table_.free_blocks() < geometry_.blocks_per_segment() + 4) break;
    HF_ASSIGN_OR_RETURN([[maybe_unused]] const std::uint64_t moved,
                        Reclaimer(*this).empty_last_segment(0));
    HF_ASSIGN_OR_RETURN([[maybe_unused]] const std::uint64_t more, table_.trim(4));
  }
  HF_ASSIGN_OR_RETURN([[maybe_unused]] const std::uint64_t trimmed, table_.trim(4));
  return {};
}

}  // namespace holdfast::kv
