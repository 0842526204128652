// rest.hpp: waits until a store's own threads have nothing left to do.
//
// A phase must not pay for the one before it: reclamation of what was overwritten goes on behind an
// overwrite, and would take CPU, memory traffic and latches from the next phase. No call of
// kv::Store says "at rest", so two signs have to agree: the counters of background work stand
// still, and the process uses no CPU beside this thread. The CPU alone would be fooled by a
// busy machine, on which the background thread waits for a CPU; the counters alone by a pass that
// has not finished its first block.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::kv {

struct AtRest {
  // Counters that any background work changes, sooner or later.
  std::function<std::vector<std::uint64_t>()> counters;
  // False: there is known to be work left, so that a longer silence is asked for.
  std::function<bool()> nothing_left;
  double seconds_max = 120;
};

// Returns once the counters stood still and the CPU was idle for 30 ms, or for 200 ms where work is
// left; also when the run is interrupted. Errors: kIo (not at rest after seconds_max).
Status wait_until_at_rest(const AtRest& store);

}  // namespace holdfast::bench::kv
