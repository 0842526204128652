// pace.hpp: how fast writers may open runs, so that the medium in use keeps to its goal.
//
//   limit = goal * live + 10 blocks + the open runs       what is promised of used_bytes
//   zone  = 8 blocks + (goal - 1) * live / 32             below the limit; begins at `start`
//   p     = (used - start) / zone                         where the store stands
//
// From p = 0 on the store reclaims. With t, the time that reclamation took of late to gain a block,
// writers together may open a run every t * p / (1 - p), at most every 4 * t. So in the middle of
// the zone they take blocks as fast as they come back, and near its end more slowly: used_bytes
// falls again. A writer that comes too early asks for a pass, and sleeps until its time has come.
// At p >= 1 (the reclaiming thread got no CPU) it sleeps on until a pass has ended since it came.
//
// What lives may be less at once: many records were erased, or a snapshot was closed. Then `used`
// lies far above the limit without anybody having taken more. Writers are not stopped for it. Until
// reclamation has brought `used` below the limit, the writers' limit lies a quarter of a zone above
// the least that was in use since (p = 0.75 there). So they go on, and `used` falls all the time.
//
// A pass may gain nothing: a pin keeps what it emptied. Pauses by the rate of reclamation would not
// help then. Until the next pass ends, writers may take half a zone more than was in use; a writer
// that wants more sleeps until that pass has ended.
//
// Erases do not pause. The run of tombstones that they open raises the writers' limit with it.
//
// Guarantee  A pause ends by the clock at the latest: after 8 ms, beyond the limit 100,
//            but 8 where the last pass gained nothing. No writer pauses inside a guard or with a
//            latch, so no pass waits for a writer that pauses.
// Threads    Any; begin_pass() and end_pass() by the reclaiming thread.
// Limits     No pauses without reclamation in the background.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/options.hpp>

namespace holdfast::kv {

class Pace {
 public:
  static constexpr int kSegmentsAhead = 4;  // At most.

  Pace(const BlockTable& table, const StoreOptions& options);

  // p, by the writers' limit: 0 or less below the zone, 1 at it. O(1).
  double position() const;
  // By the goal alone.
  bool wants_reclaim() const;
  // Runs that a pass may empty before it frees them: their copies take half of the zone.
  std::uint64_t runs_per_pass() const;
  // Free blocks to have ahead of the writers: all that they may take before they are slowed, but
  // no more than a segment; while the store fills up to 4 of them, or what 32 MiB hold of those.
  std::uint64_t blocks_ahead() const;

  // Whether a writer that is about to open a run has to come again after a pause().
  bool wants_pause() const;
  void pause(std::uint64_t blocks);  // For a run of so many; in no guard, and nothing is held.
  // A run of so many blocks is opened for tombstones.
  void go_on(std::uint64_t blocks);

  void begin_pass();
  // Part of the pass went by for the sake of a rate limit.
  void rested(std::chrono::nanoseconds time);
  // `blocks`: what it freed less what its copies took.
  void end_pass(double blocks);
  // Blocks in use that reclamation has emptied and cannot free: pinned.
  void set_held(std::uint64_t blocks) { held_.store(blocks, std::memory_order_relaxed); }

 private:
  struct Levels {
    double used, start, limit;  // Bytes.
  };
  Levels levels() const;  // By the goal.
  double position_at(const Levels& at) const {
    return (at.used - at.start) / (at.limit - at.start);
  }
  std::uint64_t ns_per_block(std::uint64_t now_ns) const;
  void wait_for_a_pass(std::uint64_t until_ns) const;

  const BlockTable& table_;
  const double goal_;
  const bool on_;
  // 0: the last pass gained nothing. Before the first one: a guess.
  std::atomic<std::uint64_t> ns_per_block_{100'000};
  std::atomic<std::uint64_t> began_ns_{0};  // The pass under way; 0: none is.
  std::atomic<std::uint64_t> passes_{0};    // That have ended.
  std::atomic<std::uint64_t> next_ns_{0};   // When the next run may be opened.
  std::atomic<std::uint64_t> held_{0};
  // The least bytes in use since they exceeded the limit, as passes began; 0: they do not.
  std::atomic<std::uint64_t> least_{0};
  // Bytes in use when the last pass ended, if it gained nothing; else 0.
  std::atomic<std::uint64_t> in_vain_{0};
};

}  // namespace holdfast::kv
