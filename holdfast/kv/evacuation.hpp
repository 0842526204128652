// evacuation.hpp: moves what lives in a run to the reclaiming session's own run. Step 3 of
// reclaimer.hpp, which says what comes before and after.
//
//   copy       live records, versions that snapshots see, and tombstones still needed, as they lie:
//              each is checked against its sum, and the sum is carried over to the new place
//   fence      one per victim
//   publish    the index is pointed to the copies, each under its latch, unless it moved on
//
// Dead records are skipped by their bits: neither they nor their buckets are looked at. Records and
// buckets are asked for ahead.
// Threads    The one that reclaims.
// Errors     kCorrupt, kNoSpace, kIo; what was copied until then is dead, and fenced.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/kv/maintenance.hpp>
#include <holdfast/kv/sealed_run.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

class Evacuation {
 public:
  Evacuation(Rooms& rooms, Session& own, ReclaimCounts& counts)
      : rooms_(rooms), own_(own), counts_(counts), target_(own.lane.run.head) {}

  struct Emptied {
    std::uint64_t dropped_bytes = 0;  // Of its records, what was not copied.
    std::uint64_t opened_blocks = 0;  // For copies.
    double gained_blocks = 0;         // Its own less what the copies take.
  };
  // Nothing in the index leads to the sealed run `head` any more. Tombstones older than `floor` are
  // left behind.
  Result<Emptied> run(std::uint64_t head, std::uint64_t floor);
  // After a run() that failed: what its copies took, and how much of that lies there dead.
  std::uint64_t opened_blocks() const { return opened_blocks_; }
  std::uint64_t wasted_bytes() const { return wasted_bytes_; }

 private:
  struct Move {
    std::uint64_t hash;
    Line from;
    Appended to;
    std::uint16_t space;
    bool erase;
    bool published;  // False: a tombstone, and nothing points to it.
  };

  Status copy_all(const SealedRun& run, std::uint64_t head, std::uint64_t floor);
  Status copy_live(const SealedRun& run, std::uint64_t head, std::uint64_t floor);
  bool is_wanted(const SealedRun& run, std::uint32_t i, Line from, bool moved_before,
                 std::uint64_t floor);
  Status copy(const SealedRun& run, std::uint32_t i, const SumRule& rule, Move& move);
  std::uint64_t publish_all();
  bool publish(const Move& move);
  void discard(const Move& move);
  bool is_live(std::uint16_t space, std::uint64_t hash, Line line);
  // Where the copies of the run under way go: those of a run of one space go to that space's lane.
  Session& target() { return to_ == nullptr ? own_ : *to_->relocator; }
  Appender& appender() { return to_ == nullptr ? rooms_.appender : to_->appender; }
  // Whose books the latches of that space's index go by.
  Session& books_of(std::uint16_t space);

  Rooms& rooms_;
  Session& own_;
  ReclaimCounts& counts_;
  SpaceRooms* to_ = nullptr;         // Null: the store's own keys, or several spaces.
  std::uint64_t target_;             // Run that took the last copy.
  std::uint64_t opened_blocks_ = 0;  // By the present run.
  std::uint64_t wasted_bytes_ = 0;   // By the present run: of copies that nothing leads to.
  std::vector<Move> moves_;          // Of the present run.
};

}  // namespace holdfast::kv
