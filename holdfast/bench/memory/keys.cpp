// The keys of a workload file: one table for reading, for showing and for messages.
#include <charconv>
#include <cmath>
#include <cstdio>

#include <holdfast/base/format.hpp>
#include <holdfast/bench/memory/config.hpp>

namespace holdfast::bench::memory {
namespace {

Error invalid(std::string detail) { return {Errc::kInvalidOption, std::move(detail)}; }

// parse_bytes() and parse_count() name the value; here the key stands before.
Error without_name(const Error& error) {
  constexpr std::string_view kName = "value=";
  const auto& detail = error.detail;
  return invalid(detail.starts_with(kName) ? detail.substr(kName.size()) : detail);
}

Status set_bytes(std::uint64_t& to, std::string_view text) {
  const auto value = parse_bytes(text, "value");
  if (!value) return without_name(value.error());
  to = *value;
  return {};
}

Result<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return invalid(in_quotes(text) + " is no number, for example 0.5");
  return value;
}

Status set_real(double& to, std::string_view text, double low, double high) {
  HF_ASSIGN_OR_RETURN(const auto value, parse_real(text));
  if (!(value >= low && value <= high)) {
    char bounds[64];
    std::snprintf(bounds, sizeof bounds, " must be from %g to %g", low, high);
    return invalid(std::string(text) + bounds);
  }
  to = value;
  return {};
}

template <class Number>
Status set_count(Number& to, std::string_view text, std::uint64_t low, std::uint64_t high) {
  const auto parsed = parse_count(text, "value");
  if (!parsed) return without_name(parsed.error());
  const auto value = *parsed;
  if (value < low || value > high) {
    return invalid(std::string(text) + " must be from " + std::to_string(low) + " to " +
                   std::to_string(high));
  }
  to = static_cast<Number>(value);
  return {};
}

Status set_extent(Extent& to, std::string_view text) {
  Extent extent;
  if (text.ends_with('%')) {
    if (!set_real(extent.percent, text.substr(0, text.size() - 1), 0, 90))
      return invalid(in_quotes(text) + " must be from 0% to 90% of the available memory");
    if (extent.percent == 0) return invalid(std::string(text) + " of memory is nothing");
  } else {
    HF_RETURN_IF_ERROR(set_bytes(extent.bytes, text));
  }
  to = extent;
  return {};
}

Status set_flag(bool& to, std::string_view text) {
  for (const auto word : {"true", "yes", "on", "True", "TRUE"}) {
    if (text == word) return to = true, ok_status();
  }
  for (const auto word : {"false", "no", "off", "False", "FALSE"}) {
    if (text == word) return to = false, ok_status();
  }
  return invalid(in_quotes(text) + " is neither true nor false");
}

// Nanoseconds; "500ns", "2us", "1.5 ms", a bare number in `unit_ns`.
Status set_time(double& to, std::string_view text, double unit_ns, double high_ns) {
  struct Unit {
    std::string_view suffix;
    double ns;
  };
  auto digits = text;
  auto ns = unit_ns;
  for (const auto& unit :
       {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}, Unit{"m", 60e9}}) {
    if (!text.ends_with(unit.suffix)) continue;
    digits = text.substr(0, text.size() - unit.suffix.size());
    ns = unit.ns;
    break;
  }
  while (digits.ends_with(' '))
    digits.remove_suffix(1);
  const auto value = parse_real(digits);
  if (!value) return invalid(in_quotes(text) + " is no time, for example 10, 500ms or 1.5s");
  if (!(*value >= 0 && *value * ns <= high_ns))
    return invalid(std::string(text) + " must be from 0 to " + format_nanoseconds(high_ns));
  to = *value * ns;
  return {};
}

template <class Enum>
Status set_word(Enum& to, std::string_view text) {
  HF_ASSIGN_OR_RETURN(to, word_of<Enum>(text, "the word"));
  return {};
}

// A name of a region: what a file may call one.
Status set_name(std::string& to, std::string_view text) {
  if (text.empty()) return invalid("a name is missing");
  to = text;
  return {};
}

std::string real_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc{} ? std::string(text, end) : std::string();
}

std::string extent_text(const Extent& extent) {
  return extent.percent > 0 ? real_text(extent.percent) + "%" : format_bytes(extent.bytes);
}

std::string flag_text(bool flag) { return flag ? "true" : "false"; }

constexpr std::uint64_t kOperationsMax = std::uint64_t{1} << 48;
constexpr double kRunTimeMaxNs = 24 * 3600e9;

constexpr std::array<Key, kKeyCount> kKeys = {{
    {KeyId::kAccessSize,
     "access_size",
     {},
     "access_bytes",
     true,
     "bytes per access: 8, 16, 32 or a multiple of 64",
     [](Config& c, std::string_view t) { return set_bytes(c.access_bytes, t); },
     [](const Config& c) { return format_bytes(c.access_bytes); }},
    {KeyId::kMemoryRange,
     "memory_range",
     {"total_memory_range", "memory_region_size"},
     "memory_range_bytes",
     true,
     "size of the measured range: bytes with K, M, G or a share of memory as in 20%",
     [](Config& c, std::string_view t) { return set_extent(c.memory_range, t); },
     [](const Config& c) { return extent_text(c.memory_range); }},
    {KeyId::kDramMemoryRange,
     "dram_memory_range",
     {"secondary_memory_region_size"},
     "dram_memory_range_bytes",
     true,
     "size of the second range, in DRAM, for hybrid benchmarks",
     [](Config& c, std::string_view t) { return set_extent(c.dram_memory_range, t); },
     [](const Config& c) { return extent_text(c.dram_memory_range); }},
    {KeyId::kDramOperationRatio,
     "dram_operation_ratio",
     {},
     "dram_operation_ratio",
     true,
     "share of the accesses that go to the second range, 0 to 1, random mode only",
     [](Config& c, std::string_view t) { return set_real(c.dram_operation_ratio, t, 0, 1); },
     [](const Config& c) { return real_text(c.dram_operation_ratio); }},
    {KeyId::kNumberOperations,
     "number_operations",
     {},
     "number_operations",
     true,
     "accesses or chains of all threads together, where run_time does not decide",
     [](Config& c, std::string_view t) {
       return set_count(c.number_operations, t, 1, kOperationsMax);
     },
     [](const Config& c) { return std::to_string(c.number_operations); }},
    {KeyId::kNumberThreads,
     "number_threads",
     {},
     "",  // The row's `threads`.
     true,
     "threads",
     [](Config& c, std::string_view t) { return set_count(c.number_threads, t, 1, 4096); },
     [](const Config& c) { return std::to_string(c.number_threads); }},
    {KeyId::kRunTime,
     "run_time",
     {},
     "run_time_s",
     true,
     "seconds (or 500ms) to run instead of a number of operations; 0: not by time",
     [](Config& c, std::string_view t) -> Status {
       double ns = 0;
       HF_RETURN_IF_ERROR(set_time(ns, t, 1e9, kRunTimeMaxNs));
       c.run_time_s = ns / 1e9;
       return ok_status();
     },
     [](const Config& c) { return real_text(c.run_time_s); }},
    {KeyId::kOperation,
     "operation",
     {},
     "access_kind",
     true,
     "read, write, stream-read, compare-and-swap or fetch-and-add",
     [](Config& c, std::string_view t) { return set_word(c.operation, t); },
     [](const Config& c) { return std::string(name(c.operation)); }},
    {KeyId::kExecMode,
     "exec_mode",
     {},
     "exec_mode",
     true,
     "sequential, sequential_desc, strided, random, custom or chase",
     [](Config& c, std::string_view t) { return set_word(c.exec_mode, t); },
     [](const Config& c) { return std::string(name(c.exec_mode)); }},
    {KeyId::kPersistInstruction,
     "persist_instruction",
     {"cache_instruction", "flush_instruction"},
     "persist_instruction",
     true,
     "after a write: cache (clwb), cacheinv (clflushopt), nocache (ntstore), flush (clflush), "
     "fence (no flush) or none",
     [](Config& c, std::string_view t) { return set_word(c.persist, t); },
     [](const Config& c) { return std::string(name(c.persist)); }},
    {KeyId::kNumberPartitions,
     "number_partitions",
     {},
     "number_partitions",
     true,
     "disjoint parts of the range; a divisor of the threads; 0: one for each thread",
     [](Config& c, std::string_view t) { return set_count(c.number_partitions, t, 0, 4096); },
     [](const Config& c) { return std::to_string(c.number_partitions); }},
    {KeyId::kNumaPattern,
     "numa_pattern",
     {},
     "numa_pattern",
     true,
     "near, far or both: the sockets whose CPUs access the range",
     [](Config& c, std::string_view t) { return set_word(c.numa_pattern, t); },
     [](const Config& c) { return std::string(name(c.numa_pattern)); }},
    {KeyId::kRandomDistribution,
     "random_distribution",
     {},
     "random_distribution",
     true,
     "uniform or zipf",
     [](Config& c, std::string_view t) { return set_word(c.distribution, t); },
     [](const Config& c) { return std::string(name(c.distribution)); }},
    {KeyId::kZipfAlpha,
     "zipf_alpha",
     {},
     "zipf_alpha",
     true,
     "skew of zipf, above 0 and below 1",
     [](Config& c, std::string_view t) { return set_real(c.zipf_alpha, t, 0.01, 0.999); },
     [](const Config& c) { return real_text(c.zipf_alpha); }},
    {KeyId::kCustomOperations,
     "custom_operations",
     {"custom_ops"},
     "custom_operations",
     true,
     "chain of dependent operations, for example r_256,w_64_cache_128",
     [](Config& c, std::string_view t) -> Status {
       HF_ASSIGN_OR_RETURN(c.chain, parse_chain(t));
       return ok_status();
     },
     [](const Config& c) { return to_string(c.chain); }},
    {KeyId::kLatencySampleFrequency,
     "latency_sample_frequency",
     {},
     "latency_sample_frequency",
     true,
     "time every n-th operation of a thread by itself; 0: none",
     [](Config& c, std::string_view t) {
       return set_count(c.latency_sample_frequency, t, 0, kOperationsMax);
     },
     [](const Config& c) { return std::to_string(c.latency_sample_frequency); }},
    {KeyId::kPrefaultFile,
     "prefault_file",
     {},
     "prefault_file",
     true,
     "false: the first touches of pages are part of what is measured",
     [](Config& c, std::string_view t) { return set_flag(c.prefault, t); },
     [](const Config& c) { return flag_text(c.prefault); }},
    {KeyId::kDramHugePages,
     "dram_huge_pages",
     {"transparent_huge_pages"},
     "dram_huge_pages",
     true,
     "2 MiB pages for ranges in DRAM, where the system gives them",
     [](Config& c, std::string_view t) { return set_flag(c.dram_huge_pages, t); },
     [](const Config& c) { return flag_text(c.dram_huge_pages); }},
    {KeyId::kMinIoChunkSize,
     "min_io_chunk_size",
     {"min_io_batch_size"},
     "min_io_chunk_bytes",
     true,
     "bytes of a work package that threads pull from the queue",
     [](Config& c, std::string_view t) { return set_bytes(c.min_io_chunk_bytes, t); },
     [](const Config& c) { return format_bytes(c.min_io_chunk_bytes); }},
    {KeyId::kWriteRatio,
     "write_ratio",
     {},
     "write_ratio",
     false,
     "share of the accesses that write, 0 to 1, instead of `operation`",
     [](Config& c, std::string_view t) { return set_real(c.write_ratio, t, 0, 1); },
     [](const Config& c) { return c.write_ratio < 0 ? "" : real_text(c.write_ratio); }},
    {KeyId::kRegion,
     "region",
     {},
     "region",
     false,
     "name of the region that memory_range lies in: target, dram or one of `regions`",
     [](Config& c, std::string_view t) { return set_name(c.region, t); },
     [](const Config& c) { return c.region; }},
    {KeyId::kDramRegion,
     "dram_region",
     {"secondary_region"},
     "dram_region",
     false,
     "name of the region that dram_memory_range lies in",
     [](Config& c, std::string_view t) { return set_name(c.dram_region, t); },
     [](const Config& c) { return c.dram_region; }},
    {KeyId::kHugePages,
     "huge_pages",
     {},
     "huge_pages",
     false,
     "auto, off, 2M or 1G: pages of the measured range",
     [](Config& c, std::string_view t) -> Status {
       if (t != "auto" && t != "off" && t != "2M" && t != "1G")
         return invalid(in_quotes(t) + " is none of auto, off, 2M, 1G");
       c.huge_pages = t;
       return ok_status();
     },
     [](const Config& c) { return c.huge_pages; }},
    {KeyId::kFenceEveryOperations,
     "fence_every_operations",
     {},
     "fence_every_operations",
     false,
     "writes between two fences, per thread; 0: one at the end of a package",
     [](Config& c, std::string_view t) {
       return set_count(c.fence_every_operations, t, 0, kOperationsMax);
     },
     [](const Config& c) { return std::to_string(c.fence_every_operations); }},
    {KeyId::kFenceEveryBytes,
     "fence_every_bytes",
     {},
     "fence_every_bytes",
     false,
     "written bytes between two fences, per thread; a multiple of access_size",
     [](Config& c, std::string_view t) { return set_bytes(c.fence_every_bytes, t); },
     [](const Config& c) { return format_bytes(c.fence_every_bytes); }},
    {KeyId::kStride,
     "stride",
     {},
     "stride_bytes",
     false,
     "bytes from the begin of an access to that of the next, strided mode only",
     [](Config& c, std::string_view t) { return set_bytes(c.stride_bytes, t); },
     [](const Config& c) { return format_bytes(c.stride_bytes); }},
    {KeyId::kGrouping,
     "grouping",
     {},
     "grouping",
     false,
     "packages, grouped (one stream of all threads) or individual (one stream each)",
     [](Config& c, std::string_view t) { return set_word(c.grouping, t); },
     [](const Config& c) { return std::string(name(c.grouping)); }},
    {KeyId::kThreadPinning,
     "thread_pinning",
     {"thread_pin_mode"},
     "thread_pinning",
     false,
     "none, node (the CPUs of the NUMA nodes in question) or core (one CPU for each)",
     [](Config& c, std::string_view t) { return set_word(c.pinning, t); },
     [](const Config& c) { return std::string(name(c.pinning)); }},
    {KeyId::kDelayNs,
     "delay",
     {"delay_ns", "pause_length_micros"},
     "delay_ns",
     false,
     "computing between accesses: ns, or with unit as in 2us",
     [](Config& c, std::string_view t) { return set_time(c.delay_ns, t, 1, 1e9); },
     [](const Config& c) { return real_text(c.delay_ns); }},
    {KeyId::kDelayEveryOperations,
     "delay_every_operations",
     {"pause_frequency"},
     "delay_every_operations",
     false,
     "accesses between two delays",
     [](Config& c, std::string_view t) {
       return set_count(c.delay_every_operations, t, 1, kOperationsMax);
     },
     [](const Config& c) { return std::to_string(c.delay_every_operations); }},
    {KeyId::kChaseWindow,
     "chase_window",
     {},
     "chase_window_bytes",
     false,
     "chase within windows of this size, one after another, so that a TLB miss is rare; 0: the "
     "range",
     [](Config& c, std::string_view t) { return set_bytes(c.chase_window_bytes, t); },
     [](const Config& c) { return format_bytes(c.chase_window_bytes); }},
    {KeyId::kRepetitions,
     "repetitions",
     {"replications"},
     "",  // The row's `repetitions` are those that counted.
     false,
     "how often it is measured; --repeat decides without it",
     [](Config& c, std::string_view t) { return set_count(c.repetitions, t, 1, 1000); },
     [](const Config& c) { return std::to_string(c.repetitions); }},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKeyCount; ++i) {
    if (kKeys[i].id != static_cast<KeyId>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const std::array<Key, kKeyCount>& keys() { return kKeys; }

const Key* find_key(std::string_view name) {
  for (const auto& key : kKeys) {
    if (key.name == name) return &key;
    for (const auto older : key.older) {
      if (!older.empty() && older == name) return &key;
    }
  }
  return nullptr;
}

}  // namespace holdfast::bench::memory
