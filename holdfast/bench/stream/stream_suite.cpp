#include <holdfast/bench/stream/stream_suite.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <holdfast/bench/stream/nexmark_subject.hpp>
#include <holdfast/bench/stream/other_engines.hpp>
#include <holdfast/bench/stream/query_subject.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/results/environment.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/workers/parallel_operators.hpp>

namespace holdfast::bench::stream {
namespace {

constexpr std::array<std::string_view, 8> kStates = {
    "dram",    "dram-interpreted",    "kv",    "kv-interpreted",
    "rocksdb", "rocksdb-interpreted", "floor", "tbb"};

constexpr const char* kWindowSum = "window-sum";

Error invalid(const std::string& option, const std::string& seen, const std::string& rule) {
  return {Errc::kInvalidOption, "--" + option + " '" + seen + "': " + rule};
}

// Open addressing in slots of 16 bytes, at most half full; a sensor is not negative.
class FlatTable {
 public:
  explicit FlatTable(std::uint64_t keys)
      : slots_(std::bit_ceil(keys * 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  void add(std::int64_t sensor, std::int64_t value) {
    auto at = static_cast<std::uint64_t>(sensor) * 0x9e3779b97f4a7c15u >> shift_;
    while (slots_[at].sensor != sensor) {
      if (slots_[at].sensor < 0) {
        slots_[at].sensor = sensor;
        break;
      }
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at].sum += value;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& slot : slots_) {
      if (slot.sensor >= 0) visit(slot.sensor, slot.sum);
    }
  }
  void clear() { std::fill(slots_.begin(), slots_.end(), Slot{}); }

 private:
  struct Slot {
    std::int64_t sensor = -1, sum = 0;
  };
  std::vector<Slot> slots_;
  int shift_;
};

template <class T>
bool twice(const std::vector<T>& values, const T& value) {
  return std::count(values.begin(), values.end(), value) > 1;
}

// What rows are told apart by.
Status validate_rows(const StreamBenchOptions& options) {
  for (const auto& query : options.queries) {
    if (query != kWindowSum && !nexmark_number(query))
      return invalid("query", query, "there are window-sum and nexmark-q0 to nexmark-q22");
    if (twice(options.queries, query)) return invalid("query", query, "is given twice");
  }
  for (const auto& state : options.states) {
    if (std::find(kStates.begin(), kStates.end(), state) == kStates.end())
      return invalid("state", state,
                     "allowed are dram, kv, rocksdb, each also with -interpreted, floor, tbb");
    if (twice(options.states, state)) return invalid("state", state, "is given twice");
  }
  for (const auto& peer : options.compare) {
    if (twice(options.compare, peer)) return invalid("compare", peer, "is given twice");
  }
  for (const auto threads : options.threads) {
    const auto number = std::to_string(threads);
    if (threads < 1 || threads > holdfast::stream::ParallelOperators::kMostWorkers)
      return invalid("threads", number, "allowed are 1 to 256, with commas between them");
    if (twice(options.threads, threads)) return invalid("threads", number, "is given twice");
  }
  if (options.threads.empty())
    return invalid("threads", "", "allowed are 1 to 256, with commas between them");
  return {};
}

Status validate(const StreamBenchOptions& options) {
  HF_RETURN_IF_ERROR(validate_rows(options));
  const auto& region = options.region;
  if (region.starts_with("/dev/dax"))
    return invalid("region", region, "the state has no device of its own; a path is wanted");
  const bool rocksdb = std::any_of(options.states.begin(), options.states.end(),
                                   [](const auto& state) { return state.starts_with("rocksdb"); });
  if (rocksdb && !region.starts_with("/"))
    return invalid("region", region, "RocksDB wants a path that does not exist");
  std::error_code error;
  if (region.starts_with("/") && std::filesystem::exists(parts_of(region).place, error))
    return Error{Errc::kAlreadyExists,
                 "--region '" + region + "' is there; give a path that does not exist"};
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  if (options.keys < 1 || options.keys > 100'000'000)
    return invalid("keys", number(options.keys), "allowed are 1 to 100,000,000");
  if (options.events < 1'000 || options.events > 100'000'000)
    return invalid("events", number(options.events), "allowed are 1,000 to 100,000,000");
  if (options.events_per_ms > 100'000)
    return invalid("rate", number(options.events_per_ms), "allowed are 1 to 100,000");
  if (options.windows < 1 || options.windows > 100)
    return invalid("windows", number(options.windows), "allowed are 1 to 100");
  if (options.repeat < 1 || options.repeat > 1'000)
    return invalid("repeat", number(options.repeat), "allowed are 1 to 1,000");
  if (!(options.seconds >= 0.001 && options.seconds <= 3'600))
    return invalid("seconds", std::to_string(options.seconds), "allowed are 0.001 to 3,600");
  if (!(options.checkpoint_seconds >= 0.001 && options.checkpoint_seconds <= 3'600))
    return invalid("checkpoint", std::to_string(options.checkpoint_seconds),
                   "allowed are 0.001 to 3,600 seconds");
  return {};
}

// As in the paper's, and three events per key and window where there are many keys.
std::uint64_t events_per_ms(const StreamBenchOptions& options) {
  if (options.events_per_ms != 0) return options.events_per_ms;
  return std::max<std::uint64_t>(100, options.keys * 3 / static_cast<std::uint64_t>(kWindowMs));
}

results::Fields command_of(const StreamBenchOptions& options) {
  results::Fields command;
  command.set("name", "stream bench");
  command.set("queries", options.queries);
  command.set("states", options.states);
  command.set("compare", options.compare);
  command.set("keys", options.keys);
  command.set("events", options.events);
  command.set("windows", options.windows);
  command.set("region", options.region);
  command.set("checkpoint_seconds", options.checkpoint_seconds);
  command.set("repeat", options.repeat);
  command.set("phase_seconds", options.seconds);
  command.set("seed", options.seed);
  return command;
}

// Runs the subjects of one query after the other, into one document.
class Suite {
 public:
  Suite(const StreamBenchOptions& options, OtherEngines& others)
      : options_(options), others_(others) {
    result_.document.command = command_of(options);
    result_.document.environment = results::environment();
    result_.document.parameters = {"keys", "events_per_round"};
  }

  Status window_sum() {
    HF_ASSIGN_OR_RETURN(const auto script, holdfast::stream::Script::prepare(WindowSum::sql()));
    const WindowSum query(options_.keys, events_per_ms(options_), options_.windows, options_.seed);
    const auto& plan = script.plans().front();
    std::vector<SubjectEntry> subjects;
    for (const auto& state : options_.states)
      subjects.push_back(window_sum_entry(state, query, plan));
    std::vector<std::string> missing;
    add(subjects, others_.subjects(query, plan, missing));
    warn_of(missing, kWindowSum);
    measure(kWindowSum, {options_.keys, query.events().size()}, std::move(subjects));
    return {};
  }
  Status nexmark(unsigned number) {
    if (events_ == nullptr) {
      HF_ASSIGN_OR_RETURN(events_, NexmarkEvents::make(options_.events, options_.seed));
    }
    HF_ASSIGN_OR_RETURN(const auto query,
                        NexmarkQuery::make(number, *events_, options_.events, options_.seed));
    const auto name = "nexmark-q" + std::to_string(number);
    std::vector<SubjectEntry> subjects;
    for (const auto& state : options_.states) {
      // What there is no such subject of has no row.
      const bool has = state != "tbb" && (state != "floor" || nexmark_loop(number) != nullptr);
      if (has) subjects.push_back(nexmark_entry(state, *query));
    }
    std::vector<std::string> missing;
    add(subjects, others_.subjects(*query, missing));
    warn_of(missing, name);
    measure(name, {0, query->rows()}, std::move(subjects));
    return {};
  }
  bool interrupted() const { return result_.interrupted; }
  BenchResult take() { return std::move(result_); }

 private:
  struct Size {
    std::uint64_t keys, events;
  };

  QuerySetting setting(const std::string& state, const sql::Plan& plan) const {
    const auto in = state.starts_with("kv")        ? StateIn::kKv
                    : state.starts_with("rocksdb") ? StateIn::kRocksdb
                                                   : StateIn::kMemory;
    return {&plan, in, state.ends_with("-interpreted"), options_.region,
            options_.checkpoint_seconds};
  }
  void warn(const std::string& what) { result_.document.warnings.push_back(what); }
  // A query on one worker only, where it cannot be split.
  SubjectEntry limited(SubjectEntry entry, const std::string& query, const sql::Plan& plan) {
    const auto split = holdfast::stream::InterpretedOperators::can_split(plan, false);
    if (split) return entry;
    entry.threads_max = 1;
    if (options_.threads != std::vector<unsigned>{1})
      warn(query + ", " + entry.name + ": one worker only: " + split.error().detail);
    return entry;
  }
  SubjectEntry by_hand(SubjectEntry entry, const std::string& query) {
    entry.threads_max = 1;
    if (options_.threads != std::vector<unsigned>{1})
      warn(query + ", " + entry.name + ": one thread only: a loop by hand");
    return entry;
  }

  static void add(std::vector<SubjectEntry>& subjects, std::vector<SubjectEntry> more) {
    std::move(more.begin(), more.end(), std::back_inserter(subjects));
  }
  void warn_of(const std::vector<std::string>& missing, const std::string& query) {
    for (const auto& name : missing)
      warn(query + ": " + name + " has no row: the query is not written for it");
  }

  SubjectEntry window_sum_entry(const std::string& state, const WindowSum& query,
                                const sql::Plan& plan) {
    if (state == "floor") {
      const auto make = [&](unsigned) { return std::make_unique<HandWritten<FlatTable>>(query); };
      return by_hand({state, make, ""}, kWindowSum);
    }
    if (state == "tbb") {
      const auto make = modules::function<std::unique_ptr<Subject>(const WindowSum&)>(state);
      if (!make) return {state, {}, make.error().detail};
      const auto made = [&query, make = *make](unsigned) { return make(query); };
      return by_hand({state, made, ""}, kWindowSum);
    }
    const auto make = [&query, setting = setting(state, plan)](unsigned) {
      return query_subject(query, setting);
    };
    return limited({state, make, ""}, kWindowSum, plan);
  }
  SubjectEntry nexmark_entry(const std::string& state, const NexmarkQuery& query) {
    const auto name = "nexmark-q" + std::to_string(query.number());
    if (state == "floor") {
      auto* const loop = nexmark_loop(query.number());
      const auto make = [&query, loop](unsigned) { return nexmark_floor(query, *loop); };
      return by_hand({state, make, ""}, name);
    }
    const auto make = [&query, setting = setting(state, query.plan())](unsigned) {
      return nexmark_subject(query, setting);
    };
    return limited({state, make, ""}, name, query.plan());
  }
  void measure(const std::string& query, const Size& size, std::vector<SubjectEntry> subjects) {
    Plan plan;
    plan.subjects = std::move(subjects);
    plan.threads = options_.threads;
    plan.operations = {{query, {}}};
    plan.repetitions = options_.repeat;
    plan.seconds = options_.seconds;
    plan.latency = false;
    plan.progress = options_.progress;
    if (options_.progress) announce({&plan, 1});
    auto outcome = run(plan);
    for (auto& row : outcome.rows) {
      row.set("keys", size.keys);
      row.set("events_per_round", size.events);
    }
    result_.take(std::move(outcome));
  }

  const StreamBenchOptions& options_;
  OtherEngines& others_;
  std::unique_ptr<NexmarkEvents> events_;
  BenchResult result_;
};

}  // namespace

Result<BenchResult> run_stream_bench(const StreamBenchOptions& given, OtherEngines& others) {
  auto options = given;
  if (options.region.empty())
    options.region =
        "/dev/shm/holdfast-stream-bench-" + std::to_string(::getpid()) + "?granularity=line";
  HF_ASSIGN_OR_RETURN(options.compare, others.names(options.compare));
  HF_RETURN_IF_ERROR(validate(options));
  // Before anything is made: an engine that is missing is named at once.
  HF_RETURN_IF_ERROR(others.start(options));
  Suite suite(options, others);
  for (const auto& query : options.queries) {
    if (suite.interrupted()) break;
    const auto number = nexmark_number(query);
    HF_RETURN_IF_ERROR(number ? suite.nexmark(*number) : suite.window_sum());
  }
  return suite.take();
}

}  // namespace holdfast::bench::stream
