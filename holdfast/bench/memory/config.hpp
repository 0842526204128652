// config.hpp: what one benchmark of a workload file does, one combination of its matrix.
//
// The fields are the keys of the published format with its defaults (Benson, "Efficient State
// Management with Persistent Memory", 2023, section 3.2.2), then ours. keys.cpp has the table of
// their spellings, docs/memory_benchmark.md says what each means. Sizes count 2^30 bytes as one GB,
// as the paper does.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/units.hpp>
#include <holdfast/bench/memory/custom_operation.hpp>
#include <holdfast/bench/memory/words.hpp>
#include <holdfast/results/result.hpp>
#include <holdfast/yaml/diagnostics.hpp>

namespace holdfast::bench::memory {

// Bytes, or a share of this machine's memory, which the plan turns into bytes.
struct Extent {
  std::uint64_t bytes = 0;
  double percent = 0;  // Not 0: of the memory that is available when the run is planned.
  bool empty() const { return bytes == 0 && percent == 0; }
};

enum class KeyId : std::uint8_t {
  kAccessSize,
  kMemoryRange,
  kDramMemoryRange,
  kDramOperationRatio,
  kNumberOperations,
  kNumberThreads,
  kRunTime,
  kOperation,
  kExecMode,
  kPersistInstruction,
  kNumberPartitions,
  kNumaPattern,
  kRandomDistribution,
  kZipfAlpha,
  kCustomOperations,
  kLatencySampleFrequency,
  kPrefaultFile,
  kDramHugePages,
  kMinIoChunkSize,
  // Ours.
  kWriteRatio,
  kRegion,
  kDramRegion,
  kHugePages,
  kFenceEveryOperations,
  kFenceEveryBytes,
  kStride,
  kGrouping,
  kThreadPinning,
  kDelayNs,
  kDelayEveryOperations,
  kChaseWindow,
  kRepetitions,
  kCount,
};
inline constexpr std::size_t kKeyCount = static_cast<std::size_t>(KeyId::kCount);

struct Config {
  std::uint64_t access_bytes = 256;
  Extent memory_range{10 * GiB, 0};
  Extent dram_memory_range;
  double dram_operation_ratio = 0;
  std::uint64_t number_operations = 100'000'000;
  unsigned number_threads = 1;
  double run_time_s = 0;
  AccessKind operation = AccessKind::kRead;
  ExecMode exec_mode = ExecMode::kSequential;
  PersistKind persist = PersistKind::kNoCache;
  unsigned number_partitions = 1;
  NumaPattern numa_pattern = NumaPattern::kNear;
  Distribution distribution = Distribution::kUniform;
  double zipf_alpha = 0.9;
  Chain chain;
  std::uint64_t latency_sample_frequency = 0;
  std::uint64_t sample_sooner = 0;  // Not 0: instead, where the plan cut the time.
  bool prefault = true;
  bool dram_huge_pages = true;
  std::uint64_t min_io_chunk_bytes = 64 * MiB;

  double write_ratio = -1;  // 0 … 1: so many of the accesses are writes; below 0: as `operation`.
  std::string region = "target";
  std::string dram_region = "dram";
  std::string huge_pages;  // "auto", "off", "2M", "1G"; empty: as the region says.
  std::uint64_t fence_every_operations = 1;  // 0: once at the end of a package.
  std::uint64_t fence_every_bytes = 0;       // Not 0: instead of the above.
  std::uint64_t stride_bytes = 0;
  Grouping grouping = Grouping::kPackages;
  Pinning pinning = Pinning::kCore;
  double delay_ns = 0;
  std::uint64_t delay_every_operations = 1;
  std::uint64_t chase_window_bytes = 0;  // 0: the whole range.
  unsigned repetitions = 0;              // 0: as the command says.

  // Where each key got its value; line 0: it has its default.
  std::array<yaml::Position, kKeyCount> places{};
  bool is_set(KeyId key) const { return places[static_cast<std::size_t>(key)].line > 0; }

  bool custom() const { return exec_mode == ExecMode::kCustom; }
  bool chase() const { return exec_mode == ExecMode::kChase; }
  bool sequential() const {
    return exec_mode == ExecMode::kSequential || exec_mode == ExecMode::kSequentialDescending ||
           exec_mode == ExecMode::kStrided;
  }
  // Whether any access stores.
  bool has_writes() const;
  bool has_reads() const;
  bool uses_dram() const;
  bool uses_target() const;
  unsigned partitions() const;
  // Operations from one sample of latency to the next; 0: none.
  std::uint64_t sample_every() const {
    return sample_sooner > 0 ? sample_sooner : latency_sample_frequency;
  }
  // Whether writes outside of chains are followed by fences. `persist_instruction: none` has one
  // only where a key asks for it: a fence without a flush.
  bool has_fences() const {
    return persist != PersistKind::kNone || is_set(KeyId::kFenceEveryOperations) ||
           fence_every_bytes > 0;
  }
  // Operations between two fences; 0: only at the end of a package.
  std::uint64_t operations_per_fence() const;
};

struct Key {
  KeyId id;
  std::string_view name;
  std::array<std::string_view, 2> older;  // Other spellings, of older versions and the successor.
  std::string_view parameter;  // The name of its field in a result row; empty: it has none.
  bool published;              // One of the 19 of the paper.
  // Errors: kInvalidOption; the detail does not name the key.
  Status (*set)(Config& config, std::string_view text);
  std::string (*get)(const Config& config);
  results::Value (*value)(const Config& config);  // Of its field in a row.
};
// All keys, in the order of KeyId.
const std::array<Key, kKeyCount>& keys();
// By its name or an older one, or null.
const Key* find_key(std::string_view name);
// The name of the key whose field in a row is this; of another parameter, its own.
std::string key_of_parameter(const std::string& parameter);

// What does not fit together in `config`, each with the key to blame. Bounds that depend on the
// machine are the plan's business.
struct Problem {
  KeyId key;
  std::string message;
};
std::vector<Problem> problems_of(const Config& config);

}  // namespace holdfast::bench::memory
