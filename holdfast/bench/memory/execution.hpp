// execution.hpp: runs one repetition of one benchmark, or of two at the same time.
//
//   prepared: content, access lists, threads pinned and waiting
//   all threads of all parts leave one barrier together
//   each pulls work packages from the queue of its partition, block by block, until the operations
//   are done, the time is up, the other part has ended, or the run is interrupted
//   from the earliest begin to the latest end
//   then, outside of the clock: checksums, written lines, page faults
//
// Implements section 3.2.1 of the work that config.hpp cites. Deviations: of a parallel pair both
// parts end when the first one does, so that nothing is measured alone; time is up within a call of
// a kernel, at most 1 MiB, not within a package of 64 MiB.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/histogram.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/bench/engine/placement.hpp>
#include <holdfast/bench/engine/team.hpp>
#include <holdfast/bench/memory/access_list.hpp>
#include <holdfast/bench/memory/config.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/tier.hpp>

namespace holdfast::bench::memory {

// One part, with bytes where the file may have percents, and the memory it works on.
struct Load {
  Config config;
  Tier* target = nullptr;  // Null where no access goes there.
  Tier* dram = nullptr;
  std::uint64_t target_bytes = 0;  // The measured ranges, from the begin of their tiers.
  std::uint64_t dram_bytes = 0;
  Placement placement;
  double seconds_max = 0;  // Not 0: ends then at the latest.
  std::uint64_t seed = 0;
};

struct LoadResult {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // Of all its threads.
  std::uint64_t fences = 0;
  std::uint64_t page_faults = 0;           // In the timed part.
  std::uint64_t involuntary_switches = 0;  // The same.
  std::vector<double> thread_ops_per_s;
  std::vector<std::string> thread_cpus;  // Where the kernel let each thread run: "1", "0-3,8".
  unsigned threads_elsewhere = 0;        // That were not where pinning put them.
  double core_ghz = 0;                   // After the timed part, the slowest of its threads' cores.
  double stolen_ratio = 0;  // Of all CPUs' time, what the host of a virtual machine took.
  Histogram latency;
  std::string wrong;  // Empty, or what came out that cannot be.
};

// What a part needs before it runs, kept over repetitions.
class PreparedLoad {
 public:
  // Fills and allocates: seconds for many GiB.
  explicit PreparedLoad(Load load);
  ~PreparedLoad();
  PreparedLoad(PreparedLoad&&) noexcept;

  const Load& load() const { return load_; }
  // Before each repetition: others may have written to the same tier.
  void prepare_content() const;
  void set_tiers(Tier* target, Tier* dram) { load_.target = target, load_.dram = dram; }
  void set_seconds_max(double seconds) { load_.seconds_max = seconds; }

 private:
  friend class Execution;
  struct Lists;
  Load load_;
  std::unique_ptr<Lists> lists_;
};

// Another loop in the place of ours: what a floor is made of. Called on each thread: calls
// seat.begin(), works until its operations are done or `stop` is true, calls seat.end().
struct ForeignResult {
  std::uint64_t operations = 0;
  std::string wrong;  // Why what came out cannot be, or empty.
};
using ForeignBody = std::function<ForeignResult(Seat& seat, const std::atomic<bool>& stop)>;

// `loads` run at the same time. Results in their order.
std::vector<LoadResult> execute(const std::vector<PreparedLoad*>& loads, std::uint64_t repetition);
LoadResult execute_foreign(const Load& load, const ForeignBody& body, std::uint64_t bytes_per_op);

// What this CPU executes for a persist instruction.
Flush flush_of(PersistKind kind);
std::string_view name(Flush flush);

}  // namespace holdfast::bench::memory
