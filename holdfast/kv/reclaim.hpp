// reclaim.hpp: space that dead records hold comes back.
//
// A pass takes the sealed runs with most dead bytes, moves what is live in them to a run of its
// own, and frees them. docs/kv.md, "Reclamation", argues the order of its steps:
//
//   1  mark the victims, wait until every operation under way has ended: from here on nothing is
//      patched in them, and all their records are published or dead
//   2  put the dead bits of every run that has new ones, one fence: from here on a tombstone that
//      is older than every record in an open run has nothing left to erase
//   3  copy live records and tombstones still needed, one fence per victim, then point the index to
//      the copies, each under its latch, unless it moved on
//   4  wait until no reader can look at the victims (guards, those that a batch being published
//      could still send there, then pins)
//   5  mark them free, one fence; only then can they be allocated
//
// Threads    One at a time (reclaim_mutex_), beside any others.  Fences  2 + one per victim, for
// hundreds of records each.
#pragma once

#include <chrono>

#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

class Reclaimer {
 public:
  explicit Reclaimer(StoreCore& core) : core_(core) {}

  // One pass over at most `victims_limit` runs with at least `least_gain` of their bytes dead.
  // Returns the blocks it freed. Under reclaim_mutex_; the caller is in no guard.
  Result<std::uint64_t> pass(std::size_t victims_limit, double least_gain,
                             std::uint64_t bytes_per_second);
  // Moves what lies in the last segment to free blocks before it, however much of it lives, so that
  // the segment can be given back; seals what sessions that rest have open there. Returns as
  // pass().
  Result<std::uint64_t> empty_last_segment(std::uint64_t bytes_per_second);

  // Dead bits of all sealed runs to the medium, durably when it returns. Under reclaim_mutex_.
  Status put_all_dead_bits();
  // Seals open runs that would be worth a pass: at least a quarter dead, or of a session that no
  // thread has any more. Returns how many. Under reclaim_mutex_.
  Result<std::uint64_t> seal_wasteful_lanes();

  // Whether the passes so far made room: what they freed is more than what their copies took, or at
  // least they left dead bytes behind, so that passes cannot go on like this for ever.
  bool gained() const { return freed_blocks_ > opened_blocks_ || dropped_bytes_ != 0; }

 private:
  std::vector<std::uint64_t> choose(std::size_t limit, double least_gain) const;
  Result<std::uint64_t> evacuate_all(std::vector<std::uint64_t> victims,
                                     std::uint64_t bytes_per_second);
  Status seal_resting_lanes();
  // Records in runs that are open now or opened later are newer than this, or superseded anyway.
  Result<std::uint64_t> tombstone_floor();
  // False: a snapshot was opened meanwhile, so the run stays.
  Result<bool> evacuate(std::uint64_t head, std::uint64_t floor);
  Result<std::uint64_t> free_evacuated();
  void pace(std::chrono::steady_clock::time_point due) const;

  StoreCore& core_;
  std::uint64_t freed_blocks_ = 0, opened_blocks_ = 0, dropped_bytes_ = 0;
  std::uint64_t target_ = kNoBlock;  // Run that took the last copy.
};

}  // namespace holdfast::kv
