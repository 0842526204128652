// run.hpp: a plan becomes a result document.
//
//   calibrate                                two seconds: this machine's limits
//   for each run of the plan
//     open and fill its memory, if it is not there yet
//     for each repetition
//       ours, the floor, ours again          in rotated order, so that a mood of the machine hits
//       all
//     rows: medians, intervals, spread, warnings, and INVALID beyond the limits
//
// On SIGINT (interrupt_on_signals) the repetition under way is dropped; rows hold what was
// complete.
#pragma once

#include <functional>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/bench/memory/plan.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench::memory {

struct RunProgress {
  std::size_t run = 0;  // From 1.
  std::size_t runs = 0;
  std::string label;        // Empty: calibrating.
  unsigned repetition = 0;  // From 1.
  unsigned repetitions = 0;
  double seconds_left = 0;
};

struct RunOutcome {
  results::Document document;
  bool trustworthy = true;  // No row is invalid.
  bool interrupted = false;
  unsigned again_within_3_percent = 0, again_rows = 0;  // With RunOptions::again.
};

// Errors: of opening memory (tier.hpp); nothing was measured then.
Result<RunOutcome> run(const Plan& plan, const RunOptions& options, const Machine& machine,
                       const std::function<void(const RunProgress&)>& progress);

}  // namespace holdfast::bench::memory
