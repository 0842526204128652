// interference_tasks.hpp: the four things that a database does with memory at the same time: scans,
// index lookups, logging, writing pages back. Each on the region, the first two also in DRAM.
//
// Workbench has what all of them work on; a Work is one thread at one task, in steps of some
// microseconds. The structures are those of holdfast/blocks, and each checks its answers: scans by
// sums, lookups one by one, the log and the pages by reading them back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/bench/blocks/buckets.hpp>
#include <holdfast/bench/blocks/log_suite.hpp>
#include <holdfast/bench/blocks/page_suite.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/blocks/log/log.hpp>

namespace holdfast::bench::blocks {

enum class Task : std::uint8_t { kScan, kScanDram, kLookup, kLookupDram, kLog, kPage };
inline constexpr std::array kTasks = {Task::kScan,       Task::kScanDram, Task::kLookup,
                                      Task::kLookupDram, Task::kLog,      Task::kPage};
std::string_view name(Task task);  // "scan", "scan-dram", …

// One thread's work at one task.
class Work {
 public:
  virtual ~Work() = default;
  virtual void step() = 0;
  virtual unsigned operations_per_step() const = 0;
  virtual std::uint64_t bytes_per_step() const = 0;
  // After the last step. Errors: kCorrupt with "wrong" in it, whatever failed.
  virtual Status finish() = 0;
};

class Workbench {
 public:
  static constexpr std::uint32_t kRecordBytes = 512;

  explicit Workbench(const Context& context) : context_(context) {}
  // Makes and fills what is not there yet. Errors: of opening a region in DRAM, of the structures.
  Status prepare();
  // Before each phase, with the number of all its threads: an empty log.
  Status begin(unsigned threads, std::uint64_t seed);
  // `thread`: below begin()'s number; no two works of a phase have the same. `small`: a step is one
  // operation. Called by the thread that does the work.
  Result<std::unique_ptr<Work>> work(Task task, unsigned thread, bool small);
  // After each phase: the log and the pages hold what was written.
  Status check();

 private:
  class ScanWork;
  class LookupWork;
  class LogWork;
  class PageWork;

  const Context& context_;
  bool prepared_ = false;
  std::uint64_t scan_bytes_ = 0;
  std::optional<Region> dram_;
  std::optional<baselines::HashBuckets> table_, table_dram_;
  holdfast::blocks::Extent log_extent_, page_extent_;
  std::optional<holdfast::blocks::Log> log_;
  PageShape page_shape_;
  std::optional<DramPages> dram_pages_;
  std::unique_ptr<holdfast::blocks::PageStore> page_store_;
  unsigned threads_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t phases_ = 0;
  std::vector<std::uint64_t> appended_;  // By thread.
};

}  // namespace holdfast::bench::blocks
