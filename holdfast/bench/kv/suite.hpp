// suite.hpp: `holdfast kv bench`: which stores, which operations, how large, and the result
// document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/result.hpp>

namespace holdfast::bench::kv {

struct KvBenchOptions {
  std::vector<std::string> stores = {"holdfast", "floor", "rocksdb", "lmdb",
                                     "leveldb",  "tbb",   "map"};
  std::uint64_t records = 10'000'000;  // 1,000 to 2^31.
  Shape shape;
  std::vector<unsigned> threads = {1, 2};  // 1 to 256 each.
  std::vector<std::string>
      ops;  // Empty: all of the comparison, or group64 and waiters64 under Promise::kPower.
  std::string region;  // A path that does not exist or is empty, dram, node:N, /dev/daxX.Y; options
                       // as in region.hpp.
  unsigned repeat = 5;  // 1 to 1,000.
  unsigned batch = 16;  // 1 to 4,096.
  double seconds = 3;   // Bound on a phase; 0.001 to 3,600.
  std::uint64_t phase_operations =
      0;  // Bound on a phase, threads together; 0: records for reads, a quarter of them for writes.
  Promise promise = Promise::kDefault;
  Distribution distribution = Distribution::kUniform;  // Of reads, overwrites and YCSB A, B, C, F.
  std::string suite;                                   // "" or "paper".
  std::string
      peer_directory;  // For stores that need one where `region` is no path; empty: below /dev/shm.
  bool erase_device = false;  // Consent: a device in `region` loses all it holds.
  double space_goal = 1.25;   // ReclaimOptions.space_amplification of our own store; 1.05 to 10.
  // Limit that the caller has put this process under (memory_limit.hpp): at least 128 MiB, and the
  // region lies on a disk. 0: none. Rows then tell what they asked of the device.
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t seed = 1;
  bool latency = true, startup = true, longest = true;
  bool progress = false;

  // kInvalidOption, naming the option, the value seen and what is allowed.
  Status validate() const;
};

struct KvBenchResult {
  Document document;
  bool trustworthy = true;  // All rows valid.
  bool interrupted = false;
};

// Runs it. Everything it writes lies below the region's path, and is gone when it returns, also
// after SIGINT. Call while the process has one thread (it forks a helper for open_killed). Errors:
// kInvalidOption, kAlreadyExists (the path holds something), kNoSpace (would not fit), kIo, what
// opening the region says.
Result<KvBenchResult> run_kv_bench(const KvBenchOptions& options);

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
