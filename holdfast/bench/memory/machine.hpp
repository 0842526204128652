// machine.hpp: what of this machine decides how a benchmark runs: CPUs by NUMA node, free memory,
// and the limits that no result can exceed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/bench/calibration.hpp>
#include <holdfast/bench/memory/config.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench::memory {

// A range of so many last-level caches is beyond them: three of four accesses miss at least.
inline constexpr std::uint64_t kCachesInRange = 4;

struct MachineNode {
  int id = 0;
  std::vector<int> cpus;       // That this process may use; none: memory only.
  std::vector<int> distances;  // To each node of Machine::nodes; 10 is local.
};

struct Machine {
  std::vector<int> cpus;  // That this process may use.
  std::vector<MachineNode> nodes;
  std::uint64_t available_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;

  static Machine read();
  const MachineNode* node(int id) const;
  // CPUs from which memory of node `home` is near (distance below 20, or the nearest there are), or
  // far. `home` -1: unknown, all CPUs are near.
  std::vector<int> cpus_for(int home, NumaPattern pattern) const;
  // Whether some memory has CPUs that are far.
  bool has_far() const;
};

// What this machine can do at most, found in about two seconds: calibration.hpp for one thread, and
// all CPUs together reading, writing past the caches, and writing through them.
struct MachineLimits {
  Limits one_thread;
  double read_bytes_per_s = 0;   // All CPUs, from memory.
  double write_bytes_per_s = 0;  // All CPUs, non-temporal.
  double store_bytes_per_s = 0;  // All CPUs, through the caches.
  double clock_overhead_ns = 0;
  double seconds = 0;
  results::Fields fields() const;
  // Takes what was better of each limit and a second search's: a disturbed one finds too little.
  void loosen(const MachineLimits& other) {
    merge(other.fields(), false);
    seconds += other.seconds;
  }
  // Takes the stricter of each limit and what `fields`, the calibration of another result, has
  // under its name. Returns how many names it knew: 0 is no calibration of `bench run`.
  unsigned tighten(const results::Fields& fields) { return merge(fields, true); }

 private:
  unsigned merge(const results::Fields& fields, bool stricter);
};
// `specs`: regions in memory of the system that will be measured; the fastest of them and of "dram"
// sets the limit.
MachineLimits find_limits(const Machine& machine, std::vector<std::string> specs);

// Calls row.invalidate() if the row claims more than the limits with the slack of a half for
// clocks and neighbours allow. `reads` and `writes` are its bytes per second; `beyond_cache`: the
// accesses spread over so much that caches hold less than a quarter of them.
void judge(results::Row& row, const MachineLimits& limits, const Machine& machine, double reads,
           double writes, bool beyond_cache);

}  // namespace holdfast::bench::memory
