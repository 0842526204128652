#include <holdfast/bench/stream/stream_suite.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <holdfast/bench/environment.hpp>
#include <holdfast/bench/peers.hpp>
#include <holdfast/bench/stream/nexmark_subject.hpp>
#include <holdfast/bench/stream/query_subject.hpp>

namespace holdfast::bench::stream {
namespace {

constexpr std::array<std::string_view, 6> kStates = {
    "dram", "dram-interpreted", "kv", "kv-interpreted", "floor", "tbb"};

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

Status validate(const StreamBenchOptions& options) {
  for (const auto& query : options.queries) {
    if (query != kWindowSum && !nexmark_number(query))
      return invalid("query", query, "there are window-sum and nexmark-q0 to nexmark-q22");
    if (std::count(options.queries.begin(), options.queries.end(), query) > 1)
      return invalid("query", query, "is given twice");
  }
  for (const auto& state : options.states) {
    if (std::find(kStates.begin(), kStates.end(), state) == kStates.end())
      return invalid("state", state,
                     "allowed are dram, dram-interpreted, kv, kv-interpreted, floor, tbb");
    if (std::count(options.states.begin(), options.states.end(), state) > 1)
      return invalid("state", state, "is given twice");
  }
  const auto& region = options.region;
  if (region.starts_with("/dev/dax"))
    return invalid("region", region, "the state has no device of its own; a path is wanted");
  std::error_code error;
  if (region.starts_with("/") && std::filesystem::exists(region.substr(0, region.find('?')), error))
    return Error{Errc::kAlreadyExists,
                 "--region '" + region + "' is there; give a path that does not exist"};
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  if (options.keys < 1 || options.keys > 100'000'000)
    return invalid("keys", number(options.keys), "allowed are 1 to 100,000,000");
  if (options.events < 1'000 || options.events > 100'000'000)
    return invalid("events", number(options.events), "allowed are 1,000 to 100,000,000");
  if (options.threads != 1)
    return invalid("threads", number(options.threads), "here a query has one worker: 1");
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

Fields command_of(const StreamBenchOptions& options) {
  Fields command;
  command.set("name", "stream bench");
  command.set("queries", Value(options.queries));
  command.set("states", Value(options.states));
  command.set("keys", options.keys);
  command.set("events", options.events);
  command.set("windows", options.windows);
  command.set("region", Value(options.region));
  command.set("checkpoint_seconds", options.checkpoint_seconds);
  command.set("repeat", options.repeat);
  command.set("phase_seconds", options.seconds);
  command.set("seed", options.seed);
  return command;
}

// Runs the subjects of one query after the other, into one document.
class Suite {
 public:
  explicit Suite(const StreamBenchOptions& options) : options_(options) {
    result_.document.command = command_of(options);
    result_.document.environment = environment();
    result_.document.parameters = {"keys", "events_per_round"};
  }

  Status window_sum() {
    HF_ASSIGN_OR_RETURN(const auto script, holdfast::stream::Script::prepare(WindowSum::sql()));
    const WindowSum query(options_.keys, events_per_ms(options_), options_.windows, options_.seed);
    measure(kWindowSum, {options_.keys, query.events().size()}, [&](const std::string& state) {
      return window_sum_entry(state, query, script.plans().front());
    });
    return {};
  }
  Status nexmark(unsigned number) {
    if (events_ == nullptr) {
      HF_ASSIGN_OR_RETURN(events_, NexmarkEvents::make(options_.events, options_.seed));
    }
    HF_ASSIGN_OR_RETURN(const auto query,
                        NexmarkQuery::make(number, *events_, options_.events, options_.seed));
    measure("nexmark-q" + std::to_string(number), {0, query->rows()},
            [&](const std::string& state) { return nexmark_entry(state, *query); });
    return {};
  }
  bool interrupted() const { return result_.interrupted; }
  StreamBenchResult take() { return std::move(result_); }

 private:
  struct Size {
    std::uint64_t keys, events;
  };

  QuerySetting setting(const std::string& state, const sql::Plan& plan) const {
    return {&plan, state.starts_with("kv"), state.ends_with("-interpreted"), options_.region,
            options_.checkpoint_seconds};
  }
  SubjectEntry window_sum_entry(const std::string& state, const WindowSum& query,
                                const sql::Plan& plan) const {
    if (state == "floor")
      return {state, [&](unsigned) { return std::make_unique<HandWritten<FlatTable>>(query); }, ""};
    if (state == "tbb") {
      const auto make = peer_function<std::unique_ptr<Subject>(const WindowSum&)>(state);
      if (!make) return {state, {}, make.error().detail};
      return {state, [&query, make = *make](unsigned) { return make(query); }, ""};
    }
    return {state,
            [&query, setting = setting(state, plan)](unsigned) {
              return query_subject(query, setting);
            },
            ""};
  }
  SubjectEntry nexmark_entry(const std::string& state, const NexmarkQuery& query) const {
    if (state == "floor") {
      auto* const loop = nexmark_loop(query.number());
      return {state, [&query, loop](unsigned) { return nexmark_floor(query, *loop); }, ""};
    }
    return {state,
            [&query, setting = setting(state, query.plan())](unsigned) {
              return nexmark_subject(query, setting);
            },
            ""};
  }
  // What there is no such subject of has no row.
  bool has(const std::string& query, const std::string& state) const {
    const auto number = nexmark_number(query);
    if (!number) return true;
    return state != "tbb" && (state != "floor" || nexmark_loop(*number) != nullptr);
  }

  template <class EntryOf>
  void measure(const std::string& query, const Size& size, const EntryOf& entry_of) {
    Plan plan;
    for (const auto& state : options_.states) {
      if (has(query, state)) plan.subjects.push_back(entry_of(state));
    }
    plan.operations = {{query, {}}};
    plan.repetitions = options_.repeat;
    plan.seconds = options_.seconds;
    plan.latency = false;
    plan.progress = options_.progress;
    if (options_.progress) announce({&plan, 1});
    auto outcome = run(plan);
    result_.trustworthy = result_.trustworthy && outcome.trustworthy;
    result_.interrupted = outcome.interrupted;
    for (auto& row : outcome.rows) {
      row.set("keys", size.keys);
      row.set("events_per_round", size.events);
      result_.document.rows.push_back(std::move(row));
    }
  }

  const StreamBenchOptions& options_;
  std::unique_ptr<NexmarkEvents> events_;
  StreamBenchResult result_;
};

}  // namespace

Result<StreamBenchResult> run_stream_bench(const StreamBenchOptions& given) {
  auto options = given;
  if (options.region.empty())
    options.region =
        "/dev/shm/holdfast-stream-bench-" + std::to_string(::getpid()) + "?granularity=line";
  HF_RETURN_IF_ERROR(validate(options));
  Suite suite(options);
  for (const auto& query : options.queries) {
    if (suite.interrupted()) break;
    const auto number = nexmark_number(query);
    HF_RETURN_IF_ERROR(number ? suite.nexmark(*number) : suite.window_sum());
  }
  return suite.take();
}

}  // namespace holdfast::bench::stream
