#include <holdfast/bench/memory/plan.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/bench/memory/worker.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::bench::memory {
namespace {

using yaml::in_quotes;
using yaml::suggestion;

// Calibration and opening the regions.
constexpr double kStartSeconds = 6;
// Of a repetition beside what is timed: threads, checks; and of a run: access lists.
constexpr double kRepetitionOverhead = 0.01;
constexpr double kRunOverhead = 0.15;
constexpr double kSecondsMax = 10;
constexpr double kSecondsScaled = 0.25;  // With --scale auto and no budget.
// A sample waits for what is under way and keeps others from overlapping with it. With one in a
// hundred operations the rate is about 2 % lower.
constexpr std::uint64_t kSampleEveryLeast = 100;

// Of a repetition; where the file gives a number of operations, a guess of 5 GB/s and 10 M accesses
// per second for each thread.
double seconds_as_written(const Config& config) {
  if (config.run_time_s > 0) return config.run_time_s;
  const auto pass = config.memory_range.bytes / std::max<std::uint64_t>(1, config.access_bytes);
  const auto operations = static_cast<double>(
      config.sequential() && !config.is_set(KeyId::kNumberOperations) ? pass
                                                                      : config.number_operations);
  const auto bytes = operations * static_cast<double>(bytes_per_operation(config));
  return std::max(operations / 10e6, bytes / 5e9) / config.number_threads;
}

class Planner {
 public:
  Planner(const RunOptions& options, const Machine& machine, yaml::Diagnostics& diagnostics)
      : options_(options), machine_(machine), diagnostics_(diagnostics) {}

  Plan make() {
    plan_.workloads = read_workloads(options_.path, diagnostics_);
    define_regions();
    for (const auto& benchmark : plan_.workloads.benchmarks)
      add_runs(benchmark);
    if (!options_.list_only) check_targets();
    check_regions_are_used();
    note_what_is_left_out();
    check_filters();
    set_times();
    return std::move(plan_);
  }

 private:
  // ---- regions ----

  void define_regions() {
    RegionDefinition dram;
    dram.name = "dram";
    regions_["dram"] = dram;
    for (const auto& region : plan_.workloads.regions)
      regions_[region.name] = region;
    for (const auto& [name, spec] : options_.regions) {
      auto& region = regions_[name];
      region = RegionDefinition();
      region.name = name;
      region.spec = spec;
      region.file = "--region " + name;
    }
    if (!options_.target.empty()) {
      RegionDefinition target;
      target.name = "target";
      target.spec = options_.target;
      target.file = "--target";
      regions_["target"] = target;
    }
    for (const auto& [name, region] : regions_)
      check_region(region);
  }

  void check_region(const RegionDefinition& region) {
    const auto spec = RegionSpec::parse(region.spec);
    if (!spec) {
      diagnostics_.add(region.file, region.position, spec.error().detail);
      return;
    }
    const auto check_node = [&](int node) {
      if (machine_.node(node) != nullptr) return;
      std::string there;
      for (const auto& known : machine_.nodes)
        there += (there.empty() ? "" : ", ") + std::to_string(known.id);
      const auto message = "region " + in_quotes(region.name) +
                           " is wanted, but there is no NUMA " + "node " + std::to_string(node) +
                           "; this machine has node" + (machine_.nodes.size() == 1 ? " " : "s ") +
                           there;
      // A file for large servers also runs on small ones, as far as it does not use it there; what
      // the command names must be there.
      if (region.position.line > 0)
        missing_[region.name] = message;
      else
        diagnostics_.add(region.file, region.position, message);
    };
    for (const int node : spec->nodes)
      check_node(node);
    for (const auto node : region.nodes)
      check_node(node);
    if (spec->kind != RegionSpec::Kind::kPath) return;
    if (const auto path = path_for_target(spec->path); !path)
      diagnostics_.add(region.file, region.position, path.error().detail);
  }

  // What opening the memory would refuse is refused now, not when a run comes to it.
  void check_targets() {
    std::set<std::string> checked;
    for (const auto& run : plan_.runs) {
      for (const auto& part : run.parts) {
        for (const auto& [used, need] :
             {std::pair{part.uses_target, &part.target}, std::pair{part.uses_dram, &part.dram}}) {
          const auto region = regions_.find(need->name);
          if (!used || region == regions_.end() || !checked.insert(need->key()).second) continue;
          if (const auto status = Tier::check(*need); !status)
            diagnostics_.add(region->second.file, region->second.position, status.error().detail);
        }
      }
    }
  }

  // A user that gives --region wants something measured there. With a name that no benchmark has,
  // all would go somewhere else in silence.
  void check_regions_are_used() {
    std::set<std::string_view> used;
    for (const auto& benchmark : plan_.workloads.benchmarks) {
      for (const auto& part : benchmark.parts) {
        for (const auto& variant : part.variants)
          used.insert({variant.config.region, variant.config.dram_region});
      }
    }
    const std::vector<std::string_view> names(used.begin(), used.end());
    for (const auto& [name, spec] : options_.regions) {
      if (used.count(name) == 0 && !used.empty())
        diagnostics_.add("--region " + name, {},
                         "no benchmark here uses a region of that name" + suggestion(name, names));
    }
  }

  // ---- runs ----

  bool wanted(const std::string& label) const {
    if (options_.filters.empty()) return true;
    return std::any_of(options_.filters.begin(), options_.filters.end(),
                       [&](const auto& filter) { return label.find(filter) != std::string::npos; });
  }

  void check_filters() {
    if (!plan_.runs.empty() || !diagnostics_.empty()) return;
    std::vector<std::string_view> names;
    for (const auto& benchmark : plan_.workloads.benchmarks)
      names.push_back(benchmark.name);
    const std::string nothing = "nothing in it can run on this machine";
    // What was filtered out is not left out: then all that was wanted is.
    for (const auto& [reason, benchmarks] : left_out_)
      diagnostics_.add(options_.path, {}, nothing + ": " + left_out_text(reason, benchmarks));
    if (!left_out_.empty()) return;
    if (options_.filters.empty()) return diagnostics_.add(options_.path, {}, nothing);
    for (const auto& filter : options_.filters)
      diagnostics_.add("--filter", {},
                       in_quotes(filter) + " matches no benchmark" + suggestion(filter, names));
  }

  void add_runs(const Benchmark& benchmark) {
    std::set<std::string> seen;  // With --scale auto several variants become the same.
    std::vector<std::size_t> chosen(benchmark.parts.size(), 0);
    for (std::size_t i = 0; i < benchmark.runs(); ++i) {
      PlannedRun run;
      run.benchmark = &benchmark;
      for (std::size_t p = 0; p < chosen.size(); ++p) {
        PlannedPart part;
        part.part = &benchmark.parts[p];
        part.variant = &part.part->variants[chosen[p]];
        part.config = part.variant->config;
        run.parts.push_back(std::move(part));
      }
      for (auto p = chosen.size(); p-- > 0;) {
        if (++chosen[p] < benchmark.parts[p].variants.size()) break;
        chosen[p] = 0;
      }
      run.label = label_of(run);
      if (!wanted(run.label)) continue;
      if (options_.scale_auto) fit_threads(run);
      if (const auto reason = obstacle(run); !reason.empty()) {
        left_out_[reason].insert(benchmark.name);
        continue;
      }
      resolve(run);
      run.label = label_of(run);
      if (options_.scale_auto && !seen.insert(run.label).second) {
        ++same_as_others_;
        continue;
      }
      run.repetitions = run.parts.front().config.repetitions > 0
                            ? run.parts.front().config.repetitions
                            : options_.repetitions;
      plan_.runs.push_back(std::move(run));
    }
  }

  void note_what_is_left_out() {
    if (same_as_others_ > 0) {
      note_once(
          std::to_string(same_as_others_) + " combinations that ask for more threads than the " +
          std::to_string(machine_.cpus.size()) + " CPUs here would repeat others and are left out");
    }
    for (const auto& [reason, benchmarks] : left_out_)
      note_once(left_out_text(reason, benchmarks));
  }

  static std::string left_out_text(const std::string& reason,
                                   const std::set<std::string>& benchmarks) {
    return reason + ": left out of " + joined(benchmarks, ", ");
  }

  void note_once(const std::string& note) {
    if (std::find(plan_.notes.begin(), plan_.notes.end(), note) == plan_.notes.end())
      plan_.notes.push_back(note);
  }

  static std::string label_of(const PlannedRun& run) {
    auto label = run.benchmark->name;
    for (const auto& part : run.parts) {
      if (run.parts.size() > 1) label += " " + part.part->name + ":";
      for (const auto& [key, text] : part.variant->matrix) {
        const auto* known = find_key(key);
        // As it is now: --scale auto may have changed it.
        const bool fitted = known->id == KeyId::kNumberThreads;
        label += " " + key + "=" + (fitted ? known->get(part.config) : text);
      }
    }
    return label;
  }

  void fit_threads(PlannedRun& run) const {
    const auto cpus = std::max<std::size_t>(1, machine_.cpus.size());
    std::size_t total = 0;
    for (const auto& part : run.parts)
      total += part.config.number_threads;
    if (total <= cpus) return;
    for (auto& part : run.parts) {
      auto& config = part.config;
      const auto share = config.number_threads * cpus / total;
      config.number_threads = static_cast<unsigned>(std::max<std::size_t>(1, share));
      if (config.number_partitions > 1 && config.number_threads % config.number_partitions != 0)
        config.number_partitions = config.number_threads;
    }
  }

  // Why this run cannot be here though its file is right: a mistake, or with --scale auto a note.
  std::string obstacle(const PlannedRun& run) {
    if (options_.list_only) return {};
    for (const auto& part : run.parts) {
      const auto& config = part.config;
      for (const auto& [used, name] : {std::pair{config.uses_target(), config.region},
                                       std::pair{config.uses_dram(), config.dram_region}}) {
        if (!used) continue;
        if (const auto found = missing_.find(name); found != missing_.end())
          return missing_region(name, found->second);
      }
      if (config.numa_pattern != NumaPattern::kNear && options_.use_numa && !machine_.has_far()) {
        const auto message = std::string(name(config.numa_pattern)) +
                             " is wanted, but no CPU of this machine is far from the memory";
        if (options_.scale_auto) return "numa_pattern " + message;
        problem(part, KeyId::kNumaPattern, message);
      }
    }
    return {};
  }

  // Said once, where the file defines the region.
  std::string missing_region(const std::string& name, const std::string& reason) {
    if (!options_.scale_auto && said_missing_.insert(name).second) {
      const auto& region = regions_.at(name);
      diagnostics_.add(region.file, region.position, reason);
    }
    return reason;
  }

  void problem(const PlannedPart& part, KeyId key, const std::string& message) {
    const auto& config = part.config;
    auto place = config.places[static_cast<std::size_t>(key)];
    auto text = std::string(keys()[static_cast<std::size_t>(key)].name) + ": " + message;
    if (place.line == 0) {
      place = part.part->position;
      text = "benchmark " + in_quotes(part.part->name) + ": " + text;
    }
    diagnostics_.add(file_of(part), place, text);
  }

  std::string file_of(const PlannedPart& part) const {
    for (const auto& benchmark : plan_.workloads.benchmarks) {
      for (const auto& candidate : benchmark.parts) {
        if (&candidate == part.part) return benchmark.file;
      }
    }
    return options_.path;
  }

  void resolve(PlannedRun& run) {
    std::uint64_t system_memory = 0;
    const auto shares = count_ranges(run);
    for (auto& part : run.parts) {
      auto& config = part.config;
      part.uses_target = config.uses_target();
      part.uses_dram = config.uses_dram();
      part.shared = is_shared(config) && regions_.count(config.region) > 0 &&
                    regions_.count(config.dram_region) > 0;
      if (part.uses_target || part.shared)
        resolve_range(part, KeyId::kMemoryRange, KeyId::kRegion, config.memory_range, config.region,
                      config.huge_pages, shares, part.target);
      else
        config.memory_range = {};
      if (part.uses_dram || part.shared)
        resolve_range(part, KeyId::kDramMemoryRange, KeyId::kDramRegion, config.dram_memory_range,
                      config.dram_region, "", shares, part.dram);
      else
        config.dram_memory_range = {};
      if (config.custom()) check_chain_fits(part);
      if (part.uses_target && is_system_memory(part.target)) system_memory += part.target.bytes;
      if (part.uses_dram && is_system_memory(part.dram)) system_memory += part.dram.bytes;
    }
    if (options_.list_only) return;
    if (system_memory > machine_.available_bytes / 10 * 9) {
      problem(run.parts.front(), KeyId::kMemoryRange,
              "too little memory: " + format_bytes(system_memory) + " are needed, " +
                  format_bytes(machine_.available_bytes) +
                  " are available; make the range smaller, or use --scale auto");
    }
    check_space(run);
  }

  // Files of one run are there at the same time. Those that lie in memory were counted as such.
  void check_space(const PlannedRun& run) {
    std::map<std::string, std::uint64_t> needed;  // By path.
    for (const auto& part : run.parts) {
      for (const auto& [used, key, need] :
           {std::tuple{part.uses_target, KeyId::kMemoryRange, &part.target},
            std::tuple{part.uses_dram, KeyId::kDramMemoryRange, &part.dram}}) {
        const auto spec = RegionSpec::parse(need->spec);
        if (!used || !spec || spec->kind != RegionSpec::Kind::kPath || is_system_memory(*need))
          continue;
        const auto free = bytes_free_for(spec->path);
        auto& bytes = needed[spec->path];
        bytes += need->bytes;
        if (bytes <= free) continue;
        problem(part, key,
                "too little space: " + format_bytes(bytes) + " are needed, " + spec->path +
                    " has " + format_bytes(free) + "; make the range smaller, or use --scale auto");
      }
    }
  }

  static bool is_shared(const Config& config) {
    return config.is_set(KeyId::kDramOperationRatio) && config.dram_memory_range.bytes > 0;
  }

  static unsigned count_ranges(const PlannedRun& run) {
    unsigned count = 0;
    for (const auto& part : run.parts) {
      const auto& config = part.config;
      count += is_shared(config) ? 2 : config.uses_target() + config.uses_dram();
    }
    return std::max(1u, count);
  }

  // Anonymous memory, and tmpfs, which takes from the same.
  static bool is_system_memory(const TierNeed& need) {
    const auto spec = RegionSpec::parse(need.spec);
    return spec && (spec->kind != RegionSpec::Kind::kPath || spec->path.starts_with("/dev/shm"));
  }

  void resolve_range(PlannedPart& part, KeyId range_key, KeyId region_key, Extent& range,
                     const std::string& name, const std::string& huge, unsigned shares,
                     TierNeed& need) {
    const auto found = regions_.find(name);
    if (found == regions_.end()) {
      if (name == "target")
        return diagnostics_.add("--target", {},
                                "is missing: benchmark " + in_quotes(part.part->name) +
                                    " measures it; give --target SPEC (a path, /dev/daxX.Y, dram "
                                    "or node:N), or --dram");
      std::vector<std::string_view> names;
      for (const auto& [known, region] : regions_)
        names.push_back(known);
      return problem(part, region_key,
                     in_quotes(name) + " is no region" + suggestion(name, names) +
                         " (regions come from the file's `regions` and from --region NAME=SPEC)");
    }
    const auto& config = part.config;
    need.name = name;
    need.spec = with_huge_pages(found->second.spec, huge, config.dram_huge_pages);
    need.nodes = found->second.nodes;
    need.weights = found->second.weights;
    need.erase_device = options_.erase_device;
    need.prefault = config.prefault || config.has_reads();
    const auto unit = unit_of(config);
    if (range.percent > 0) {
      const auto bytes = static_cast<std::uint64_t>(static_cast<double>(machine_.available_bytes) *
                                                    range.percent / 100);
      range = {std::max(unit, bytes / unit * unit), 0};
    }
    if (options_.scale_auto) {
      const auto most = largest_range(need.spec, shares);
      if (range.bytes > most) {
        if (most < kCachesInRange * machine_.last_level_cache_bytes) {
          note_once("region " + name + " has room for ranges of " + format_bytes(most) +
                    " only, less than four times the last-level cache of " +
                    format_bytes(machine_.last_level_cache_bytes) +
                    ": part of what is measured is the cache");
        }
        const auto common = std::lcm(unit, common_unit(*part.part));
        range.bytes =
            common <= most / 8 ? most / common * common : std::max(unit, most / unit * unit);
      }
    }
    need.bytes = range.bytes;
    if (range_key == KeyId::kMemoryRange && config.chase() &&
        range.bytes < 2 * kCacheLineBytes * Tier::kChaseStarts) {
      problem(part, range_key,
              "chase needs at least " + format_bytes(2 * kCacheLineBytes * Tier::kChaseStarts));
    }
  }

  // With --scale auto. A power of two: the same file gives the same ranges on machines that are
  // alike, and more or less free memory changes nothing. At least four times the last-level cache,
  // unless that does not fit into half of what there is.
  std::uint64_t largest_range(const std::string& spec_text, unsigned shares) const {
    const auto beyond_cache = std::bit_ceil(kCachesInRange * machine_.last_level_cache_bytes);
    auto room = machine_.available_bytes / 2 / shares;
    const auto spec = RegionSpec::parse(spec_text);
    if (spec && spec->kind == RegionSpec::Kind::kPath)
      room = std::min(room, bytes_free_for(spec->path) / 2 / shares);
    const auto wanted = std::max({std::bit_floor(machine_.available_bytes / 8 / shares),
                                  beyond_cache, std::uint64_t{64 * MiB}});
    return std::min(wanted, std::bit_floor(room));
  }

  // What the ranges of all variants can be a multiple of, so that they are the same; 1 where that
  // is too large.
  std::uint64_t common_unit(const Part& part) {
    const auto [found, is_new] = common_units_.emplace(&part, 1);
    auto& common = found->second;
    if (!is_new) return common;
    for (const auto& variant : part.variants) {
      PlannedRun alone;
      alone.parts.emplace_back();
      alone.parts.front().config = variant.config;
      fit_threads(alone);
      common = std::lcm(common, unit_of(alone.parts.front().config));
      constexpr auto kTooLarge = 16 * GiB;
      if (common > kTooLarge) return common = 1;
    }
    return common;
  }

  // What a range must be a multiple of.
  static std::uint64_t unit_of(const Config& config) {
    if (config.chase()) return std::max<std::uint64_t>(kCacheLineBytes, config.chase_window_bytes);
    if (config.custom()) return 4096;
    const auto access =
        config.exec_mode == ExecMode::kStrided ? config.stride_bytes : config.access_bytes;
    return access * config.partitions();
  }

  static std::string with_huge_pages(const std::string& spec, const std::string& asked,
                                     bool dram_huge_pages) {
    const auto parsed = RegionSpec::parse(spec);
    if (!parsed || parsed->huge != HugePages::kAuto) return spec;
    const auto separator = parts_of(spec).options.empty() ? "?" : "&";
    if (!asked.empty()) return asked == "auto" ? spec : spec + separator + "huge=" + asked;
    if (parsed->kind != RegionSpec::Kind::kPath && !dram_huge_pages)
      return spec + separator + "huge=off";
    return spec;
  }

  void check_chain_fits(const PlannedPart& part) {
    const auto& config = part.config;
    const auto steps =
        chain_steps(config.chain, config.memory_range.bytes, config.dram_memory_range.bytes);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (config.chain[i].write || steps[i].slots > 0) continue;
      problem(part, KeyId::kCustomOperations,
              "operation " + std::to_string(i + 1) +
                  " and the writes after it do not fit into the range");
    }
    if (!steps.empty() && steps.front().slots > (std::uint64_t{1} << 32))
      problem(part, KeyId::kMemoryRange, "holds more than 2^32 places for the first operation");
  }

  // ---- time ----

  void set_times() {
    if (plan_.runs.empty()) return;
    double seconds = options_.scale_auto ? kSecondsScaled : 0;
    if (options_.time_budget_s > 0) {
      double repetitions = 0;
      double fixed = kStartSeconds;
      const double subjects = 1 + options_.floor + options_.again;
      for (const auto& run : plan_.runs) {
        repetitions += run.repetitions * subjects;
        fixed += kRunOverhead + run.repetitions * subjects * kRepetitionOverhead;
      }
      const auto left = std::max(0.0, options_.time_budget_s * 0.9 - fixed);
      seconds = std::clamp(left / repetitions, kSecondsMin, kSecondsMax);
      if (left / repetitions < kSecondsMin) {
        note_once("the time budget is too small for " + std::to_string(plan_.runs.size()) +
                  " runs: each repetition gets " + format_nanoseconds(1e9 * kSecondsMin) +
                  ", and it will be exceeded; --filter chooses some");
      }
    }
    plan_.seconds_per_repetition = seconds;
    if (seconds == 0) return;
    std::size_t longer = 0, by_operations = 0;
    for (auto& run : plan_.runs) {
      run.seconds_max = seconds;
      longer += std::any_of(run.parts.begin(), run.parts.end(),
                            [&](const auto& part) { return part.config.run_time_s > seconds; });
      by_operations += std::all_of(run.parts.begin(), run.parts.end(),
                                   [](const auto& part) { return part.config.run_time_s == 0; });
      for (auto& part : run.parts) {
        // So that a short pass goes on until the time is up; not where the first touch counts.
        const bool first_touch = !part.target.prefault && part.uses_target;
        if (first_touch) continue;
        sample_sooner(part.config, seconds);
        part.config.run_time_s = seconds;
      }
    }
    if (longer + by_operations == 0) return;
    note_once("each repetition ends after " + format_nanoseconds(1e9 * seconds) + " (" +
              (options_.time_budget_s > 0 ? "--time-budget" : "--scale auto") + "): of " +
              std::to_string(plan_.runs.size()) + " runs " + std::to_string(longer) +
              " have a longer run_time in their files, and " + std::to_string(by_operations) +
              " a number of operations");
  }

  // In a shorter repetition every n-th operation gives fewer samples, so n becomes smaller.
  static void sample_sooner(Config& config, double seconds) {
    const auto planned = seconds_as_written(config);
    const auto every = config.latency_sample_frequency;
    if (seconds >= planned || every <= kSampleEveryLeast) return;
    config.sample_sooner =
        std::max(kSampleEveryLeast,
                 static_cast<std::uint64_t>(static_cast<double>(every) * seconds / planned));
  }

  const RunOptions& options_;
  const Machine& machine_;
  yaml::Diagnostics& diagnostics_;
  Plan plan_;
  std::size_t same_as_others_ = 0;
  std::map<std::string, std::set<std::string>> left_out_;  // Benchmarks by the reason.
  std::map<std::string, RegionDefinition> regions_;
  std::map<std::string, std::string> missing_;  // Regions that this machine lacks, and why.
  std::set<std::string> said_missing_;
  std::map<const Part*, std::uint64_t> common_units_;
};

}  // namespace

Plan make_plan(const RunOptions& options, const Machine& machine, yaml::Diagnostics& diagnostics) {
  return Planner(options, machine, diagnostics).make();
}

double estimated_seconds(const PlannedRun& run, const RunOptions& options) {
  double seconds = run.seconds_max;
  for (const auto& part : run.parts) {
    const auto& config = part.config;
    if (config.run_time_s > 0 || run.seconds_max == 0)
      seconds = std::max(seconds, seconds_as_written(config));
  }
  const double subjects = 1 + options.floor + options.again;
  return run.repetitions * subjects * (seconds + kRepetitionOverhead) + kRunOverhead;
}

double seconds_within(double left_s, double executions, double beside_s, double planned_s) {
  const auto least = std::min(kSecondsMin, planned_s);
  return std::clamp(left_s / std::max(1.0, executions) - beside_s, least, planned_s);
}

}  // namespace holdfast::bench::memory
