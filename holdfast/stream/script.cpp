#include "script.hpp"

#include <charconv>
#include <thread>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/changelog_sink.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/late_rows.hpp>
#include <holdfast/stream/shared_run.hpp>
#include <holdfast/stream/source.hpp>
#include <holdfast/stream/workers/sharded_graph.hpp>

namespace holdfast::stream {

Result<Script> Script::prepare(std::string_view text, const OwnFunctions& functions) {
  Script script;
  for (const auto& [name, definition] : functions)
    HF_RETURN_IF_ERROR(script.catalog_->functions().add(name, definition));
  HF_ASSIGN_OR_RETURN(const auto statements, sql::parse(text));
  for (const auto& statement : statements) {
    if (const auto* table = std::get_if<sql::syntax::CreateTable>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->add(*table));
    } else if (const auto* view = std::get_if<sql::syntax::CreateView>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->add(*view));
    } else if (const auto* made = std::get_if<sql::syntax::CreateFunction>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->functions().add(*made));
    } else if (const auto* dropped = std::get_if<sql::syntax::DropFunction>(&statement)) {
      HF_RETURN_IF_ERROR(script.catalog_->functions().drop(*dropped));
    } else if (const auto* query = std::get_if<sql::syntax::QueryStatement>(&statement)) {
      HF_RETURN_IF_ERROR(script.add_query(*query));
    } else {
      HF_RETURN_IF_ERROR(script.set(std::get<sql::syntax::SetOption>(statement).option));
    }
  }
  return script;
}

Status Script::add_query(const sql::syntax::QueryStatement& query) {
  HF_ASSIGN_OR_RETURN(const auto lateness, late_fire_.lateness(query.at));
  HF_ASSIGN_OR_RETURN(auto plan, sql::plan_of(query, *catalog_, lateness));
  if (plan.sink != nullptr && plan.sink == late_rows_)
    return sql::error_at(query.at, "the table " + escape(plan.sink->name) +
                                       " takes the query's late rows; its own go to another one");
  plan.late_rows = late_rows_;
  plans_.push_back(std::move(plan));
  return {};
}

namespace {

constexpr std::string_view kLateFireEnabled = "table.exec.emit.late-fire.enabled",
                           kLateFireDelay = "table.exec.emit.late-fire.delay",
                           kAllowLateness = "table.exec.emit.allow-lateness";

// Whether all of it was read and shown, so that neither its tables nor its state are wanted.
Result<bool> had_finished(const sql::Plan& plan, const std::optional<Checkpoint>& found) {
  if (!found) return false;
  HF_ASSIGN_OR_RETURN(const auto run, RunMetadata::of(*found));
  return run.end == RunEnd::kShown && run.plan == sql::text_of(plan);
}

}  // namespace

Result<bool> LateFire::set(const sql::syntax::Option& option) {
  const auto& value = option.value;
  if (option.key == kLateFireEnabled) {
    if (value != "true" && value != "false")
      return sql::error_at(
          option.at, escape(option.key) + " '" + escape(value) + "': there are true and false");
    enabled = value == "true";
    return true;
  }
  if (option.key != kLateFireDelay && option.key != kAllowLateness) return false;
  const auto time = duration_or_none(value, option.key);
  if (!time) return sql::error_at(option.at, time.error().detail);
  (option.key == kLateFireDelay ? delay : allowed) = *time;
  return true;
}

Result<sql::Lateness> LateFire::lateness(sql::Position at) const {
  if (enabled == (allowed.count() != 0)) return sql::Lateness{allowed.count(), delay.count()};
  if (enabled)
    return sql::error_at(at,
                         std::string(kLateFireEnabled) + " wants " + std::string(kAllowLateness),
                         "SET 'table.exec.emit.allow-lateness' = '1 min'");
  return sql::error_at(at,
                       std::string(kAllowLateness) + " wants " + std::string(kLateFireEnabled) +
                           ": without it late rows are dropped, as in Flink",
                       "SET 'table.exec.emit.late-fire.enabled' = 'true'");
}

Status Script::set(const sql::syntax::Option& option) {
  if (option.key == "execution.checkpointing.interval") {
    auto interval = duration_of(option.value, option.key);
    if (!interval) return sql::error_at(option.at, interval.error().detail);
    interval_ = *interval;
    return {};
  }
  const bool of_sql = option.key == "table.exec.resource.default-parallelism";
  if (of_sql || option.key == "parallelism.default") {
    unsigned workers = 0;
    const auto* const end = option.value.data() + option.value.size();
    const auto read = std::from_chars(option.value.data(), end, workers);
    if (read.ec != std::errc() || read.ptr != end || workers < 1 ||
        workers > ParallelOperators::kMostWorkers) {
      return sql::error_at(option.at, escape(option.key) + " '" + escape(option.value) +
                                          "': allowed are 1 to " +
                                          std::to_string(ParallelOperators::kMostWorkers));
    }
    if (of_sql || !workers_of_sql_) workers_ = workers;
    workers_of_sql_ = workers_of_sql_ || of_sql;
    return {};
  }
  if (option.key == "table.exec.state.ttl") {
    auto idle = duration_or_none(option.value, option.key);
    if (!idle) return sql::error_at(option.at, idle.error().detail);
    idle_state_ = *idle;
    return {};
  }
  if (option.key == "late-rows.table") return set_late_rows(option);
  // As in Flink, but that INSERTs wait for one another where nothing is said.
  if (option.key == "table.dml-sync" && (option.value == "true" || option.value == "false")) {
    side_by_side_ = option.value == "false";
    return {};
  }
  HF_ASSIGN_OR_RETURN(const bool of_late_fire, late_fire_.set(option));
  if (of_late_fire) return {};
  if (option.key == "table.local-time-zone") return {};  // The parser has seen to it.
  if (option.key == "execution.runtime-mode" && option.value == "streaming") return {};
  HF_ASSIGN_OR_RETURN(const bool of_state, set_state_place(option));
  if (of_state) return {};
  return sql::unsupported_at(option.at,
                             "SET '" + escape(option.key) + "' = '" + escape(option.value) + "'");
}

Status Script::set_late_rows(const sql::syntax::Option& option) {
  late_rows_ = nullptr;
  if (option.value.empty()) return {};
  HF_ASSIGN_OR_RETURN(late_rows_, catalog_->find(option.value, option.at));
  const Status fits = check_late_rows(*late_rows_);
  return fits ? fits : sql::error_at(option.at, fits.error().detail);
}

// By Flink's names, those of earlier versions too. `kv` is ours.
Result<bool> Script::set_state_place(const sql::syntax::Option& option) {
  const auto& key = option.key;
  const auto& value = option.value;
  if (key == "state.backend.type" || key == "state.backend") {
    if (value != "hashmap" && value != "rocksdb" && value != "kv")
      return sql::error_at(
          option.at, escape(key) + " '" + escape(value) + "': there are hashmap, rocksdb, kv");
    state_place_.backend = value == "hashmap" ? "dram" : value;
    return true;
  }
  if (key == "execution.checkpointing.dir" || key == "state.checkpoints.dir") {
    const std::string_view path(value);
    constexpr std::string_view kFile = "file://";
    state_place_.directory = path.starts_with(kFile) ? path.substr(kFile.size()) : path;
    if (!state_place_.directory.empty() && state_place_.directory.find("://") == std::string::npos)
      return true;
    return sql::error_at(option.at, escape(key) + " '" + escape(value) +
                                        "': a path is wanted, or one behind file://");
  }
  const bool is_cache = key == "state.backend.rocksdb.block.cache-size";
  if (is_cache || key == "state.backend.kv.memory") {
    std::string text = value;  // "256mb", as Flink writes it.
    if (text.ends_with('b')) text.back() = 'B';
    const auto bytes = parse_bytes(text, key);
    if (!bytes) return sql::error_at(option.at, bytes.error().detail);
    if (is_cache)
      state_place_.rocksdb_cache = std::to_string(*bytes);
    else
      state_place_.kv_memory = *bytes;
    return true;
  }
  return false;
}

// What a query writes to. Refuses a sink that cannot take rows back where the query does so.
Result<std::unique_ptr<Sink>> Script::sink_of(const QueryName& name,
                                              const ScriptOptions& options) const {
  const auto& plan = plans_[name.number - 1];
  if (plan.sink == nullptr && options.on_row)
    return std::unique_ptr<Sink>(std::make_unique<CallbackSink>(options.on_row));
  if (plan.updating && plan.sink == nullptr)
    return open_changelog_sink(plan.columns(), options.output, options.format);
  HF_ASSIGN_OR_RETURN(
      auto sink, open_sink(plan.sink, plan.columns(), options.output, options.format, name.split));
  if (plan.updating && !sink->takes_changes()) {
    return Error{Errc::kUnsupported,
                 "query " + std::to_string(name.number) +
                     ": its rows change while the input goes on, and table " +
                     escape(plan.sink->name) +
                     " takes new rows only; --final writes them as they are at the end"};
  }
  return sink;
}

// Of a plan that is one chain.
Result<std::unique_ptr<Operators>> Script::operators_of(const QueryName& name,
                                                        const ScriptOptions& options, Sink& sink,
                                                        StateStore* state) const {
  const auto& plan = plans_[name.number - 1];
  auto interpreter = std::make_unique<InterpretedOperators>(plan, sink, state);
  if (options.workers < 2 || !InterpretedOperators::can_split(plan, at_the_end(options)))
    return std::unique_ptr<Operators>(std::move(interpreter));
  HF_ASSIGN_OR_RETURN(auto parallel, ParallelOperators::start(std::move(interpreter),
                                                              options.workers, options.sharing));
  return std::unique_ptr<Operators>(std::move(parallel));
}

// Of any other plan.
Result<std::unique_ptr<Operators>> Script::graph_of(const QueryName& name,
                                                    const ScriptOptions& options,
                                                    const std::optional<ShardKeys>& shards,
                                                    graph::GraphSource& source, Sink& sink,
                                                    StateStore* state, LateRows* late_rows) const {
  const auto& plan = plans_[name.number - 1];
  const graph::Retention retention{idle_state_.count()};
  // Compiled code makes its own shards.
  if (shards && options.compile == compile::CompileMode::kNever) {
    HF_ASSIGN_OR_RETURN(auto sharded, ShardedGraph::start(plan, *shards, source, sink, state,
                                                          {options.workers, retention}));
    return std::unique_ptr<Operators>(std::move(sharded));
  }
  return std::unique_ptr<Operators>(
      std::make_unique<graph::GraphOperators>(plan, source, sink, state, retention, late_rows));
}

Result<std::unique_ptr<Pipeline>> Script::pipeline_of(const QueryName& name,
                                                      const ScriptOptions& options,
                                                      const std::optional<ShardKeys>& shards,
                                                      StateStore* state,
                                                      QueryMonitor* monitor) const {
  const auto& plan = plans_[name.number - 1];
  HF_ASSIGN_OR_RETURN(auto sink, sink_of(name, options));
  WatchedSink* watched = nullptr;
  if (monitor != nullptr) {
    auto watching = std::make_unique<WatchedSink>(std::move(sink), plan.columns(), *monitor);
    watched = watching.get();
    sink = std::move(watching);
  }
  SinkWithLateRows* late_rows = nullptr;
  if (plan.late_rows != nullptr) {
    HF_ASSIGN_OR_RETURN(auto late, open_sink(plan.late_rows, plan.late_rows->columns,
                                             options.output, options.format));
    auto both = std::make_unique<SinkWithLateRows>(plan, std::move(sink), std::move(late));
    late_rows = both.get();
    sink = std::move(both);
  }
  std::unique_ptr<Source> source;
  std::unique_ptr<Operators> operators;
  if (InterpretedOperators::can_run(plan, at_the_end(options))) {
    HF_ASSIGN_OR_RETURN(source, open_source(plan.source(), name.split));
    HF_ASSIGN_OR_RETURN(operators, operators_of(name, options, *sink, state));
  } else {
    HF_ASSIGN_OR_RETURN(auto tables, graph::GraphSource::open(plan));
    HF_ASSIGN_OR_RETURN(operators,
                        graph_of(name, options, shards, *tables, *sink, state, late_rows));
    source = std::move(tables);
  }
  auto pipeline = std::make_unique<Pipeline>(plan, std::move(source), std::move(sink), state,
                                             std::move(operators));
  if (watched != nullptr) pipeline->watch(*monitor, *watched);
  return pipeline;
}

void Script::show_final_state() {
  for (auto& plan : plans_) {
    const bool chain = idle_state_.count() == 0 && InterpretedOperators::can_run(plan, true);
    if (plan.updating && !chain) {
      const auto root = static_cast<std::uint32_t>(plan.nodes.size() - 1);
      auto columns = plan.columns();
      plan.nodes.push_back({sql::Materialize{}, std::move(columns), {root}, false});
    }
    plan.updating = false;
  }
}

Status Script::run(const ScriptOptions& options, const std::atomic<bool>& stop) {
  if (options.final_state) show_final_state();
  // Rows of several threads: one at a time.
  KernelMutex mutex;
  ScriptOptions ordered = options;
  ordered.output = Output(
      [&](std::string_view text) {
        const Lock lock(mutex);
        return options.output(text);
      },
      [&] {
        const Lock lock(mutex);
        return options.output.flush();
      });
  const bool alone = !side_by_side_ && options.members_directory.empty();
  const auto& chosen = alone ? options : ordered;
  if (side_by_side_) return run_side_by_side(chosen, stop);
  for (std::size_t i = 0; i < plans_.size() && !stop.load(); ++i)
    HF_RETURN_IF_ERROR(run_query(i + 1, chosen, stop));
  return {};
}

// All at once. One that fails stops the others, with a checkpoint.
Status Script::run_side_by_side(const ScriptOptions& options, const std::atomic<bool>& stop) const {
  std::atomic<bool> stop_all{false};
  std::atomic<std::size_t> running{plans_.size()};
  std::vector<Status> ended(plans_.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    threads.emplace_back([&, i] {
      ended[i] = run_query(i + 1, options, stop_all);
      if (!ended[i]) stop_all.store(true);
      running.fetch_sub(1);
    });
  }
  while (running.load() > 0) {
    if (stop.load()) stop_all.store(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (auto& thread : threads)
    thread.join();
  for (auto& status : ended)
    HF_RETURN_IF_ERROR(std::move(status));
  return {};
}

Status Script::run_query(std::size_t number, const ScriptOptions& options,
                         const std::atomic<bool>& stop) const {
  if (options.members_directory.empty()) {
    HF_RETURN_IF_ERROR(run_part({number, {}}, options, stop));
    return {};
  }
  if (!InterpretedOperators::can_run(plans_[number - 1], at_the_end(options)))
    return Error{Errc::kUnsupported, "query " + std::to_string(number) +
                                         " joins, ranks or changes rows, or has a table for late "
                                         "ones: its tables are not shared out among several "
                                         "processes"};
  SharedRun shared;
  shared.directory = options.members_directory + "/query-" + std::to_string(number);
  HF_ASSIGN_OR_RETURN(shared.splits, splits_of(plans_[number - 1].source()));
  shared.run = [&](const std::string& split, const std::atomic<bool>& stop_one) {
    return run_part({number, split}, options, stop_one);
  };
  if (options.shares)
    shared.shares = [&](const std::vector<std::string>& held, std::size_t members) {
      options.shares(number, held, members);
    };
  return run_shared(shared, stop);
}

// Of a plan that is no chain; else why it has one worker.
Result<ShardKeys> Script::shards_of(const sql::Plan& plan, const ScriptOptions& options,
                                    const StateStore* state) const {
  HF_ASSIGN_OR_RETURN(auto keys, shard_keys(plan));
  if (options.compile != compile::CompileMode::kNever)
    HF_RETURN_IF_ERROR(compile::can_compile_shards(plan, keys, state));
  // What is idle goes from such a store while no shard has it in memory.
  if (std::uint64_t bytes = 0;
      idle_state_.count() != 0 && state != nullptr && state->finds_groups(bytes))
    return Error{Errc::kUnsupported, "with table.exec.state.ttl shards want --state dram"};
  return keys;
}

// None: one worker, of which it says why, or a chain.
std::optional<ShardKeys> Script::shards_for(const QueryName& name, const ScriptOptions& options,
                                            const StateStore* state) const {
  if (options.workers < 2) return {};
  const auto& plan = plans_[name.number - 1];
  const auto say = [&](const Error& error) {
    if (options.not_split) options.not_split(name.number, error);
  };
  if (InterpretedOperators::can_run(plan, at_the_end(options))) {
    const Status split = InterpretedOperators::can_split(plan, at_the_end(options));
    if (!split) say(split.error());
    return {};
  }
  auto keys = shards_of(plan, options, state);
  if (keys) return *std::move(keys);
  say(keys.error());
  return {};
}

// Compiled code, if the query can be compiled.
Successor Script::successor_of(const QueryName& name, const ScriptOptions& options,
                               std::optional<ShardKeys> keys, const std::atomic<bool>& stop) const {
  const auto& plan = plans_[name.number - 1];
  const auto say = [&options, number = name.number, shared = keys.has_value()](const Error& error) {
    if (!options.not_compiled) return;
    const auto* why = shared ? "; one worker interprets (--compile never: several do)" : "";
    options.not_compiled(number, Error{error.code, error.detail + why});
  };
  std::optional<compile::Shards> shards;
  if (keys) shards = compile::Shards{*std::move(keys), options.workers};
  auto settings = options.compile_settings;
  settings.stop = &stop;
  auto successor = compile::compiled_successor(
      plan, options.compile, settings, shape_of(bool(options.open_state)), say, std::move(shards));
  if (options.workers > 1 && InterpretedOperators::can_split(plan, at_the_end(options)))
    successor = parallel_successor(std::move(successor), options.workers, options.sharing);
  return successor;
}

Result<bool> Script::run_part(const QueryName& name, const ScriptOptions& options,
                              const std::atomic<bool>& stop) const {
  const auto& plan = plans_[name.number - 1];
  std::unique_ptr<StateStore> state;
  if (options.open_state) {
    HF_ASSIGN_OR_RETURN(state, options.open_state(name.number, name.split));
  }
  std::optional<Checkpoint> found;
  if (state != nullptr) {
    HF_ASSIGN_OR_RETURN(found, state->open());
  }
  std::shared_ptr<QueryMonitor> monitor;
  if (options.monitor != nullptr)
    monitor = options.monitor->add(name.number, name.split, sql::text_of(plan));
  HF_ASSIGN_OR_RETURN(const bool done, had_finished(plan, found));
  if (done) {  // Its tables may be gone.
    PipelineReport report;
    report.finished_before = true;
    QueryProgress progress;
    progress.state = QueryState::kFinished;
    progress.last_epoch = found->epoch;
    if (monitor != nullptr) monitor->publish(std::move(progress));
    if (options.report) options.report(name, report);
    return true;
  }
  auto shards = shards_for(name, options, state.get());
  HF_ASSIGN_OR_RETURN(const auto pipeline,
                      pipeline_of(name, options, shards, state.get(), monitor.get()));
  HF_RETURN_IF_ERROR(pipeline->resume(found));
  const auto& report = pipeline->report();
  if (!report.finished_before)
    pipeline->set_successor(successor_of(name, options, std::move(shards), stop));
  if (options.resumed && report.resumed_epoch != 0) options.resumed(name, report);
  HF_RETURN_IF_ERROR(pipeline->run(options.checkpoint_interval, stop));
  if (options.report) options.report(name, report);
  return report.finished || report.finished_before;
}

}  // namespace holdfast::stream
