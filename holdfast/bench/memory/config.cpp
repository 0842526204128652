#include <holdfast/bench/memory/config.hpp>

#include <limits>
#include <numeric>

#include <holdfast/base/format.hpp>

namespace holdfast::bench::memory {
namespace {

// Access lists hold 4-byte indices.
constexpr std::uint64_t kSlotsMax = std::uint64_t{1} << 32;

class Checks {
 public:
  explicit Checks(const Config& config) : config_(config) {}

  std::vector<Problem> all() {
    check_sizes();
    check_range(KeyId::kMemoryRange, config_.memory_range, config_.uses_target());
    check_range(KeyId::kDramMemoryRange, config_.dram_memory_range, config_.uses_dram());
    check_mode();
    check_partitions();
    check_idle_keys();
    check_fences();
    if (config_.custom()) check_chain();
    if (config_.chase()) check_chase();
    return std::move(problems_);
  }

 private:
  void problem(KeyId key, std::string message) { problems_.push_back({key, std::move(message)}); }

  void check_sizes() {
    const auto size = config_.access_bytes;
    const bool below_line = size == 8 || size == 16 || size == 32;
    size_is_good_ =
        below_line || (size > 0 && size % kCacheLineBytes == 0 && size <= kAccessBytesMax);
    if (!size_is_good_) {
      problem(KeyId::kAccessSize,
              std::to_string(size) + " must be 8, 16, 32 or a multiple of 64 up to 1G");
    }
    const auto chunk = config_.min_io_chunk_bytes;
    if (chunk < kCacheLineBytes || (chunk & (chunk - 1)) != 0)
      problem(KeyId::kMinIoChunkSize,
              std::to_string(chunk) + " must be a power of two, at least 64");
  }

  void check_range(KeyId key, const Extent& range, bool used) {
    if (range.percent > 0) return;  // The plan rounds it.
    if (range.bytes == 0) {
      if (used && key == KeyId::kDramMemoryRange) {
        problem(key,
                "is 0, but operations go to DRAM; say how large that range is, for example "
                "dram_memory_range: 10G");
      } else if (used) {
        problem(key, "must not be 0");
      }
      return;
    }
    const auto size = config_.custom() || config_.chase() ? kCacheLineBytes : config_.access_bytes;
    if (!size_is_good_ || !used) return;
    if (range.bytes % size != 0) {
      problem(key, format_bytes(range.bytes) + " is no multiple of " +
                       (size == config_.access_bytes && !config_.custom()
                            ? "access_size, " + format_bytes(size)
                            : std::string("64, the size of a line")));
    } else if (range.bytes / size > kSlotsMax) {
      problem(key, format_bytes(range.bytes) + " holds more than 2^32 accesses of " +
                       format_bytes(size) + "; at most " + format_bytes(kSlotsMax * size) +
                       " are possible");
    }
  }

  void check_mode() {
    const bool random = config_.exec_mode == ExecMode::kRandom;
    if (config_.dram_operation_ratio > 0 && !random)
      problem(KeyId::kDramOperationRatio, "needs exec_mode: random");
    if (config_.custom() && config_.chain.empty())
      problem(KeyId::kExecMode, "custom needs custom_operations");
    if (!config_.custom() && !config_.chain.empty())
      problem(KeyId::kCustomOperations, "need exec_mode: custom");
    if (config_.distribution == Distribution::kZipf && !random)
      problem(KeyId::kRandomDistribution, "zipf needs exec_mode: random");
    const bool strided = config_.exec_mode == ExecMode::kStrided;
    if (strided && config_.stride_bytes == 0) problem(KeyId::kExecMode, "strided needs a stride");
    if (!strided && config_.stride_bytes > 0) problem(KeyId::kStride, "needs exec_mode: strided");
    if (strided && config_.stride_bytes > 0 && config_.access_bytes > 0 &&
        (config_.stride_bytes % config_.access_bytes != 0 ||
         (config_.memory_range.bytes > 0 &&
          config_.memory_range.bytes % config_.stride_bytes != 0))) {
      problem(KeyId::kStride, format_bytes(config_.stride_bytes) +
                                  " must be a multiple of access_size and divide memory_range");
    }
    if (config_.write_ratio >= 0) {
      if (config_.custom() || config_.chase())
        problem(KeyId::kWriteRatio, "needs exec_mode: sequential or random");
      if (config_.is_set(KeyId::kOperation))
        problem(KeyId::kWriteRatio, "and operation exclude each other");
      if (config_.write_ratio > 0 && config_.write_ratio < 1 &&
          config_.access_bytes % kCacheLineBytes != 0) {
        problem(KeyId::kWriteRatio,
                "mixes reads and writes, which needs accesses of whole lines of 64 bytes");
      }
    }
    if (config_.grouping != Grouping::kPackages) {
      if (!config_.sequential())
        problem(KeyId::kGrouping, std::string(name(config_.grouping)) +
                                      " is about sequential accesses; exec_mode is " +
                                      std::string(name(config_.exec_mode)));
      if (config_.is_set(KeyId::kNumberPartitions) && config_.number_partitions != 1)
        problem(KeyId::kGrouping, "and number_partitions exclude each other");
    }
  }

  void check_partitions() {
    const auto partitions = config_.partitions();
    if (config_.number_threads % partitions != 0) {
      problem(KeyId::kNumberPartitions, std::to_string(partitions) +
                                            " must divide number_threads, " +
                                            std::to_string(config_.number_threads));
      return;
    }
    const auto unit =
        config_.exec_mode == ExecMode::kStrided ? config_.stride_bytes : config_.access_bytes;
    if (partitions == 1 || unit == 0 || !size_is_good_ || config_.custom() || config_.chase() ||
        config_.memory_range.percent > 0) {
      return;
    }
    // Of individual ranges the rest at the end is left alone: thread counts like 18 are what it is
    // for.
    if (config_.grouping == Grouping::kIndividual) {
      if (config_.memory_range.bytes / partitions < unit)
        problem(KeyId::kMemoryRange, format_bytes(config_.memory_range.bytes) +
                                         " is too little for " + std::to_string(partitions) +
                                         " threads");
      return;
    }
    if (config_.memory_range.bytes % (partitions * unit) != 0) {
      problem(
          config_.is_set(KeyId::kNumberPartitions) ? KeyId::kNumberPartitions : KeyId::kMemoryRange,
          format_bytes(config_.memory_range.bytes) + " of memory_range cannot be cut into " +
              std::to_string(partitions) + " parts of whole accesses of " + format_bytes(unit));
    }
  }

  // A key that would be accepted and do nothing is a mistake.
  void check_idle_keys() {
    if (config_.chase_window_bytes > 0 && !config_.chase())
      problem(KeyId::kChaseWindow, "needs exec_mode: chase");
    if (config_.is_set(KeyId::kDramRegion) && !config_.uses_dram() && !config_.custom() &&
        !config_.is_set(KeyId::kDramOperationRatio)) {
      problem(KeyId::kDramRegion,
              "says nothing where no access goes to the second range; dram_operation_ratio says "
              "how many do");
    }
    if (config_.is_set(KeyId::kDelayEveryOperations) && !config_.is_set(KeyId::kDelayNs))
      problem(KeyId::kDelayEveryOperations, "says nothing without a delay");
  }

  void check_fences() {
    for (const auto key : {KeyId::kFenceEveryOperations, KeyId::kFenceEveryBytes}) {
      if (!config_.is_set(key)) continue;
      if (config_.custom()) {
        problem(key,
                "says nothing in custom mode, where each write says how it persists; a fence "
                "without a flush is w_64_fence");
      } else if (!config_.has_writes()) {
        problem(key, "says nothing where nothing is written");
      } else if (config_.write_ratio < 0 && (config_.operation == AccessKind::kCompareAndSwap ||
                                             config_.operation == AccessKind::kFetchAndAdd)) {
        problem(key, "says nothing of " + std::string(name(config_.operation)) +
                         ", which waits by itself");
      }
    }
    if (config_.fence_every_bytes == 0) return;
    if (config_.is_set(KeyId::kFenceEveryOperations))
      problem(KeyId::kFenceEveryBytes, "and fence_every_operations exclude each other");
    if (config_.access_bytes > 0 && config_.fence_every_bytes % config_.access_bytes != 0)
      problem(KeyId::kFenceEveryBytes, format_bytes(config_.fence_every_bytes) +
                                           " must be a multiple of access_size, " +
                                           format_bytes(config_.access_bytes));
  }

  void check_chain() {
    for (std::size_t i = 0; i < config_.chain.size(); ++i) {
      if (config_.chain[i].write) continue;
      const bool dram = config_.chain[i].dram;
      const auto& range = dram ? config_.dram_memory_range : config_.memory_range;
      if (range.percent > 0 || range.bytes == 0) continue;
      const auto reach = reach_of(config_.chain, i);
      const auto span = static_cast<std::uint64_t>(reach.high - reach.low);
      if (span > range.bytes) {
        problem(KeyId::kCustomOperations, "operation " + std::to_string(i + 1) +
                                              " and the writes after it span " +
                                              format_bytes(span) + ", more than the range of " +
                                              format_bytes(range.bytes) + ": an offset leaves it");
      }
    }
    if (config_.is_set(KeyId::kOperation))
      problem(KeyId::kOperation, "says nothing in custom mode; the chain does");
  }

  void check_chase() {
    if (config_.is_set(KeyId::kAccessSize) && config_.access_bytes != kCacheLineBytes)
      problem(KeyId::kAccessSize, "must be 64 with exec_mode: chase, which reads a word of a line");
    if (config_.operation != AccessKind::kRead)
      problem(KeyId::kOperation, "must be read with exec_mode: chase");
    const auto window = config_.chase_window_bytes;
    if (window == 0) return;
    if (window < 2 * kCacheLineBytes || (window & (window - 1)) != 0) {
      problem(KeyId::kChaseWindow, format_bytes(window) + " must be a power of two, at least 128");
    } else if (config_.memory_range.bytes > 0 && config_.memory_range.bytes % window != 0) {
      problem(KeyId::kChaseWindow, format_bytes(window) + " must divide memory_range, " +
                                       format_bytes(config_.memory_range.bytes));
    }
  }

  const Config& config_;
  bool size_is_good_ = false;  // Else what it must divide is no further mistake.
  std::vector<Problem> problems_;
};

}  // namespace

bool Config::has_writes() const {
  if (custom()) return writes(chain);
  if (chase()) return false;
  if (write_ratio >= 0) return write_ratio > 0;
  return operation != AccessKind::kRead && operation != AccessKind::kStreamRead;
}

bool Config::has_reads() const {
  if (custom() || chase()) return true;
  if (write_ratio >= 0) return write_ratio < 1;
  return operation == AccessKind::kRead || operation == AccessKind::kStreamRead;
}

bool Config::uses_dram() const {
  return custom() ? memory::uses_dram(chain) : dram_operation_ratio > 0;
}

bool Config::uses_target() const {
  return custom() ? memory::uses_target(chain) : dram_operation_ratio < 1;
}

unsigned Config::partitions() const {
  if (grouping == Grouping::kIndividual || number_partitions == 0) return number_threads;
  return number_partitions;
}

std::uint64_t Config::operations_per_fence() const {
  return fence_every_bytes > 0 ? fence_every_bytes / access_bytes : fence_every_operations;
}

std::vector<Problem> problems_of(const Config& config) { return Checks(config).all(); }

}  // namespace holdfast::bench::memory
