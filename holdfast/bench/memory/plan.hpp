// plan.hpp: from workload files and a command's options to the list of runs, before anything is
// measured. Whatever cannot be run here is found out now.
//
// --scale auto fits a file to the machine: threads are cut to the CPUs, ranges to an eighth of the
// available memory (but not below four times the last-level cache), what then is the same twice is
// run once, what needs a socket that is not there is left out with a note, and every repetition
// ends by time. So one file serves a laptop and a two-socket server.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/bench/memory/machine.hpp>
#include <holdfast/bench/memory/tier.hpp>
#include <holdfast/bench/memory/workload_file.hpp>
#include <holdfast/results/result.hpp>
#include <holdfast/yaml/diagnostics.hpp>

namespace holdfast::bench::memory {

struct RunOptions {
  std::string path;    // A workload file or a directory of them.
  std::string target;  // What region "target" is; empty: none was given.
  std::vector<std::pair<std::string, std::string>> regions;  // Name and spec; over those of files.
  bool erase_device = false;
  std::vector<std::string> filters;  // Empty: all.
  bool scale_auto = false;
  double time_budget_s = 0;  // 0: none.
  std::uint64_t seed = 1;
  unsigned repetitions = 6;  // The fewest whose range covers the median with 95 %.
  bool list_only = false;    // What there is, whether or not this machine could run it.
  bool floor = false;
  bool again = false;  // A/A: everything twice, interleaved.
  bool use_numa = true;
  std::vector<int> numa_nodes;  // Not empty: threads run on these.
  std::string limits_path;  // Not empty: a result whose calibration also limits what is believed;
  results::Fields limits;   // this one.
};

struct PlannedPart {
  const Part* part = nullptr;
  const Variant* variant = nullptr;
  Config config;  // With bytes in its ranges, fitted to the machine.
  bool uses_target = false, uses_dram = false;
  // Its accesses are shared between two ranges (dram_operation_ratio): rows name both even where
  // all go to one of them, so that the shares are points of one line.
  bool shared = false;
  TierNeed target, dram;
};

struct PlannedRun {
  const Benchmark* benchmark = nullptr;
  std::vector<PlannedPart> parts;
  std::string label;  // "random_reads number_threads=2 access_size=64"
  unsigned repetitions = 0;
  double seconds_max = 0;  // Of a repetition; 0: as the file says.
};

// The least time of a repetition, however small a budget is.
inline constexpr double kSecondsMin = 0.02;

struct Plan {
  Workloads workloads;
  std::vector<PlannedRun> runs;
  std::vector<std::string> notes;     // What --scale auto changed or left out.
  double seconds_per_repetition = 0;  // 0: as the files say.
};

// Mistakes are added to the diagnostics; the plan is then not to be run.
Plan make_plan(const RunOptions& options, const Machine& machine, yaml::Diagnostics& diagnostics);

// For --list and --dry-run.
std::string list_text(const Plan& plan);
std::string dry_run_text(const Plan& plan);

// How long a run will take about, preparation included.
double estimated_seconds(const PlannedRun& run, const RunOptions& options);

// What an execution may take of a budget of which `left_s` are left for `executions`, where each
// needs `beside_s` beside what is timed: from kSecondsMin to what was planned.
double seconds_within(double left_s, double executions, double beside_s, double planned_s);

}  // namespace holdfast::bench::memory
