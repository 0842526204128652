#include <holdfast/bench/memory/rows.hpp>

#include <algorithm>
#include <cmath>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/bench/engine/samples.hpp>
#include <holdfast/bench/memory/worker.hpp>
#include <holdfast/results/statistics.hpp>

namespace holdfast::bench::memory {
namespace {

constexpr double kSpreadWarning = 0.1;
constexpr double kSecondsShort = 0.01;
constexpr double kStolenWarning = 0.02;
constexpr double kCpuShareWarning = 0.95;

template <class Number>
std::vector<double> of_each(const Series& series, const Number& number) {
  std::vector<double> values;
  for (const auto& result : series)
    values.push_back(result ? number(*result) : Sample::kNone);
  return values;
}

Samples samples_of(const Series& series) {
  Samples samples(static_cast<unsigned>(series.size()));
  for (unsigned i = 0; i < series.size(); ++i) {
    if (!series[i]) continue;
    const auto& result = *series[i];
    samples.set(i, {static_cast<double>(result.operations), result.seconds,
                    static_cast<double>(result.bytes), result.cpu_seconds});
  }
  return samples;
}

// Whether a row says it although the file did not set it.
bool always_said(KeyId id, const PlannedPart& part) {
  const auto& config = part.config;
  switch (id) {
    case KeyId::kExecMode: return true;
    case KeyId::kAccessSize: return !config.custom();
    case KeyId::kOperation: return !config.custom() && config.write_ratio < 0;
    case KeyId::kMemoryRange:
    case KeyId::kRegion: return part.uses_target || part.shared;
    case KeyId::kDramMemoryRange:
    case KeyId::kDramRegion: return part.uses_dram || part.shared;
    case KeyId::kPersistInstruction:
      return config.has_writes() && !config.custom() && !is_atomic(config);
    case KeyId::kRandomDistribution: return config.exec_mode == ExecMode::kRandom;
    case KeyId::kZipfAlpha: return config.distribution == Distribution::kZipf;
    default: return false;
  }
}

// Keys whose value does not tell measurements apart where the mode ignores them.
bool never_said(KeyId id, const PlannedPart& part) {
  const auto& config = part.config;
  if (id == KeyId::kPersistInstruction) return !always_said(id, part);
  if (id == KeyId::kMemoryRange || id == KeyId::kDramMemoryRange) return !always_said(id, part);
  if (id == KeyId::kAccessSize) return config.custom();
  return false;
}

// Reads and writes in bytes per second.
std::pair<double, double> traffic(const Config& config, double bytes_per_s) {
  if (config.custom()) {
    double reads = 0, all = 0;
    for (const auto& operation : config.chain) {
      all += static_cast<double>(operation.bytes);
      if (!operation.write) reads += static_cast<double>(operation.bytes);
    }
    return {bytes_per_s * reads / all, bytes_per_s * (all - reads) / all};
  }
  if (config.chase()) return {bytes_per_s, 0};
  if (config.write_ratio >= 0)
    return {bytes_per_s * (1 - config.write_ratio), bytes_per_s * config.write_ratio};
  return config.has_writes() ? std::pair{0.0, bytes_per_s} : std::pair{bytes_per_s, 0.0};
}

// Whether what is accessed is at least four times the last-level cache, and evenly.
bool beyond_cache(const PlannedPart& part, const Machine& machine) {
  if (part.config.distribution == Distribution::kZipf) return false;
  // Updates go to lines that their reads brought into the cache.
  if (part.config.custom()) return false;
  if (part.config.chase() && part.config.chase_window_bytes > 0) return false;
  const auto limit = kCachesInRange * machine.last_level_cache_bytes;
  return (!part.uses_target || part.config.memory_range.bytes >= limit) &&
         (!part.uses_dram || part.config.dram_memory_range.bytes >= limit);
}

void warn_of_cache(results::Row& row, const PlannedPart& part, const Machine& machine) {
  const auto cache = machine.last_level_cache_bytes;
  for (const auto& [used, range] :
       {std::pair{part.uses_target, part.config.memory_range.bytes},
        std::pair{part.uses_dram, part.config.dram_memory_range.bytes}}) {
    if (!used || range >= kCachesInRange * cache) continue;
    row.warn("a range of " + format_bytes(range) +
             (range <= cache ? " fits into the last-level cache of "
                             : " is less than four times the last-level cache of ") +
             format_bytes(cache) + ": part of what is measured is the cache");
  }
}

// Each of these operations waits for a fence of its own, so one alone cannot take ten times as long
// as one of many: then the sample held something else.
void warn_of_samples(results::Row& row) {
  constexpr double kTooLong = 10;
  const auto mean = row.number("mean_ns");
  const auto each = row.number("ns_per_op_median");
  if (!(row.number("fences_per_op") >= 1 && mean > kTooLong * each)) return;
  row.warn("sampled operations take " + format_nanoseconds(mean) + ", all of them " +
           format_nanoseconds(each) + " each: samples hold more than one operation");
}

void add_warnings(results::Row& row, const Series& series, const Config& config,
                  const Machine& machine) {
  auto rates = samples_of(series).ops_per_s();
  std::erase_if(rates, [](double rate) { return std::isnan(rate); });  // Of what did not count.
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  const auto spread = rates.empty() ? NAN : (*high - *low) / results::median(rates);
  if (std::isfinite(spread)) row.set("spread_ratio", spread);
  std::uint64_t faults = 0, switches = 0;
  unsigned elsewhere = 0;
  double cpu = 0, wall = 0, shortest = 1e9, stolen = 0;
  for (const auto& result : series) {
    if (!result) continue;
    faults += result->page_faults;
    switches += result->involuntary_switches;
    elsewhere = std::max(elsewhere, result->threads_elsewhere);
    stolen = std::max(stolen, result->stolen_ratio);
    cpu += result->cpu_seconds;
    wall += result->seconds * config.number_threads;
    shortest = std::min(shortest, result->seconds);
  }
  row.set("page_faults", faults);
  row.set("involuntary_switches", switches);
  row.set("cpu_share", cpu / wall);
  row.set("stolen_ratio", stolen);
  if (faults > 0 && config.prefault)
    row.warn(printed("%llu page fault%s in the timed part", static_cast<unsigned long long>(faults),
                     faults == 1 ? "" : "s"));
  if (elsewhere > 0)
    row.warn(printed("%u of %u threads were not where thread_pinning: %s puts them", elsewhere,
                     config.number_threads, std::string(name(config.pinning)).c_str()));
  if (stolen > kStolenWarning)
    row.warn(printed("the host of this virtual machine took %.0f %% of a repetition's CPU time",
                     100 * stolen));
  if (shortest < kSecondsShort)
    row.warn(printed("the shortest repetition took %.3g ms only", 1e3 * shortest));
  if (config.number_threads > machine.cpus.size())
    row.warn(printed("more threads than the %zu CPUs", machine.cpus.size()));
  else if (cpu / wall < kCpuShareWarning)
    row.warn(printed("its threads had their CPUs for %.0f %% of the time only: others ran there",
                     100 * cpu / wall));
  if (spread > kSpreadWarning) row.warn(printed("repetitions differ by %.0f %%", 100 * spread));
}

}  // namespace

std::vector<std::string> parameter_names() {
  std::vector<std::string> names = {"part"};
  for (const auto& key : keys()) {
    // How long it was measured does not make it another measurement.
    if (!key.parameter.empty() && key.id != KeyId::kRunTime && key.id != KeyId::kNumberOperations)
      names.emplace_back(key.parameter);
  }
  names.emplace_back("beside");
  return names;
}

results::Fields parameters_of(const PlannedRun& run, std::size_t index) {
  const auto& part = run.parts[index];
  results::Fields fields;
  if (run.parts.size() > 1) fields.set("part", part.part->name);
  for (const auto& key : keys()) {
    if (key.parameter.empty() || never_said(key.id, part)) continue;
    if (part.config.is_set(key.id) || always_said(key.id, part))
      fields.set(key.parameter, key.value(part.config));
  }
  if (run.parts.size() > 1) {
    // The other part and what the matrix made of it.
    const auto& other = run.parts[1 - index];
    auto beside =
        other.part->name + " number_threads=" + std::to_string(other.config.number_threads);
    for (const auto& [key, text] : other.variant->matrix) {
      if (key != "number_threads") beside += " " + key + "=" + text;
    }
    fields.set("beside", beside);
  }
  std::vector<std::string> matrix;
  for (const auto& key : part.part->matrix_keys) {
    const auto& known = *find_key(key);
    matrix.emplace_back(known.parameter.empty() ? "threads" : known.parameter);
  }
  if (!matrix.empty()) fields.set("matrix", matrix);
  return fields;
}

std::optional<results::Row> row_of(const RowContext& context, const std::string& subject,
                                   const Series& series, const std::string& wrong) {
  const auto& part = context.run.parts[context.part];
  const auto& config = part.config;
  const auto counted = static_cast<std::uint64_t>(
      std::count_if(series.begin(), series.end(), [](const auto& r) { return r.has_value(); }));
  if (counted == 0 && wrong.empty()) return {};
  results::Row row(subject, context.run.benchmark->name, config.number_threads);
  row.merge(parameters_of(context.run, context.part));
  if (!wrong.empty()) row.invalidate(wrong);
  if (counted == 0) return row;

  const auto all = samples_of(series);
  all.describe(row);
  row.set("seconds_samples", of_each(series, [](const LoadResult& r) { return r.seconds; }));
  row.set("core_ghz_samples", of_each(series, [](const LoadResult& r) { return r.core_ghz; }));
  double operations = 0, fences = 0;
  Histogram latency;
  const LoadResult* last = nullptr;
  for (const auto& result : series) {
    if (!result) continue;
    operations += static_cast<double>(result->operations);
    fences += static_cast<double>(result->fences);
    latency.merge(result->latency);
    last = &*result;
  }
  row.set("operations_total", operations);
  row.set("thread_ops_per_s", last->thread_ops_per_s);
  row.set("thread_cpus", last->thread_cpus);
  if (config.has_writes() && !is_atomic(config) && subject != "floor")
    row.set("fences_per_op", fences / operations);
  if (config.has_writes() && !config.custom() && !is_atomic(config))
    row.set("write_back", name(flush_of(config.persist)));
  row.set_latency(latency);
  if (latency.count() > 0 && config.sample_sooner > 0)
    row.set("latency_sample_every_operations", config.sample_sooner);
  add_warnings(row, series, config, context.machine);
  warn_of_cache(row, part, context.machine);
  warn_of_samples(row);
  const auto [reads, writes] = traffic(config, results::median(all.bytes_per_s()));
  judge(row, context.limits, context.machine, reads, writes, beyond_cache(part, context.machine));
  return row;
}

void compare(results::Row& row, const Series& series, const Series& baseline,
             const std::string& name) {
  bench::compare(row, samples_of(series), samples_of(baseline), name);
}

void add_both(results::Row& row, const Series& series, const Series& other) {
  auto sums = samples_of(series).bytes_per_s();
  const auto others = samples_of(other).bytes_per_s();
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] += others[i];  // NaN where one of the two did not count.
  if (!std::isnan(results::median(sums))) set_interval(row, "both_bytes_per_s", sums);
}

}  // namespace holdfast::bench::memory
