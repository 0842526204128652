// The keys of a workload file: one table for reading, for showing and for messages.
#include <charconv>
#include <cmath>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/bench/memory/config.hpp>

namespace holdfast::bench::memory {
namespace {

using yaml::in_quotes;

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
  if (!(value >= low && value <= high))
    return invalid(std::string(text) + printed(" must be from %g to %g", low, high));
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

Status set_huge_pages(std::string& to, std::string_view text) {
  if (text != "auto" && text != "off" && text != "2M" && text != "1G")
    return invalid(in_quotes(text) + " is none of auto, off, 2M, 1G");
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
constexpr std::uint64_t kThreadsMax = 4096;
constexpr double kSecond = 1e9, kDay = 24 * 3600e9;  // In nanoseconds.

// ---- Builders: how a member of Config is read, shown and given to a row. ----

struct Named {
  KeyId id;
  std::string_view key;
  std::string_view parameter;  // Of a row; empty: it has no such field.
};

template <class Set, class Get, class ToValue>
constexpr Key key(const Named& named, Set set, Get get, ToValue value) {
  const bool published = named.id <= KeyId::kMinIoChunkSize;
  return {named.id, named.key, {}, named.parameter, published, set, get, value};
}

constexpr Key also(Key key, std::string_view older, std::string_view oldest = {}) {
  key.older = {older, oldest};
  return key;
}

template <auto kMember>
constexpr Key bytes(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return set_bytes(c.*kMember, t); },
      [](const Config& c) { return format_bytes(c.*kMember); },
      [](const Config& c) { return results::Value(c.*kMember); });
}

template <auto kMember>
constexpr Key extent(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return set_extent(c.*kMember, t); },
      [](const Config& c) { return extent_text(c.*kMember); },
      [](const Config& c) { return results::Value((c.*kMember).bytes); });
}

template <auto kMember, std::uint64_t kLow, std::uint64_t kHigh>
constexpr Key count(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return set_count(c.*kMember, t, kLow, kHigh); },
      [](const Config& c) { return std::to_string(c.*kMember); },
      [](const Config& c) { return results::Value(std::uint64_t{c.*kMember}); });
}

// Below 0: was not given.
template <auto kMember, double kLow, double kHigh>
constexpr Key real(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return set_real(c.*kMember, t, kLow, kHigh); },
      [](const Config& c) { return c.*kMember < 0 ? std::string() : real_text(c.*kMember); },
      [](const Config& c) { return results::Value(c.*kMember); });
}

// Kept in units of kUnitNs, which is also that of a bare number.
template <auto kMember, double kUnitNs, double kHighNs>
constexpr Key time(const Named& named) {
  return key(
      named,
      [](Config& c, std::string_view t) -> Status {
        double ns = 0;
        HF_RETURN_IF_ERROR(set_time(ns, t, kUnitNs, kHighNs));
        c.*kMember = ns / kUnitNs;
        return ok_status();
      },
      [](const Config& c) { return real_text(c.*kMember); },
      [](const Config& c) { return results::Value(c.*kMember); });
}

template <auto kMember>
constexpr Key flag(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return set_flag(c.*kMember, t); },
      [](const Config& c) { return flag_text(c.*kMember); },
      [](const Config& c) { return results::Value(c.*kMember); });
}

// One of a few words (words.hpp).
template <auto kMember>
constexpr Key word(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return set_word(c.*kMember, t); },
      [](const Config& c) { return std::string(memory::name(c.*kMember)); },
      [](const Config& c) { return results::Value(std::string(memory::name(c.*kMember))); });
}

// A text that `kSet` checks.
template <auto kMember, Status (*kSet)(std::string& to, std::string_view text)>
constexpr Key text(const Named& named) {
  return key(
      named, [](Config& c, std::string_view t) { return kSet(c.*kMember, t); },
      [](const Config& c) { return c.*kMember; },
      [](const Config& c) { return results::Value(c.*kMember); });
}

constexpr Key chain(const Named& named) {
  return key(
      named,
      [](Config& c, std::string_view t) -> Status {
        HF_ASSIGN_OR_RETURN(c.chain, parse_chain(t));
        return ok_status();
      },
      [](const Config& c) { return to_string(c.chain); },
      [](const Config& c) { return results::Value(to_string(c.chain)); });
}

// ---- The keys: name and field of a row; then older names. docs/memory_benchmark.md explains. ----

using Id = KeyId;
using C = Config;

constexpr std::array<Key, kKeyCount> kKeys = {{
    bytes<&C::access_bytes>({Id::kAccessSize, "access_size", "access_bytes"}),
    also(extent<&C::memory_range>({Id::kMemoryRange, "memory_range", "memory_range_bytes"}),
         "total_memory_range", "memory_region_size"),
    also(extent<&C::dram_memory_range>(
             {Id::kDramMemoryRange, "dram_memory_range", "dram_memory_range_bytes"}),
         "secondary_memory_region_size"),
    real<&C::dram_operation_ratio, 0.0, 1.0>(
        {Id::kDramOperationRatio, "dram_operation_ratio", "dram_operation_ratio"}),
    count<&C::number_operations, 1, kOperationsMax>(
        {Id::kNumberOperations, "number_operations", "number_operations"}),
    count<&C::number_threads, 1, kThreadsMax>({Id::kNumberThreads, "number_threads", ""}),
    time<&C::run_time_s, kSecond, kDay>({Id::kRunTime, "run_time", "run_time_s"}),
    word<&C::operation>({Id::kOperation, "operation", "access_kind"}),
    word<&C::exec_mode>({Id::kExecMode, "exec_mode", "exec_mode"}),
    also(word<&C::persist>({Id::kPersistInstruction, "persist_instruction", "persist_instruction"}),
         "cache_instruction", "flush_instruction"),
    count<&C::number_partitions, 0, kThreadsMax>(
        {Id::kNumberPartitions, "number_partitions", "number_partitions"}),
    word<&C::numa_pattern>({Id::kNumaPattern, "numa_pattern", "numa_pattern"}),
    word<&C::distribution>({Id::kRandomDistribution, "random_distribution", "random_distribution"}),
    real<&C::zipf_alpha, 0.01, 0.999>({Id::kZipfAlpha, "zipf_alpha", "zipf_alpha"}),
    also(chain({Id::kCustomOperations, "custom_operations", "custom_operations"}), "custom_ops"),
    count<&C::latency_sample_frequency, 0, kOperationsMax>(
        {Id::kLatencySampleFrequency, "latency_sample_frequency", "latency_sample_frequency"}),
    flag<&C::prefault>({Id::kPrefaultFile, "prefault_file", "prefault_file"}),
    also(flag<&C::dram_huge_pages>({Id::kDramHugePages, "dram_huge_pages", "dram_huge_pages"}),
         "transparent_huge_pages"),
    also(bytes<&C::min_io_chunk_bytes>(
             {Id::kMinIoChunkSize, "min_io_chunk_size", "min_io_chunk_bytes"}),
         "min_io_batch_size"),
    real<&C::write_ratio, 0.0, 1.0>({Id::kWriteRatio, "write_ratio", "write_ratio"}),
    text<&C::region, set_name>({Id::kRegion, "region", "region"}),
    also(text<&C::dram_region, set_name>({Id::kDramRegion, "dram_region", "dram_region"}),
         "secondary_region"),
    text<&C::huge_pages, set_huge_pages>({Id::kHugePages, "huge_pages", "huge_pages"}),
    count<&C::fence_every_operations, 0, kOperationsMax>(
        {Id::kFenceEveryOperations, "fence_every_operations", "fence_every_operations"}),
    bytes<&C::fence_every_bytes>({Id::kFenceEveryBytes, "fence_every_bytes", "fence_every_bytes"}),
    bytes<&C::stride_bytes>({Id::kStride, "stride", "stride_bytes"}),
    word<&C::grouping>({Id::kGrouping, "grouping", "grouping"}),
    also(word<&C::pinning>({Id::kThreadPinning, "thread_pinning", "thread_pinning"}),
         "thread_pin_mode"),
    also(time<&C::delay_ns, 1.0, kSecond>({Id::kDelayNs, "delay", "delay_ns"}), "delay_ns",
         "pause_length_micros"),
    also(count<&C::delay_every_operations, 1, kOperationsMax>(
             {Id::kDelayEveryOperations, "delay_every_operations", "delay_every_operations"}),
         "pause_frequency"),
    bytes<&C::chase_window_bytes>({Id::kChaseWindow, "chase_window", "chase_window_bytes"}),
    also(count<&C::repetitions, 1, 1000>({Id::kRepetitions, "repetitions", ""}), "replications"),
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

std::string key_of_parameter(const std::string& parameter) {
  for (const auto& key : kKeys) {
    if (key.parameter == parameter) return std::string(key.name);
  }
  return parameter;
}

}  // namespace holdfast::bench::memory
