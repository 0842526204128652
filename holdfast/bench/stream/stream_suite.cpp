#include <holdfast/bench/stream/stream_suite.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <string_view>
#include <utility>

#include <holdfast/bench/environment.hpp>
#include <holdfast/bench/peers.hpp>
#include <holdfast/bench/stream/query_subject.hpp>

namespace holdfast::bench::stream {
namespace {

constexpr std::array<std::string_view, 6> kStates = {
    "dram", "dram-interpreted", "kv", "kv-interpreted", "floor", "tbb"};

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
  if (options.query != "window-sum") return invalid("query", options.query, "there is window-sum");
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
  if (options.threads != 1)
    return invalid("threads", number(options.threads), "a query has one worker so far: 1");
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

Fields command_of(const StreamBenchOptions& options, const WindowSum& query) {
  Fields command;
  command.set("name", "stream bench");
  command.set("query", Value(options.query));
  command.set("states", Value(options.states));
  command.set("keys", options.keys);
  command.set("events", std::uint64_t{query.events().size()});
  command.set("windows", options.windows);
  command.set("region", Value(options.region));
  command.set("checkpoint_seconds", options.checkpoint_seconds);
  command.set("repeat", options.repeat);
  command.set("phase_seconds", options.seconds);
  command.set("seed", options.seed);
  return command;
}

SubjectEntry entry_of(const std::string& state, const WindowSum& query,
                      const StreamBenchOptions& options, const holdfast::stream::Script& script) {
  if (state == "floor")
    return {state, [&](unsigned) { return std::make_unique<HandWritten<FlatTable>>(query); }, ""};
  if (state == "tbb") {
    const auto make = peer_function<std::unique_ptr<Subject>(const WindowSum&)>(state);
    if (!make) return {state, {}, make.error().detail};
    return {state, [&query, make = *make](unsigned) { return make(query); }, ""};
  }
  const QuerySetting setting{&script, state.starts_with("kv"), state.ends_with("-interpreted"),
                             options.region, options.checkpoint_seconds};
  return {state, [&query, setting](unsigned) { return query_subject(query, setting); }, ""};
}

}  // namespace

Result<StreamBenchResult> run_stream_bench(const StreamBenchOptions& given) {
  auto options = given;
  if (options.region.empty())
    options.region =
        "/dev/shm/holdfast-stream-bench-" + std::to_string(::getpid()) + "?granularity=line";
  HF_RETURN_IF_ERROR(validate(options));
  HF_ASSIGN_OR_RETURN(const auto script, holdfast::stream::Script::prepare(WindowSum::sql()));
  const WindowSum query(options.keys, events_per_ms(options), options.windows, options.seed);
  Plan plan;
  for (const auto& state : options.states)
    plan.subjects.push_back(entry_of(state, query, options, script));
  plan.operations = {{options.query, {}}};
  plan.repetitions = options.repeat;
  plan.seconds = options.seconds;
  plan.latency = false;
  plan.progress = options.progress;
  if (options.progress) announce({&plan, 1});
  auto outcome = run(plan);
  StreamBenchResult result;
  result.trustworthy = outcome.trustworthy;
  result.interrupted = outcome.interrupted;
  result.document.command = command_of(options, query);
  result.document.environment = environment();
  result.document.parameters = {"keys"};
  for (auto& row : outcome.rows) {
    row.set("keys", options.keys);
    row.set("events_per_round", std::uint64_t{query.events().size()});
    result.document.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace holdfast::bench::stream
