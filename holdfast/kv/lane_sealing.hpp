// lane_sealing.hpp: seals open runs, of whichever session, keyspace or reclaimer they are.
//
// Threads    One at a time: under Maintenance's mutex. The caller is in no guard.
#pragma once

#include <cstdint>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

enum class LaneOf : std::uint8_t {
  kSession,    // A thread's, or one that a thread left.
  kGroup,      // Page media: everybody's. Its books are the relocator's.
  kRelocator,  // What reclamation moves, of the store or of a space.
};
// Asked under the lane's latch. `books`: of the session that the lane belongs to.
using LaneChoice = FunctionRef<bool(const Lane& lane, Session& books, LaneOf)>;

// Seals the open runs with records of the lanes that are wanted, and returns how many. On page
// media a sealed run counts as open until syncs have covered its tail
// (GroupCommit::finish_sealing()).
Result<std::uint64_t> seal_lanes(Rooms& rooms, Session& relocator, LaneChoice wanted);

}  // namespace holdfast::kv
