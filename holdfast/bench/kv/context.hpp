// context.hpp: what all stores of one comparison have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <holdfast/bench/kv/workload.hpp>

namespace holdfast::bench::kv {

enum class Promise : std::uint8_t {
  kDefault,  // What the medium gives an operation without a system call; peers write without sync.
  kProcess,
  kPower,  // Every operation, or batch, is durable against power loss when it returns; peers sync.
};

enum class Distribution : std::uint8_t { kUniform, kZipfian };

struct Context {
  Shape shape;
  std::uint64_t records =
      0;  // Filled in before the phases; reads and overwrites choose among these.
  unsigned batch = 16;
  Promise promise = Promise::kDefault;
  Distribution distribution = Distribution::kUniform;
  std::uint64_t seed = 1;
  unsigned threads = 1;  // The most that a phase has; also used to fill.
  std::uint64_t write_bound =
      0;  // Operations that a phase may do at most: those that write records,
  std::uint64_t read_bound = 0;    // and those that leave the medium's size alone.
  bool background_reclaim = true;  // Of our own store.
  unsigned recovery_threads = 0;   // 0: one per CPU.
  double space_goal = 1.25;        // Medium in use over live data, of our own store.
  // Under which this process runs; then rows tell what they asked of the device. 0: none.
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t planned_new_records =
      0;                        // At most, over all phases of a life: what a store may reserve.
  bool measure_startup = true;  // Rows open_clean, open_killed.
  bool measure_growth =
      true;  // Row put_longest, bytes per record: in a process of its own, in the first repetition.
  double growth_seconds =
      30;  // Bound on putting one by one there; the rest is then filled in batches.

  std::string
      region;        // Spec for stores on a region, without the subject's own name: see place_of().
  std::string base;  // Its path; empty where it has none (dram, node:N).
  std::string options;         // "?granularity=line", or empty.
  std::string request_prefix;  // Before a subject's name in requests to the helper process.
  std::string peer_directory;  // Where stores that need a directory put theirs.

  // Zipf ranks by thread, made once and used by all stores. Scrambled: record numbers.
  const std::vector<std::uint32_t>& zipf(unsigned thread, bool scrambled) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<std::vector<std::uint32_t>>> zipf_[2];
};

inline constexpr std::size_t kZipfListed = 1 << 21;  // Numbers per thread, a power of two.

// Spec of the region that subject `name` has to itself.
std::string place_of(const Context& context, const std::string& name);

// Bytes of this process that are in memory and not backed by a file (smaps_rollup "Anonymous");
// what malloc holds back is returned first. 0 where the kernel does not tell.
std::uint64_t anonymous_bytes();

// Bytes that the files at or below `path` take from the file system.
std::uint64_t allocated_bytes(const std::string& path);

}  // namespace holdfast::bench::kv
