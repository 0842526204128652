#include "stream_command.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/connector.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/graph/state_room.hpp>
#include <holdfast/stream/savepoint.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_connector.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>
#include <holdfast/stream_rocksdb/rocksdb_state.hpp>

#include "console.hpp"
#include "stream_bench_command.hpp"
#include "stream_page.hpp"
#include "stream_places.hpp"
#include "stream_shell.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

std::atomic<bool> interrupted{false};
extern "C" void interrupt(int) { interrupted.store(true); }

int stream_failed(const Error& error) {
  complain("holdfast stream", plain(error));
  return error.code == Errc::kUnsupported ? kExitBadRequest : exit_code_of(error.code);
}

// Beside those of the layer itself: the store's, and those of modules.
void offer_connectors() {
  stream::set_module_loader([](std::string_view library) { return modules::load(library); });
  stream::offer_kv_connector();
}

Result<stream::Script> prepared(const StreamArguments& arguments) {
  offer_connectors();
  if (arguments.file.empty() == arguments.text.empty())
    return Error{Errc::kInvalidOption, "the SQL is a FILE or the text of -e, one of the two"};
  if (!arguments.text.empty()) return stream::Script::prepare(arguments.text);
  HF_ASSIGN_OR_RETURN(const auto text, stream::read_file(arguments.file));
  return stream::Script::prepare(text);
}

int savepoint(const StreamArguments& given) {
  const auto script = prepared(given);
  if (!script) return stream_failed(script.error());
  const auto arguments = with_state_of(given, *script);
  const auto open = places_of(arguments, Use::kSavepoint);
  if (!open) return stream_failed(open.error());
  if (!*open)
    return stream_failed(
        {Errc::kInvalidOption, "a savepoint wants --checkpoint-dir, --members or --state"});
  const auto files = save_all(*open, arguments, *script);
  if (!files) return stream_failed(files.error());
  for (const auto& file : *files)
    out("{}\n", file);
  return kExitDone;
}

// "query 1", or of a split "query 1, orders-3".
std::string text_of(const stream::QueryName& name) {
  return "query " + std::to_string(name.number) + (name.split.empty() ? "" : ", " + name.split);
}

void tell_resumed(const stream::QueryName& query, const stream::PipelineReport& report) {
  note("{}: resumed from checkpoint {}, {}\n", text_of(query), report.resumed_epoch,
       report.resumed_place);
}

void tell_not_compiled(std::size_t query, const Error& error) {
  note("query {}: interpreted: {}\n", query, plain(error));
}

void tell_not_split(std::size_t query, const Error& error) {
  note("query {}: one worker: {}\n", query, error.detail);
}

void tell_done(const stream::QueryName& name, const stream::PipelineReport& report) {
  const auto query = text_of(name);
  if (report.finished_before) {
    note("{}: it had finished; there is nothing to do\n", query);
    return;
  }
  note("{}: {} in, {} out, {}{}{}\n", query, counted(report.rows_in, "row"),
       with_separators(report.rows_out), counted(report.checkpoints, "checkpoint"),
       report.taken_over ? ", compiled" : "",
       report.finished ? "" : "; interrupted, run it again to go on");
  if (report.late_rows != 0) note("{}: {} dropped\n", query, counted(report.late_rows, "late row"));
  if (report.rows_without_time != 0)
    note("{}: {} without a time dropped\n", query, counted(report.rows_without_time, "row"));
  if (report.malformed != 0) note("{}: {}\n", query, counted(report.malformed, "malformed row"));
  for (const auto& sample : report.malformed_samples)
    note("{}:   {}\n", query, sample);
}

void tell_shares(std::size_t query, const std::vector<std::string>& held, std::size_t members) {
  std::string names;
  for (const auto& split : held)
    names += (names.empty() ? "" : ", ") + split;
  note("query {}: this member of {} has {}\n", query, members, held.empty() ? "nothing" : names);
}

stream::compile::CompileMode mode_of(const std::string& word) {
  using stream::compile::CompileMode;
  return word == "wait"    ? CompileMode::kWait
         : word == "never" ? CompileMode::kNever
                           : CompileMode::kBackground;
}

stream::OutputFormat output_format_of(const std::string& word) {
  return word == "table"  ? stream::OutputFormat::kTable
         : word == "json" ? stream::OutputFormat::kJson
                          : stream::OutputFormat::kCsv;
}

stream::Sharing sharing_of(const std::string& word) {
  return word == "merge"  ? stream::Sharing::kLateMerge
         : word == "keys" ? stream::Sharing::kByKey
                          : stream::Sharing::kMeasured;
}

// What the command line says of a run, but for state and checkpoints.
stream::ScriptOptions options_of(const StreamArguments& arguments) {
  stream::ScriptOptions options;
  options.final_state = arguments.final_state;
  options.output = stream::Output(
      [](std::string_view text) {
        standard_output().write(text);
        return standard_output().status();
      },
      [] {
        standard_output().flush();
        return standard_output().status();
      });
  options.format = output_format_of(arguments.format);
  options.compile = mode_of(arguments.compile);
  options.compile_settings = arguments.compile_settings;
  options.not_compiled = tell_not_compiled;
  options.not_split = tell_not_split;
  options.sharing = sharing_of(arguments.sharing);
  options.resumed = tell_resumed;
  options.report = tell_done;
  options.members_directory = arguments.members;
  options.shares = tell_shares;
  return options;
}

Result<stream::ScriptOptions> options_with_state(const StreamArguments& arguments,
                                                 const stream::Script& script) {
  auto options = options_of(arguments);
  options.checkpoint_interval = script.checkpoint_interval();
  options.workers = arguments.workers != 0 ? arguments.workers : std::max(script.workers(), 1u);
  if (!arguments.checkpoint.empty()) {
    HF_ASSIGN_OR_RETURN(options.checkpoint_interval,
                        stream::duration_of(arguments.checkpoint, "--checkpoint"));
  }
  HF_ASSIGN_OR_RETURN(options.open_state, state_of(with_state_of(arguments, script)));
  if (options.open_state && options.checkpoint_interval.count() == 0)
    options.checkpoint_interval = std::chrono::seconds(1);
  if (!options.open_state && options.checkpoint_interval.count() != 0)
    return Error{Errc::kInvalidOption,
                 "a checkpoint wants --checkpoint-dir, --members, --state kv or --state rocksdb"};
  return options;
}

// What is written appears within a tenth of a second, also in a pipe, without a system call for each
// row.
class Flusher {
 public:
  Flusher() : thread_([this](const std::stop_token& end) { flush_until(end); }) {}

 private:
  void flush_until(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, end, std::chrono::milliseconds(100), [] { return false; }) &&
           !end.stop_requested())
      standard_output().flush();
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // The last: it uses the others.
};

int run_script(const StreamArguments& arguments) {
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  auto script = prepared(arguments);
  if (!script) return stream_failed(script.error());
  auto options = options_with_state(arguments, *script);
  if (!options) return stream_failed(options.error());
  stream::Monitor monitor;
  std::unique_ptr<WebServer> server;
  std::unique_ptr<TerminalView> view;
  if (arguments.ui >= 0) {
    auto served = serve_page(static_cast<std::uint16_t>(arguments.ui), monitor);
    if (!served) return stream_failed(served.error());
    server = *std::move(served);
    note("http://127.0.0.1:{}/\n", server->port());
  }
  if (arguments.watch) view = std::make_unique<TerminalView>(monitor);
  if (server || view) options->monitor = &monitor;
  std::atomic<bool> told{false};  // Queries may run side by side.
  options->report = [&told](const stream::QueryName& name, const stream::PipelineReport& report) {
    told = true;
    tell_done(name, report);
  };
  Status status;
  {
    const Flusher flusher;
    status = script->run(*options, interrupted);
  }
  view.reset();
  standard_output().flush();
  if (!status && standard_output().reader_is_gone()) {
    note("nobody reads standard output any more: the run ends\n");
    return kExitDone;
  }
  if (!status) return stream_failed(status.error());
  if (!interrupted.load()) return kExitDone;
  if (!told) note("interrupted before the first query; run it again\n");
  return kExitFailed;
}

int shell(const StreamArguments& arguments) {
  offer_connectors();
  // Not restarted by the system: Ctrl-C ends a read of the terminal.
  struct sigaction action{};
  action.sa_handler = interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  return run_shell(options_of(arguments), interrupted);
}

int explain(const StreamArguments& given) {
  const auto script = prepared(given);
  if (!script) return stream_failed(script.error());
  const auto arguments = with_state_of(given, *script);
  const bool stored =
      arguments.state != "dram" || !arguments.directory.empty() || !arguments.members.empty();
  std::size_t number = 0;
  for (const auto& plan : script->plans()) {
    ++number;
    const auto head = [&](const char* what) { out("-- query {}: {}\n", number, what); };
    head("plan");
    standard_output().write(sql::text_of(plan));
    standard_output().write(stream::graph::text_of_state(plan, number, arguments.state));
    const auto source = stream::compile::query_source(plan, script->shape_of(stored));
    if (!source) {
      head("no source");
      out("{}\n", plain(source.error()));
      continue;
    }
    if (!source->parts.interpreted.empty()) head("not compiled: the source calls the interpreter");
    for (const auto& part : source->parts.interpreted)
      out("{}\n", part.text);
    head("source");
    standard_output().write(source->text);
  }
  return kExitDone;
}

void add_compiling(CLI::App& app, StreamArguments& arguments) {
  app.add_option("--compile", arguments.compile,
                 "background: interpreted until the compiled query is there; wait: compiled from "
                 "the first row on; never")
      ->check(CLI::IsMember({"background", "wait", "never"}))
      ->default_str("background");
  app.add_option("--compiler", arguments.compile_settings.compiler,
                 "The C++ compiler (default: $CXX, then g++ or clang++)")
      ->type_name("PROGRAM");
  app.add_option("--cache", arguments.compile_settings.directory,
                 "Where compiled queries are kept (default: holdfast/stream in $XDG_CACHE_HOME or "
                 "~/.cache)")
      ->type_name("DIR");
}

void add_places(CLI::App& app, StreamArguments& arguments) {
  app.add_option("--state", arguments.state,
                 "Where the state of queries is (default: what the statements set, else dram)")
      ->check(CLI::IsMember({"dram", "kv", "rocksdb"}));
  app.add_option("--region", arguments.region,
                 "Of --state kv: the region, as of holdfast kv; of --state rocksdb: a directory, "
                 "also with ?cache=512M&buffer=64M. It holds the checkpoints, too")
      ->type_name("SPEC");
  app.add_option("--state-memory", arguments.kv_memory,
                 "Of --state kv: how much of the state memory may have, too (default: a quarter of "
                 "the memory that there is)")
      ->type_name("BYTES");
  app.add_option("--checkpoint-dir", arguments.directory,
                 "Of --state dram: the directory of the checkpoints")
      ->type_name("DIR");
  app.add_option("--members", arguments.members,
                 "Share the partitions of a query's topic out with the other processes that name "
                 "this directory; it holds the checkpoints")
      ->type_name("DIR");
}

void add_workers(CLI::App& app, StreamArguments& arguments) {
  app.add_option("--workers", arguments.workers,
                 "Threads of a query whose rows can be shared out, by keys or to windows; at most, "
                 "for groups of one table (default: what the statements set, else 1)")
      ->check(CLI::Range(1u, stream::ParallelOperators::kMostWorkers))
      ->type_name("N");
  app.add_option("--sharing", arguments.sharing,
                 "How rows are divided among workers. merge: each takes some, groups are merged "
                 "when windows end; keys: each takes the rows of its keys; auto: as measured")
      ->check(CLI::IsMember({"auto", "merge", "keys"}))
      ->default_str("auto");
}

void add_output(CLI::App& app, StreamArguments& arguments, const char* usual) {
  app.add_option("--format", arguments.format, "Of the rows of a plain SELECT: csv, table, json")
      ->check(CLI::IsMember({"csv", "table", "json"}))
      ->default_str(usual);
}

void add_text(CLI::App& app, StreamArguments& arguments) {
  app.add_option("FILE", arguments.file, "A file of SQL statements");
  app.add_option("-e", arguments.text, "The statements themselves")->type_name("SQL");
}

// What runs no query for its result: explain, shell, savepoint.
void add_looks(CLI::App& stream, const std::shared_ptr<StreamArguments>& arguments,
               int& exit_code) {
  auto& explain_app = *stream.add_subcommand(
      "explain", "Show the plans of the statements' queries, and their sources");
  add_text(explain_app, *arguments);
  add_places(explain_app, *arguments);
  explain_app.footer(
      "The place of the state is that of the run: without one the source writes no checkpoints.\n"
      "Examples:\n"
      "  holdfast stream explain sums.sql\n"
      "  holdfast stream explain -e \"SELECT 'hello' AS word\"");
  explain_app.callback([arguments, &exit_code] { exit_code = explain(*arguments); });
  auto& shell_app = *stream.add_subcommand("shell", "Type statements, watch their rows");
  add_output(shell_app, *arguments, "table");
  shell_app.footer(
      "A statement ends with `;`. Ctrl-C ends a query, Ctrl-D the shell.\n"
      "Examples:\n"
      "  holdfast stream shell\n"
      "  holdfast stream shell --format csv");
  shell_app.callback([arguments, &exit_code] {
    if (arguments->format.empty()) arguments->format = "table";
    exit_code = shell(*arguments);
  });
  auto& savepoint_app = *stream.add_subcommand(
      "savepoint", "Keep the last checkpoint of each query, for `run --from`");
  add_text(savepoint_app, *arguments);
  add_places(savepoint_app, *arguments);
  savepoint_app.add_option("--to", arguments->target, "A directory for it")
      ->required()
      ->type_name("DIR");
  savepoint_app.footer(
      "The statements and the place are those of the run. With --checkpoint-dir the query may run "
      "meanwhile; else take it between two runs.\n"
      "Examples:\n"
      "  holdfast stream savepoint sums.sql --checkpoint-dir ./checkpoints --to ./saved\n"
      "  holdfast stream savepoint sums.sql --state kv --region ./state --to ./saved");
  savepoint_app.callback([arguments, &exit_code] { exit_code = savepoint(*arguments); });
}

}  // namespace

void add_stream_command(CLI::App& root, int& exit_code) {
  auto& stream = *root.add_subcommand("stream", kStreamHelp);
  stream.require_subcommand(1);
  stream.footer(
      "Examples:\n"
      "  holdfast stream run sums.sql\n"
      "  holdfast stream run sums.sql --state kv --region ./state\n"
      "  holdfast stream explain sums.sql\n"
      "  holdfast stream shell\n"
      "What the SQL can be: docs/stream.md; functions of your own in C++: docs/functions.md");
  const auto arguments = std::make_shared<StreamArguments>();
  auto& run_app = *stream.add_subcommand(
      "run", "Run the statements; run again with the same state, a query goes on where it was");
  add_text(run_app, *arguments);
  add_places(run_app, *arguments);
  run_app
      .add_option("--checkpoint", arguments->checkpoint,
                  "Time between checkpoints (default: 1s where there is a place for them)")
      ->type_name("TIME");
  run_app
      .add_option("--from", arguments->from,
                  "A savepoint that a query begins with, where it has no checkpoint yet")
      ->type_name("DIR");
  add_output(run_app, *arguments, "csv");
  run_app
      .add_option("--ui", arguments->ui,
                  "A page with what the queries do, on 127.0.0.1, and /metrics for Prometheus; 0: "
                  "a port that is free")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT");
  run_app.add_flag("--watch", arguments->watch,
                   "What the queries do, on standard error, renewed each second");
  add_compiling(run_app, *arguments);
  add_workers(run_app, *arguments);
  run_app.add_flag("--final", arguments->final_state,
                   "Groups without a window: show them when the input has ended");
  run_app.footer(
      "Rows of a plain SELECT go to standard output, all messages to standard error.\n"
      "What the SQL can be: docs/stream.md\n"
      "Examples:\n"
      "  holdfast stream run -e \"SELECT 'hello' AS word\"\n"
      "  holdfast stream run sums.sql --checkpoint-dir ./checkpoints\n"
      "  holdfast stream run sums.sql --state kv --region ./state --checkpoint 5s --ui 8080\n"
      "  holdfast stream run sums.sql --from ./saved --state kv --region ./state");
  run_app.callback([arguments, &exit_code] { exit_code = run_script(*arguments); });
  add_looks(stream, arguments, exit_code);
  add_stream_bench_command(stream, exit_code);
}

}  // namespace holdfast::tools
