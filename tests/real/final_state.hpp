// final_state.hpp: decides whether what is found after a crash can be explained.
//
// Given what a store held before, every operation since (when it was invoked, when it was
// acknowledged or that it was not, what it writes), and what the store holds now: is there one
// order of the operations that respects real time (an operation acknowledged before another was
// invoked comes first), contains every acknowledged operation wholly, each unacknowledged one
// wholly or not at all, and ends in what was found?
//
// Exact  yes and no are both right, under two conditions that Workload keeps: a key that an atomic
//        group erases is written by one thread only, and stamps are unique. An erase leaves no
//        stamp, so which of two concurrent ones came last is not known; the first condition makes
//        it irrelevant. Results that operations returned are used only as recorded in `previous`.
// Method A final value names its writer and, through `previous`, its whole chain of updates. All
// other
//        writers of the key must come before that writer. These edges and the intervals have a
//        solution iff the graph has no cycle and no node's earliest time (the maximum of its own
//        invocation and its predecessors' earliest times) is after its acknowledgement.
// Cost   O(effects + edges).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "workload.hpp"

namespace holdfast::real {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct Effect {
  enum class What : std::uint8_t {
    kWrite,   // A put: the record is `stamp` from then on.
    kUpdate,  // update_word(): word 0, which was `previous`, is `stamp` from then on.
    kAbsent,  // An erase, also of nothing, or an update that found nothing: no record at that
              // moment.
  };
  What what = What::kWrite;
  std::uint32_t key = 0;
  Stamp stamp = 0;
  Stamp previous = 0;
};

struct RecordedOperation {
  std::uint64_t invoked_ns = 0;            // Above 0.
  std::uint64_t acknowledged_ns = kNever;  // kNever: in flight when the process died.
  std::vector<Effect> effects;             // All or nothing.
  // put_many: several operations of which a crash keeps a prefix, except keys that another
  // operation wrote meanwhile. The index of the one before, or kNone.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t follows = kNone;
};

using Contents = std::map<std::uint32_t, RecordState>;  // By key; absent keys are not in it.

// One sentence per contradiction found; empty: the state is explained.
std::vector<std::string> contradictions(const Contents& before,
                                        std::vector<RecordedOperation> operations,
                                        const Contents& found);

}  // namespace holdfast::real
