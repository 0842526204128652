// reclaimer.hpp: frees the space of dead records.
//
// A pass takes the sealed runs with most dead bytes, moves what is live in them to a run of its
// own, and frees them. docs/kv_arguments.md, "Reclamation", argues the order of its steps:
//
//   1  mark the victims, wait until every operation under way has ended: from here on nothing is
//      patched in them, and all their records are published or noted as dead
//   2  put the dead bits of every run that has new ones, one fence: from here on a tombstone that
//      is older than every record in an open run has nothing left to erase
//   3  copy live records, versions that snapshots see, and tombstones still needed, one fence per
//      victim; then point the index to the copies, each under its latch, unless it moved on
//   4  wait until no reader can look at the victims (guards, those that a batch being published
//      could still send there, then pins)
//   5  mark them free, one fence; only then can they be allocated
//
// Threads    One at a time (Maintenance's mutex), beside any others; the caller is in no guard.
// Fences     2 + one per victim, for hundreds of records each.
#pragma once

#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/kv/maintenance.hpp>
#include <holdfast/kv/sealed_run.hpp>

namespace holdfast::kv {

// The dead bits of a run by ordinal, as its medium is to have them.
std::vector<std::uint64_t> dead_bits_of(const BlockTable& table, const SealedRun& run);

class Reclaimer {
 public:
  // `own`: the session whose lane takes the copies. `evacuated`: runs that wait to be freed, kept
  // from pass to pass.
  Reclaimer(Rooms& rooms, Session& own, std::vector<std::uint64_t>& evacuated,
            ReclaimCounts& counts, const std::atomic<std::uint32_t>& waiters)
      : rooms_(rooms), own_(own), evacuated_(evacuated), counts_(counts), waiters_(waiters) {}

  enum class Choice {
    kMostDead,  // Room at once.
    // Least copying in the long run: dead bytes over what is read and copied for them, times the
    // root of the run's age. Records of a young run may soon die, and then need no copy. Such a
    // pass ends after its present run when a checkpoint waits for it, or a verb of a full store.
    kWorthMost,
  };
  // One pass over at most `victims_limit` runs with at least `least_gain` of their bytes dead.
  // Returns the blocks it freed.
  Result<std::uint64_t> pass(Choice choice, std::size_t victims_limit, double least_gain,
                             std::uint64_t bytes_per_second);
  // Moves what lies in a segment to the first free blocks, however much of it lives. If enough
  // blocks before the segment are free, it is empty afterwards. Seals runs there that resting
  // sessions have open. Returns as pass().
  Result<std::uint64_t> empty_segment(std::uint64_t segment, std::uint64_t bytes_per_second);
  Result<std::uint64_t> empty_last_segment(std::uint64_t bytes_per_second) {
    return empty_segment(rooms_.table.segments() - 1, bytes_per_second);
  }

  // Returns a sequence: records in runs that are open now or opened later are newer, or superseded
  // anyway. Seals runs of lanes that rest.
  Result<std::uint64_t> tombstone_floor();
  // Dead bits of all sealed runs to the medium, durably when it returns.
  Status put_all_dead_bits();
  enum class Waste {
    kUseless,    // At least a quarter is dead, or the session is no thread's any more.
    kHalfEmpty,  // That, or a session has written less than half: it takes another block later.
    kAge,        // Each: what is younger may not go before it is sealed.
  };
  // Seals open runs that would be worth a pass. Returns how many.
  Result<std::uint64_t> seal_wasteful_lanes(Waste waste);
  // Frees all runs of a keyspace that was dropped, without a look at their records. Its records in
  // runs of several spaces are dead.
  Status free_space(std::uint16_t space);
  // Sets dead bits of records that were moved out of runs that are not free yet (a pin kept them).
  // The next process does not know of the moves: without the bits it could drop a tombstone while
  // the original can still come back. Called at a close, when the copies are durable.
  void mark_moved_dead();

  // Whether the passes so far made room: they freed more than their copies took, or at least
  // dropped dead bytes, so passes cannot go on like this without end. Dead bytes that passes made
  // themselves, when they found no room for all of a run, do not count.
  bool gained() const { return freed_blocks_ > opened_blocks_ || dropped_bytes_ != 0; }
  // What the passes freed less what their copies took, by bytes.
  double gained_blocks() const { return gained_blocks_; }

 private:
  std::vector<std::uint64_t> choose(Choice choice, std::size_t limit, double least_gain) const;
  // Whether there is room for what lives in the run. A run that is begun without room leaves copies
  // that nothing leads to, again with each pass. O(1) while the store may grow; of a full one
  // O(records) and, where one of them is larger than a block, O(blocks).
  bool fits(std::uint64_t head) const;
  // `gives_way`: behind each run, it lets waiting threads go first.
  Result<std::uint64_t> evacuate_all(std::vector<std::uint64_t> victims,
                                     std::uint64_t bytes_per_second, bool gives_way);
  Status settle_displaced(std::span<const std::uint64_t> victims);
  Result<std::uint64_t> floor_of(std::span<const std::uint64_t> victims);
  using DeadBits = std::pair<std::uint64_t, std::vector<std::uint64_t>>;  // Of a run, by its head.
  Status put_dead_bits(std::span<const DeadBits> dead);
  Status seal_resting_lanes();
  Result<std::uint64_t> free_evacuated();
  void mark_copied_dead();
  void forget_versions(std::uint64_t head);
  void pace(std::chrono::steady_clock::time_point due) const;
  template <class Visit>
  void for_each_sealed_run(Visit&& visit) const;

  Rooms& rooms_;
  Session& own_;
  std::vector<std::uint64_t>& evacuated_;
  ReclaimCounts& counts_;
  const std::atomic<std::uint32_t>& waiters_;
  std::uint64_t freed_blocks_ = 0, opened_blocks_ = 0, dropped_bytes_ = 0;
  double gained_blocks_ = 0;
};

}  // namespace holdfast::kv
