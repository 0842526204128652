// maintenance.hpp: what a store does beside its callers: room ahead of them, space back, syncs in
// time; and what it does for a caller that finds the medium full.
//
// Threads    start() and stop() by the store's owner; the rest by any. One reclaims at a time.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/background_pool.hpp>
#include <holdfast/kv/crew.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

class ExpirySweep;
class Reclaimer;

struct ReclaimCounts {
  std::atomic<std::uint64_t> blocks{0}, relocated_bytes{0}, tombstones_dropped{0};
  // Bytes of copies that passes made in vain, for want of room, and that none has dropped since.
  // Only the holder of the turn uses it.
  std::uint64_t wasted_bytes = 0;
};

class Maintenance {
 public:
  explicit Maintenance(Rooms& rooms);
  ~Maintenance();
  Maintenance(const Maintenance&) = delete;

  // Errors: kNoSpace (no thread), kInvalidOption (a pool of another process).
  Status start();
  void stop();
  // One round of the background's work.
  void maintain();

  // Reclaims in the caller until what is in use is near live data.
  Status reclaim();
  // Room in a full medium, by a pass in the caller or by one that another thread made meanwhile.
  // The caller is in no guard. False: what is in use lives, or is held by snapshots and pins.
  // `so_far`: of the operation that it is made for, which comes again where it was not enough.
  struct RoomSoFar {
    std::optional<std::uint64_t> freed_blocks;  // By all, before its last attempt, but the first.
    unsigned rounds = 0;
    std::uint64_t longest = 0;  // Of free blocks side by side, the most that there were.
    unsigned tries = 16;        // Other threads may take what was put together.
  };
  Result<bool> make_room(RoomSoFar& so_far);
  Error full(Error why) const;
  // What a session of these appended and disowned becomes durably dead. `lane`: the session's.
  Status take_back(Sessions& sessions, Lane& lane);
  // Frees the runs of a space that was dropped durably and of which no verb is under way, with one
  // order of the medium for all. O(runs). Runs with pinned values stay until these go.
  Status free_space(SpaceRooms& space);
  // Sealing, dead bits and marks of a close in order, before the index image.
  Status settle_for_close();

  // While it lives nobody else reclaims. What reclaims takes one, so that it cannot be forgotten:
  // clang cannot follow a lock that a function returns.
  class [[nodiscard]] Turn {
    friend class Maintenance;
    explicit Turn(Mutex& mutex) : lock_(mutex) {}
    std::unique_lock<Mutex> lock_;
  };
  // Keeps reclamation out, before the background's next pass; a limit on its rate does not hold up
  // the present one.
  Turn hold_off();
  // The same for the background: threads that wait in hold_off() come first.
  Turn after_waiters();
  const ReclaimCounts& counts() const { return counts_; }
  std::uint64_t expired_records() const;  // That reclamation has come upon.
  Session& own_session() { return *relocator_; }
  // A pass over at most `victims` runs, those with most dead bytes.
  Result<std::uint64_t> pass(const Turn& turn, std::size_t victims, double least_gain,
                             std::uint64_t bytes_per_second);
  // Threads that wait are not kept waiting by a rate limit: one more.
  void hurry() { waiters_.fetch_add(1, std::memory_order_relaxed); }

 private:
  class PassWatch;  // Tells the listener of a pass.
  Reclaimer reclaimer_of(const Turn& turn);
  // Passes until the medium in use is below its zone (pace.hpp) or nothing is gained. True: it left
  // off for the sake of growth, and wants to go on.
  bool reclaim_in_background();
  Result<bool> make_room_now(RoomSoFar& so_far);
  Result<bool> put_free_blocks_together(Reclaimer& reclaimer, RoomSoFar& so_far);
  // True: there is more to sweep.
  bool sweep_in_background();
  // True: there is more to settle.
  bool settle_in_background();
  void collect_in_background();
  Status settle_all_displaced();
  Status collect_pieces();
  void grow_ahead();
  bool shrink();

  Rooms& rooms_;
  std::unique_ptr<Session> relocator_;  // Its lane takes what reclamation moves.
  Mutex mutex_;                         // A Turn's.
  std::atomic<std::uint32_t> waiters_{0};
  std::vector<std::uint64_t> evacuated_;  // Of reclaimer_of(). Runs that were moved, not free yet.
  ReclaimCounts counts_;
  std::unique_ptr<ExpirySweep> expired_;
  std::uint64_t last_sequence_ = 0;  // Of the background's last round.
  std::shared_ptr<BackgroundPool> pool_;
  Crew::Job* upkeep_ = nullptr;  // maintain(), by the pool.
  Crew::Job* syncs_ = nullptr;   // Bounds the age of data on page media.
};

}  // namespace holdfast::kv
