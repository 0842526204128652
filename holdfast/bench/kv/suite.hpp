// suite.hpp: `holdfast kv bench`: which stores, which operations, how large, and the result
// document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {

struct KvBenchOptions : Common {
  std::vector<std::string> stores = {"holdfast", "floor", "rocksdb", "lmdb",
                                     "leveldb",  "tbb",   "map"};
  std::vector<unsigned> threads = {1, 2};  // 1 to 256 each.
  // Empty: all of the comparison, or group64 and waiters64 under Promise::kPower.
  std::vector<std::string> ops;
  unsigned repeat = 5;  // 1 to 1,000.
  double seconds = 3;   // Bound on a phase; 0.001 to 3,600.
  // Bound on a phase, threads together; 0: records for reads, a quarter of them for writes.
  std::uint64_t phase_operations = 0;
  std::string suite;  // "" or "paper".
  // For stores that need one where `region` is no path; empty: below /dev/shm.
  std::string peer_directory;
  bool erase_device = false;  // Consent: a device in `region` loses all it holds.
  bool latency = true, startup = true, longest = true;
  bool progress = false;

  // kInvalidOption, naming the option, the value seen and what is allowed.
  Status validate() const;
};

// Runs it. Everything it writes lies below the region's path, and is gone when it returns, also
// after SIGINT. Call while the process has one thread (it forks a helper for open_killed). Errors:
// kInvalidOption, kAlreadyExists (the path holds something), kNoSpace (would not fit), kIo, what
// opening the region says.
Result<BenchResult> run_kv_bench(const KvBenchOptions& options);

// One experiment of a suite: the options with some changed, some stores left out, and a name.
struct Experiment {
  std::string name;  // "sizes 8/8".
  std::string what;  // The figure or section of the paper, and what it varies.
  KvBenchOptions options;
  bool background_reclaim = true;
  unsigned recovery_threads = 0;
};

// Section 5 of the Viper paper, scaled to `base.records` records of 216 bytes. paper.cpp.
std::vector<Experiment> paper_experiments(const KvBenchOptions& base);

}  // namespace holdfast::bench::kv
