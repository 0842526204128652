#include <holdfast/bench/memory/run.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/hash.hpp>
#include <holdfast/bench/engine/samples.hpp>
#include <holdfast/bench/memory/floor.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/rows.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/results/again.hpp>
#include <holdfast/results/environment.hpp>

namespace holdfast::bench::memory {
namespace {

// So many executions tell what one costs; of the budget a little is left for the end.
constexpr std::uint64_t kExecutionsKnown = 30;
constexpr double kBudgetUsed = 0.98;
constexpr double kBudgetExceeded = 1.1;  // "About" is less than that.
// Fewer repetitions say nothing of how far they differ.
constexpr unsigned kRepetitionsLeast = 3;

// The mapped memory of a run, kept for the next ones: filling gigabytes takes longer than
// measuring.
class Tiers {
 public:
  Tiers(const Plan& plan, const Machine& machine) {
    for (const auto& run : plan.runs) {
      std::map<std::string, unsigned> uses;
      for_each_need(run, [&](const TierNeed& need) {
        auto& largest = largest_[slot(need, uses)];
        largest = std::max(largest, need.bytes);
      });
    }
    std::uint64_t all = 0;
    for (const auto& [name, bytes] : largest_)
      all += bytes;
    roomy_ = all <= machine.available_bytes / 2;
  }

  // One tier for each range of the run, in the order of its parts, the target first.
  Result<std::vector<Tier*>> open_for(const PlannedRun& run) {
    std::vector<std::string> slots;
    std::map<std::string, unsigned> uses;
    std::vector<const TierNeed*> needs;
    for_each_need(run, [&](const TierNeed& need) {
      slots.push_back(slot(need, uses));
      needs.push_back(&need);
    });
    // What the run does not need makes room first.
    const bool all_there = std::all_of(slots.begin(), slots.end(),
                                       [&](const auto& name) { return tiers_.count(name) > 0; });
    if (!all_there || !roomy_) {
      std::erase_if(tiers_, [&](const auto& entry) {
        return std::find(slots.begin(), slots.end(), entry.first) == slots.end();
      });
    }
    std::vector<Tier*> opened;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      auto& tier = tiers_[slots[i]];
      // Where first touches count nothing is kept, and where memory is short no more than needed.
      const bool fits = tier != nullptr && (roomy_ || tier->need().bytes == needs[i]->bytes);
      if (!fits || !needs[i]->prefault) {
        tier.reset();
        auto need = *needs[i];
        if (need.prefault && roomy_) need.bytes = largest_[slots[i]];
        HF_ASSIGN_OR_RETURN(tier, Tier::open(need));
        note(*tier);
      }
      opened.push_back(tier.get());
    }
    return opened;
  }

  const std::vector<results::Fields>& regions() const { return regions_; }
  std::vector<std::string> warnings() const { return {warnings_.begin(), warnings_.end()}; }

 private:
  template <class Visit>
  static void for_each_need(const PlannedRun& run, const Visit& visit) {
    for (const auto& part : run.parts) {
      if (part.uses_target) visit(part.target);
      if (part.uses_dram) visit(part.dram);
    }
  }

  // Two ranges of one run never share memory.
  static std::string slot(const TierNeed& need, std::map<std::string, unsigned>& uses) {
    const auto key = need.key();
    return key + "#" + std::to_string(uses[key]++);
  }

  void note(const Tier& tier) {
    const auto fields = tier.fields();
    const auto same = [&](const results::Fields& other) {
      return other.text("name") == fields.text("name") && other.text("spec") == fields.text("spec");
    };
    const auto found = std::find_if(regions_.begin(), regions_.end(), same);
    if (found == regions_.end())
      regions_.push_back(fields);
    else if (fields.number("bytes") >= found->number("bytes"))
      *found = fields;  // Of several mappings the largest one stands for all.
    for (const auto& warning : tier.warnings())
      warnings_.insert("region " + tier.need().name + ": " + warning);
  }

  std::map<std::string, std::uint64_t> largest_;
  bool roomy_ = true;  // All at their largest fit at the same time.
  std::map<std::string, std::unique_ptr<Tier>> tiers_;
  std::vector<results::Fields> regions_;
  std::set<std::string> warnings_;
};

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options, const Machine& machine,
         const std::function<void(const RunProgress&)>& progress)
      : plan_(plan),
        options_(options),
        machine_(machine),
        progress_(progress),
        tiers_(plan, machine) {
    for (const auto& run : plan.runs) {
      seconds_planned_ += estimated_seconds(run, options);
      executions_planned_ += run.repetitions * (1.0 + options.floor + options.again);
    }
  }

  Result<RunOutcome> all() {
    // Memory that cannot be had is found out before two seconds are spent.
    if (!plan_.runs.empty()) {
      const auto opened = status_of(tiers_.open_for(plan_.runs.front()));
      if (!opened && !interrupted()) return opened.error();
    }
    if (progress_) progress_({0, plan_.runs.size(), "", 0, 0, seconds_planned_});
    limits_ = find_limits(machine_, system_specs());
    auto& document = outcome_.document;
    document.environment = results::environment();
    document.environment.set("vectors", best_kernels().name);
    note_limits();
    document.parameters = parameter_names();
    begin_ = Clock::now();
    for (std::size_t i = 0; i < plan_.runs.size() && !interrupted(); ++i) {
      if (auto status = one(plan_.runs[i], i); !status && !interrupted()) {
        if (document.rows.empty()) return status.error();
        // What was measured before is worth keeping.
        add_failed(plan_.runs[i], status.error().detail);
      }
      seconds_done_ += estimated_seconds(plan_.runs[i], options_);
    }
    outcome_.interrupted = interrupted();
    document.regions = tiers_.regions();
    document.benchmarks = benchmarks();
    document.warnings = tiers_.warnings();
    for (const auto& note : plan_.notes)
      document.warnings.push_back(note);
    if (shortest_s_ < plan_.seconds_per_repetition) {
      document.warnings.push_back("to keep the time budget, repetitions were cut from " +
                                  format_nanoseconds(1e9 * plan_.seconds_per_repetition) +
                                  " to as little as " + format_nanoseconds(1e9 * shortest_s_) +
                                  ": the machine was busy, or slower than planned");
    }
    if (fewer_repetitions_) {
      document.warnings.push_back(
          "to keep the time budget, some rows have fewer repetitions than were asked for");
    }
    const auto seconds = seconds_since(started_);
    if (options_.time_budget_s > 0 && seconds > options_.time_budget_s * kBudgetExceeded) {
      document.warnings.push_back(
          "it took " + std::to_string(std::lround(seconds)) +
          " s, longer than the time budget of " +
          std::to_string(std::lround(options_.time_budget_s)) +
          " s: even the fewest and shortest repetitions need more on a machine so busy");
    }
    if (outcome_.interrupted) {
      document.warnings.push_back(
          "interrupted: rows hold the repetitions that were complete, and "
          "the runs that came later are missing");
    }
    document.command = command();
    return std::move(outcome_);
  }

 private:
  template <class T>
  static Status status_of(const Result<T>& result) {
    return result ? Status() : Status(result.error());
  }

  std::vector<std::string> system_specs() const {
    std::set<std::string> specs;
    for (const auto& run : plan_.runs) {
      for (const auto& part : run.parts) {
        for (const auto* need : {&part.target, &part.dram}) {
          const auto spec = RegionSpec::parse(need->spec);
          if (spec && spec->kind == RegionSpec::Kind::kNode) specs.insert(need->spec);
        }
      }
    }
    return {specs.begin(), specs.end()};
  }

  // What the files say of the benchmarks that were planned.
  std::vector<results::Fields> benchmarks() const {
    std::vector<results::Fields> list;
    const Benchmark* last = nullptr;
    for (const auto& run : plan_.runs) {
      if (run.benchmark == std::exchange(last, run.benchmark)) continue;
      auto& fields = list.emplace_back();
      fields.set("name", run.benchmark->name);
      fields.set("description", run.benchmark->description);
      fields.set("file", run.benchmark->file);
    }
    return list;
  }

  results::Fields command() const {
    results::Fields fields;
    fields.set("name", "bench run");
    fields.set("path", options_.path);
    fields.set("target", options_.target);
    fields.set("seed", options_.seed);
    fields.set("repetitions", options_.repetitions);
    fields.set("scale_auto", options_.scale_auto);
    fields.set("time_budget_s", options_.time_budget_s);
    fields.set("seconds_per_repetition", plan_.seconds_per_repetition);
    fields.set("floor", options_.floor);
    fields.set("again", options_.again);
    if (options_.again) {
      fields.set("again_rows", outcome_.again_rows);
      fields.set("again_within_3_percent", outcome_.again_within_3_percent);
    }
    fields.set("filters", options_.filters);
    fields.set("interrupted", outcome_.interrupted);
    fields.set("seconds", seconds_since(started_));
    return fields;
  }

  void report(const PlannedRun& run, std::size_t index, unsigned repetition) const {
    if (!progress_) return;
    const auto this_run = estimated_seconds(run, options_);
    const auto done = seconds_done_ + this_run * (repetition - 1) / run.repetitions;
    // What estimates were worth so far corrects the rest.
    const auto passed = seconds_since(begin_);
    const auto pace = done > 1 ? passed / done : 1;
    auto left = std::max(0.0, (seconds_planned_ - done) * pace);
    if (options_.time_budget_s > 0) {
      // Within it repetitions are cut to fit. Beyond it they are as short and as few as they get.
      const auto budget_left = options_.time_budget_s - seconds_since(started_);
      const auto shortest = shortest_seconds_left();
      left = std::min(left, std::max(budget_left, shortest));
    }
    progress_({index + 1, plan_.runs.size(), run.label, repetition, run.repetitions, left});
  }

  // What is left of the budget for each execution that is to come, beside what each needs beside.
  struct Pace {
    double left_s = 0, executions = 0, beside_s = 0;
  };
  std::optional<Pace> pace_needed() const {
    if (options_.time_budget_s == 0 || executions_ < kExecutionsKnown) return {};
    const auto done = static_cast<double>(executions_);
    return Pace{kBudgetUsed * options_.time_budget_s - seconds_since(started_),
                executions_planned_ - done,
                std::max(0.0, seconds_since(begin_) - seconds_measured_) / done};
  }

  // What the executions that are to come need at least, as far as one can tell.
  double shortest_seconds_left() const {
    if (executions_ == 0) return 0;
    const auto done = static_cast<double>(executions_);
    const auto beside = std::max(0.0, seconds_since(begin_) - seconds_measured_) / done;
    const auto fewest = static_cast<double>(kRepetitionsLeast * plan_.runs.size());
    const auto least = std::min(1.0, fewest / executions_planned_);
    return std::max(0.0, executions_planned_ - done) * least * (beside + kSecondsMin);
  }

  // Whether the shortest repetitions would not do: then there are fewer of them.
  bool is_late() const {
    const auto now = pace_needed();
    return now && now->left_s < now->executions * (now->beside_s + kSecondsMin);
  }

  // Of a time budget, what the next execution may take. What executions need beside the time that
  // is measured (threads, checks, memory to fill) is what it was so far: on a busy machine more
  // than the plan knew.
  double seconds_allowed() {
    const auto planned = plan_.seconds_per_repetition;
    const auto now = pace_needed();
    if (!now) return planned;
    const auto seconds = seconds_within(now->left_s, now->executions, now->beside_s, planned);
    shortest_s_ = std::min(shortest_s_, seconds);
    return seconds;
  }

  // The CPUs of the threads of all parts, one after another.
  void choose_cpus(std::vector<Load>& loads) const {
    std::map<std::vector<int>, std::size_t> used;  // Of each set of CPUs.
    for (auto& load : loads) {
      const auto& config = load.config;
      if (config.pinning == Pinning::kNone) continue;
      auto cpus = cpus_for(load);
      if (cpus.empty()) continue;
      auto& place = load.placement;
      place.pin_each = config.pinning == Pinning::kCore && config.number_threads <= cpus.size();
      auto& first = used[cpus];
      place.cpus = cpus;
      if (place.pin_each) {
        std::rotate(place.cpus.begin(), place.cpus.begin() + static_cast<long>(first % cpus.size()),
                    place.cpus.end());
      }
      first += config.number_threads;
    }
  }

  std::vector<int> cpus_for(const Load& load) const {
    if (!options_.numa_nodes.empty()) {
      std::vector<int> cpus;
      for (const auto id : options_.numa_nodes) {
        if (const auto* node = machine_.node(id))
          cpus.insert(cpus.end(), node->cpus.begin(), node->cpus.end());
      }
      return cpus;
    }
    if (!options_.use_numa) return machine_.cpus;
    const auto* tier = load.target != nullptr ? load.target : load.dram;
    const auto& nodes = tier->report().nodes;
    return machine_.cpus_for(nodes.empty() ? -1 : nodes.front(), load.config.numa_pattern);
  }

  static void attach(const PlannedRun& run, const std::vector<Tier*>& tiers,
                     std::vector<Load>& loads) {
    std::size_t next = 0;
    for (std::size_t p = 0; p < run.parts.size(); ++p) {
      const auto& part = run.parts[p];
      if (part.uses_target) loads[p].target = tiers[next++];
      if (part.uses_dram) loads[p].dram = tiers[next++];
    }
  }

  // What is measured of one run: each of its subjects, of each part the repetitions.
  struct Measurement {
    const PlannedRun& run;
    std::vector<Load> loads = {};
    std::vector<PreparedLoad> prepared = {};
    std::unique_ptr<Floor> floor = {};
    std::vector<std::string> subjects = {"holdfast"};
    std::vector<std::vector<Series>> series = {};      // [subject][part][repetition]
    std::vector<std::vector<std::string>> wrong = {};  // [subject][part]
  };

  static Load load_of(const PlannedRun& run, const PlannedPart& part, std::uint64_t seed) {
    Load load;
    load.config = part.config;
    load.target_bytes = part.uses_target ? part.config.memory_range.bytes : 0;
    load.dram_bytes = part.uses_dram ? part.config.dram_memory_range.bytes : 0;
    load.seconds_max = run.seconds_max;
    load.seed = mix64(seed + hash64(part.part->name));
    return load;
  }

  Result<Measurement> prepare(const PlannedRun& run) {
    Measurement all{run};
    for (const auto& part : run.parts)
      all.loads.push_back(load_of(run, part, options_.seed));
    HF_ASSIGN_OR_RETURN(const auto tiers, tiers_.open_for(run));
    attach(run, tiers, all.loads);
    choose_cpus(all.loads);
    for (const auto& load : all.loads)
      all.prepared.emplace_back(load);
    if (options_.floor && run.parts.size() == 1) all.floor = Floor::make(all.loads.front());
    if (all.floor != nullptr) all.subjects.emplace_back("floor");
    if (options_.again) all.subjects.emplace_back("again");
    const auto parts = run.parts.size();
    all.series.assign(all.subjects.size(), std::vector<Series>(parts, Series(run.repetitions)));
    all.wrong.assign(all.subjects.size(), std::vector<std::string>(parts));
    return all;
  }

  // Whether there is time for one more repetition.
  bool goes_on(const Measurement& all, std::size_t index, unsigned repetition) {
    const auto& run = all.run;
    if (repetition >= kRepetitionsLeast && is_late()) {
      executions_planned_ -=
          static_cast<double>((run.repetitions - repetition) * all.subjects.size());
      fewer_repetitions_ = true;
      return false;
    }
    report(run, index, repetition + 1);
    return true;
  }

  std::vector<LoadResult> execute_subject(Measurement& all, std::size_t subject,
                                          unsigned repetition) {
    if (all.subjects[subject] == "floor") {
      all.prepared.front().prepare_content();
      return {all.floor->run(all.loads.front(), repetition)};
    }
    std::vector<PreparedLoad*> pointers;
    for (auto& load : all.prepared)
      pointers.push_back(&load);
    return execute(pointers, executions_);
  }

  Status turn(Measurement& all, std::size_t subject, unsigned repetition) {
    // Where first touches count, the memory is new each time.
    if (needs_new_memory(all.run)) {
      HF_ASSIGN_OR_RETURN(const auto tiers, tiers_.open_for(all.run));
      attach(all.run, tiers, all.loads);
      for (std::size_t p = 0; p < all.prepared.size(); ++p)
        all.prepared[p].set_tiers(all.loads[p].target, all.loads[p].dram);
    }
    const auto seconds_max = plan_.seconds_per_repetition > 0 ? seconds_allowed() : 0;
    all.loads.front().seconds_max = seconds_max;  // The floor's.
    for (auto& load : all.prepared)
      load.set_seconds_max(seconds_max);
    ++executions_;
    auto results = execute_subject(all, subject, repetition);
    if (interrupted()) return {};  // Cut short: no sample.
    seconds_measured_ += results.front().seconds;
    for (std::size_t p = 0; p < results.size(); ++p) {
      auto& wrong = all.wrong[subject][p];
      if (results[p].wrong.empty())
        all.series[subject][p][repetition] = std::move(results[p]);
      else if (wrong.empty())
        wrong = results[p].wrong;
    }
    return {};
  }

  Status one(const PlannedRun& run, std::size_t index) {
    report(run, index, 1);
    HF_ASSIGN_OR_RETURN(auto all, prepare(run));
    HF_RETURN_IF_ERROR(in_turn(
        all.subjects.size(), run.repetitions,
        [&](unsigned repetition) { return goes_on(all, index, repetition); },
        [&](std::size_t subject, unsigned repetition) { return turn(all, subject, repetition); }));
    add_rows(run, all.subjects, all.series, all.wrong);
    return {};
  }

  void note_limits() {
    if (!options_.limits_path.empty()) limits_.tighten(options_.limits);
    auto& calibration = outcome_.document.calibration;
    calibration = limits_.fields();
    calibration.set("searches", searches_);
    if (!options_.limits_path.empty()) calibration.set("stricter_limits_of", options_.limits_path);
  }

  // Others may have been at work when the limits were found: before a row is refused for them they
  // are looked for again. Not for ever, as a row that no machine can have stays so.
  bool limits_again() {
    constexpr std::uint64_t kSearches = 4;
    if (searches_ == kSearches) return false;
    ++searches_;
    limits_.loosen(find_limits(machine_, system_specs()));
    note_limits();
    return true;
  }

  void add_failed(const PlannedRun& run, const std::string& why) {
    for (std::size_t p = 0; p < run.parts.size(); ++p) {
      const Series nothing(run.repetitions);
      outcome_.document.rows.push_back(
          *row_of({run, p, machine_, limits_}, "holdfast", nothing, why));
    }
    outcome_.trustworthy = false;
  }

  static bool needs_new_memory(const PlannedRun& run) {
    return std::any_of(run.parts.begin(), run.parts.end(), [](const auto& part) {
      return (part.uses_target && !part.target.prefault) || (part.uses_dram && !part.dram.prefault);
    });
  }

  void add_rows(const PlannedRun& run, const std::vector<std::string>& subjects,
                const std::vector<std::vector<Series>>& series,
                const std::vector<std::vector<std::string>>& wrong) {
    for (std::size_t p = 0; p < run.parts.size(); ++p) {
      results::Row first;  // Of ours; a second measurement is compared with it.
      for (std::size_t s = 0; s < subjects.size(); ++s) {
        auto row = row_of({run, p, machine_, limits_}, subjects[s], series[s][p], wrong[s][p]);
        if (!row) continue;
        if (!row->valid() && wrong[s][p].empty() && limits_again())
          row = row_of({run, p, machine_, limits_}, subjects[s], series[s][p], wrong[s][p]);
        if (run.parts.size() == 2) add_both(*row, series[s][p], series[s][1 - p]);
        for (std::size_t b = 0; b < subjects.size(); ++b) {
          if (b != s && subjects[b] == "floor") compare(*row, series[s][p], series[b][p], "floor");
        }
        if (s == 0) first = *row;
        if (subjects[s] == "again") judge_twice(*row, series[s][p], series[0][p], first);
        outcome_.trustworthy = outcome_.trustworthy && row->valid();
        outcome_.document.rows.push_back(std::move(*row));
      }
    }
  }

  void judge_twice(results::Row& row, const Series& again, const Series& first,
                   const results::Row& first_row) {
    compare(row, again, first, "holdfast");
    if (std::isnan(row.number("time_x_holdfast_median"))) return;
    ++outcome_.again_rows;
    outcome_.again_within_3_percent += results::judge_again(row, first_row);
  }

  const Plan& plan_;
  const RunOptions& options_;
  const Machine& machine_;
  const std::function<void(const RunProgress&)>& progress_;
  Tiers tiers_;
  MachineLimits limits_;
  std::uint64_t searches_ = 1;  // For limits_.
  RunOutcome outcome_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point begin_ = started_;  // Of the first run.
  double seconds_planned_ = 0, seconds_done_ = 0, seconds_measured_ = 0;
  double executions_planned_ = 0;
  double shortest_s_ = std::numeric_limits<double>::infinity();
  std::uint64_t executions_ = 0;
  bool fewer_repetitions_ = false;
};

}  // namespace

Result<RunOutcome> run(const Plan& plan, const RunOptions& options, const Machine& machine,
                       const std::function<void(const RunProgress&)>& progress) {
  return Runner(plan, options, machine, progress).all();
}

}  // namespace holdfast::bench::memory
