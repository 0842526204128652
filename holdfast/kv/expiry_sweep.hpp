// expiry_sweep.hpp: what has expired leaves the indexes and becomes dead, so that reclamation gets
// its bytes back as those of any dead record, and copies none of them. docs/expiry.md argues it.
//
// A record that expired stands in for a tombstone: after a crash it hides the older records of its
// key. So it goes as tombstones do (reclaimer.hpp): when no record of an open run is older, and the
// dead bits of all sealed runs are durable. And as behind an erase, the horizon keeps out what a
// writer drew before.
//
//   1  read the runs that are due: which of their records have expired
//   2  wait until every operation under way has ended: what these superseded is noted as dead
//   3  put the dead bits of all runs, one fence
//   4  each under its latch, if the index still leads to it: out of the index, and dead
//
// A run is due when half of what it has of records that can expire will have: it is read O(log n)
// times in its life.
//
// Threads    One at a time (Maintenance's mutex), beside any others; the caller is in no guard.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <holdfast/kv/reclaimer.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

class ExpirySweep {
 public:
  explicit ExpirySweep(Rooms& rooms) : rooms_(rooms) {}

  enum class Reach {
    kDue,  // Some runs, of those that are due, where an eighth of the bytes has expired.
    kAll,
    kAllOnce,  // All of them, unless that was done at this clock and nothing had to stay.
  };
  // True: there is more to read. `own`: the reclaimer's session. Errors: kIo, those of sealing.
  Result<bool> run(Reach reach, Reclaimer& reclaimer, Session& own);
  // Something that has expired had to stay: it is not older than all that open runs hold, a
  // snapshot may see it, or a sweep failed.
  bool holds_back() const { return holds_back_; }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Look {
    std::uint64_t generation = 0;
    std::uint64_t due = 0;  // By the clock.
  };
  struct Expired {
    std::uint64_t head, hash, sequence;
    Line line;
  };

  // Adds what has expired in a run; says when it is due again.
  Status look_at(std::uint64_t head, bool all, std::vector<Expired>& expired);
  bool drop(const Expired& expired, Session& own);
  bool versions_held() const;

  Rooms& rooms_;
  std::uint64_t clock_ = 0;      // Of the present sweep.
  std::uint64_t round_ = 0;      // When it, or one of those that it goes on from, began at block 0.
  std::uint64_t swept_ = 0;      // At this clock all runs that were due were read ...
  std::uint64_t swept_all_ = 0;  // ... and at this one all.
  bool holds_back_ = false;
  std::uint64_t next_ = 0;                         // The block where the next sweep goes on.
  std::unordered_map<std::uint64_t, Look> looks_;  // By the run's head.
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace holdfast::kv
