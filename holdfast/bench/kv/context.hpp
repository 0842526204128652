// context.hpp: what all stores of one comparison have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/bench/kv/workload.hpp>

namespace holdfast::bench::kv {

enum class Promise : std::uint8_t {
  kDefault,  // What the medium gives an operation without a system call; peers write without sync.
  kProcess,
  kPower,  // Every operation, or batch, is durable against power loss when it returns; peers sync.
};

enum class Distribution : std::uint8_t { kUniform, kZipfian };

// What a comparison is given, and its stores are.
struct Common {
  Shape shape;
  // Filled in before the phases; reads and overwrites choose among these. 1,000 to 2^31.
  std::uint64_t records = 10'000'000;
  unsigned batch = 16;  // 1 to 4,096.
  Promise promise = Promise::kDefault;
  Distribution distribution = Distribution::kUniform;  // Of reads, overwrites and YCSB A, B, C, F.
  std::uint64_t seed = 1;
  double space_goal = 1.25;  // ReclaimOptions.space_amplification of our own store; 1.05 to 10.
  // Limit that the caller has put this process under (memory_limit.hpp): at least 128 MiB, and the
  // region lies on a disk. 0: none. Rows then tell what they asked of the device.
  std::uint64_t memory_limit_bytes = 0;
  // A path that does not exist or is empty, dram, node:N, /dev/daxX.Y; options as in region.hpp.
  std::string region;
};

struct Context : Common {
  unsigned threads = 1;  // The most that a phase has; also used to fill.
  // Operations that a phase may do at most: those that write records, and those that leave the
  // medium's size alone.
  std::uint64_t write_bound = 0, read_bound = 0;
  bool background_reclaim = true;  // Of our own store.
  unsigned recovery_threads = 0;   // 0: one per CPU.
  // At most, over all phases of a life: what a store may reserve.
  std::uint64_t planned_new_records = 0;
  bool measure_startup = true;  // Rows open_clean, open_killed.
  // Row put_longest, bytes per record: in a process of its own, in the first repetition.
  bool measure_growth = true;
  // Bound on putting one by one there; the rest is then filled in batches.
  double growth_seconds = 30;

  std::string base;            // The region's path; empty where it has none (dram, node:N).
  std::string options;         // "?granularity=line", or empty.
  std::string request_prefix;  // Before a subject's name in requests to the helper process.
  std::string peer_directory;  // Where stores that need a directory put theirs.

  // Zipf ranks by thread, made once and used by all stores. Scrambled: record numbers.
  const std::vector<std::uint32_t>& zipf(unsigned thread, bool scrambled) const;

 private:
  mutable KernelMutex mutex_;
  mutable std::vector<std::unique_ptr<std::vector<std::uint32_t>>> zipf_[2] HF_GUARDED_BY(mutex_);
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
