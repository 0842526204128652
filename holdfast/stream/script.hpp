// script.hpp: an SQL text with several statements, prepared and run one query after the other.
//
// Errors  kInvalidOption, kUnsupported: in the text, with line, column and a hint; and those of
//         pipeline.hpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/callback_sink.hpp>
#include <holdfast/stream/compile/successor.hpp>
#include <holdfast/stream/graph/graph_source.hpp>
#include <holdfast/stream/monitor.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/workers/parallel_operators.hpp>
#include <holdfast/stream/workers/shard_keys.hpp>

namespace holdfast::stream {

// Makes the state store of the query with this number, counted from 1, or of one split of a query
// that is shared out. Null: no checkpoints. Several threads may call it at a time.
using OpenState =
    std::function<Result<std::unique_ptr<StateStore>>(std::size_t query, const std::string& split)>;

struct QueryName {
  std::size_t number = 1;
  std::string split;  // Empty: all of it.
};

// What SET says of the place of the state. Empty fields were not set.
struct StatePlace {
  std::string backend;    // "dram", "kv", "rocksdb".
  std::string directory;  // Of checkpoints; of kv and RocksDB the place that holds the state, too.
  std::string rocksdb_cache;               // Bytes: "256mb".
  std::optional<std::uint64_t> kv_memory;  // Bytes of state that may be in memory beside kv.
};

struct ScriptOptions {
  bool final_state = false;  // Updating queries are shown as they are at the end.
  std::chrono::milliseconds checkpoint_interval{0};
  OpenState open_state;  // May be empty: no checkpoints.
  // Queries are shared out with the other processes that name this directory: shared_run.hpp.
  // Empty: they are not.
  std::string members_directory;
  OnRow on_row;                              // Rows of SELECT; empty: they go to `output`.
  Output output;                             // Rows of SELECT and of `print`.
  OutputFormat format = OutputFormat::kCsv;  // Of rows of SELECT.
  compile::CompileMode compile = compile::CompileMode::kNever;
  compile::CompileSettings compile_settings;
  // May be empty. Is told why a query is not compiled, and why it has one worker.
  std::function<void(std::size_t, const Error&)> not_compiled, not_split;
  unsigned workers = 1;  // Of a query; at most ParallelOperators::kMostWorkers.
  Sharing sharing = Sharing::kMeasured;
  // May be empty. Called before the first row of a query that resumes from a checkpoint, and at the
  // end; by several threads at a time.
  std::function<void(const QueryName&, const PipelineReport&)> resumed, report;
  Monitor* monitor = nullptr;  // May be null: nothing is watched.
  // May be empty. Is told which splits of a query this process has now, and how many members there
  // are.
  std::function<void(std::size_t, const std::vector<std::string>&, std::size_t)> shares;
};

// Functions of the program, which SQL calls by these names (sql/function.hpp).
using OwnFunctions = std::vector<std::pair<std::string, functions::Definition>>;

// What SET 'table.exec.emit.…' says of rows that come behind the end of their window.
struct LateFire {
  bool enabled = false;
  std::chrono::milliseconds allowed{0}, delay{0};

  // False: `option` is none of these.
  Result<bool> set(const sql::syntax::Option& option);
  // Of a query at this place.
  Result<sql::Lateness> lateness(sql::Position at) const;
};

class Script {
 public:
  static Result<Script> prepare(std::string_view text, const OwnFunctions& functions = {});
  const std::vector<sql::Plan>& plans() const { return plans_; }
  // Milliseconds of SET 'execution.checkpointing.interval'; 0: it was not set.
  std::chrono::milliseconds checkpoint_interval() const { return interval_; }
  // What SET 'parallelism.default' and its like say; 0: it was not set.
  unsigned workers() const { return workers_; }
  // What SET 'state.backend.type', 'execution.checkpointing.dir' and their like say.
  const StatePlace& state_place() const { return state_place_; }
  // Of a run with a state store, or without one.
  compile::RunShape shape_of(bool stored) const { return {stored, idle_state_.count() != 0}; }
  Status run(const ScriptOptions& options, const std::atomic<bool>& stop);

 private:
  void show_final_state();
  // Groups without a window are given when the input ends, by operators that keep all of them.
  bool at_the_end(const ScriptOptions& options) const {
    return options.final_state && idle_state_.count() == 0;
  }
  Result<std::unique_ptr<Operators>> graph_of(const QueryName& name, const ScriptOptions& options,
                                              const std::optional<ShardKeys>& shards,
                                              graph::GraphSource& source, Sink& sink,
                                              StateStore* state, LateRows* late_rows) const;
  Result<ShardKeys> shards_of(const sql::Plan& plan, const ScriptOptions& options,
                              const StateStore* state) const;
  std::optional<ShardKeys> shards_for(const QueryName& name, const ScriptOptions& options,
                                      const StateStore* state) const;
  Successor successor_of(const QueryName& name, const ScriptOptions& options,
                         std::optional<ShardKeys> keys, const std::atomic<bool>& stop) const;
  Result<std::unique_ptr<Sink>> sink_of(const QueryName& name, const ScriptOptions& options) const;
  Result<std::unique_ptr<Pipeline>> pipeline_of(const QueryName& name, const ScriptOptions& options,
                                                const std::optional<ShardKeys>& shards,
                                                StateStore* state, QueryMonitor* monitor) const;
  Status set(const sql::syntax::Option& option);
  Status add_query(const sql::syntax::QueryStatement& query);
  // SET 'late-rows.table': of the queries behind it; '' ends it.
  Status set_late_rows(const sql::syntax::Option& option);
  // False: `option` is not one of these.
  Result<bool> set_state_place(const sql::syntax::Option& option);
  Status run_side_by_side(const ScriptOptions& options, const std::atomic<bool>& stop) const;
  Status run_query(std::size_t number, const ScriptOptions& options,
                   const std::atomic<bool>& stop) const;
  Result<std::unique_ptr<Operators>> operators_of(const QueryName& name,
                                                  const ScriptOptions& options, Sink& sink,
                                                  StateStore* state) const;
  // True: it came to its end.
  Result<bool> run_part(const QueryName& name, const ScriptOptions& options,
                        const std::atomic<bool>& stop) const;

  std::unique_ptr<sql::Catalog> catalog_ = std::make_unique<sql::Catalog>();
  std::vector<sql::Plan> plans_;
  const sql::Table* late_rows_ = nullptr;  // These two are of the next query.
  LateFire late_fire_;
  std::chrono::milliseconds interval_{0};
  std::chrono::milliseconds idle_state_{0};  // How long it is kept; 0: without end.
  StatePlace state_place_;
  unsigned workers_ = 0;
  bool workers_of_sql_ = false;  // By the name that counts more.
  bool side_by_side_ = false;
};

}  // namespace holdfast::stream
