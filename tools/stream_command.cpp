#include "stream_command.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

#include "console.hpp"
#include "stream_bench_command.hpp"

namespace holdfast::tools {
namespace {

struct Arguments {
  std::string file, text, state = "dram", region, checkpoint, directory, compile, format;
  stream::compile::CompileSettings compile_settings;
  bool final_state = false;
};

std::atomic<bool> interrupted{false};
extern "C" void interrupt(int) { interrupted.store(true); }

int fail(const Error& error) {
  complain("holdfast stream", plain(error));
  return error.code == Errc::kUnsupported ? kExitBadRequest : exit_code_of(error.code);
}

Result<stream::Script> prepared(const Arguments& arguments) {
  if (arguments.file.empty() == arguments.text.empty())
    return Error{Errc::kInvalidOption, "the SQL is a FILE or the text of -e, one of the two"};
  if (!arguments.text.empty()) return stream::Script::prepare(arguments.text);
  HF_ASSIGN_OR_RETURN(const auto text, stream::read_file(arguments.file));
  return stream::Script::prepare(text);
}

Result<stream::OpenState> state_of(const Arguments& arguments) {
  if (arguments.state == "kv") {
    if (arguments.region.empty())
      return Error{Errc::kInvalidOption, "--state kv wants --region SPEC"};
    if (!arguments.directory.empty())
      return Error{Errc::kInvalidOption,
                   "--checkpoint-dir belongs to --state dram; with --state kv the region of "
                   "--region holds the checkpoints"};
    HF_ASSIGN_OR_RETURN(auto store, stream::KvStateStore::open_region(arguments.region));
    return stream::OpenState([store](std::size_t query) {
      return Result<std::unique_ptr<stream::StateStore>>(
          std::make_unique<stream::KvStateStore>(store, static_cast<std::uint32_t>(query)));
    });
  }
  if (!arguments.region.empty())
    return Error{Errc::kInvalidOption, "--region belongs to --state kv"};
  if (arguments.directory.empty()) return stream::OpenState();
  std::error_code code;
  std::filesystem::create_directories(arguments.directory, code);
  if (code)
    return Error{Errc::kIo, "--checkpoint-dir " + arguments.directory + ": " + code.message()};
  return stream::OpenState([directory = arguments.directory](std::size_t query) {
    return Result<std::unique_ptr<stream::StateStore>>(std::make_unique<stream::SnapshotStore>(
        directory + "/query-" + std::to_string(query) + ".checkpoint"));
  });
}

void tell_resumed(std::size_t query, const stream::PipelineReport& report) {
  note("query {}: resumed from checkpoint {}, {}\n", query, report.resumed_epoch,
       report.resumed_place);
}

void tell_not_compiled(std::size_t query, const Error& error) {
  note("query {}: interpreted: {}\n", query, plain(error));
}

void tell_done(std::size_t query, const stream::PipelineReport& report) {
  if (report.finished_before) {
    note("query {}: it had finished; there is nothing to do\n", query);
    return;
  }
  note("query {}: {} rows in, {} out, {} checkpoints{}{}\n", query, with_separators(report.rows_in),
       with_separators(report.rows_out), report.checkpoints, report.taken_over ? ", compiled" : "",
       report.finished ? "" : "; interrupted, run it again to go on");
  if (report.late_rows != 0)
    note("query {}: {} late rows dropped\n", query, with_separators(report.late_rows));
  if (report.rows_without_time != 0)
    note("query {}: {} rows without a time dropped\n", query,
         with_separators(report.rows_without_time));
  if (report.malformed != 0)
    note("query {}: {} malformed rows\n", query, with_separators(report.malformed));
  for (const auto& sample : report.malformed_samples)
    note("query {}:   {}\n", query, sample);
}

stream::compile::CompileMode mode_of(const std::string& word) {
  using stream::compile::CompileMode;
  return word == "wait"    ? CompileMode::kWait
         : word == "never" ? CompileMode::kNever
                           : CompileMode::kBackground;
}

stream::OutputFormat format_of(const std::string& word) {
  return word == "table"  ? stream::OutputFormat::kTable
         : word == "json" ? stream::OutputFormat::kJson
                          : stream::OutputFormat::kCsv;
}

int run(const Arguments& arguments) {
  const auto script = prepared(arguments);
  if (!script) return fail(script.error());
  stream::ScriptOptions options;
  options.final_state = arguments.final_state;
  options.checkpoint_interval = script->checkpoint_interval();
  if (!arguments.checkpoint.empty()) {
    const auto interval = stream::duration_of(arguments.checkpoint, "--checkpoint");
    if (!interval) return fail(interval.error());
    options.checkpoint_interval = *interval;
  }
  auto state = state_of(arguments);
  if (!state) return fail(state.error());
  options.open_state = *std::move(state);
  if (options.open_state && options.checkpoint_interval.count() == 0)
    options.checkpoint_interval = std::chrono::seconds(1);
  if (!options.open_state && options.checkpoint_interval.count() != 0)
    return fail({Errc::kInvalidOption, "a checkpoint wants --checkpoint-dir, or --state kv"});
  options.output = [](std::string_view text) { standard_output().write(text); };
  options.format = format_of(arguments.format);
  options.compile = mode_of(arguments.compile);
  options.compile_settings = arguments.compile_settings;
  options.not_compiled = tell_not_compiled;
  options.resumed = tell_resumed;
  options.report = tell_done;
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  const Status status = script->run(options, interrupted);
  standard_output().flush();
  if (!status) return fail(status.error());
  return interrupted.load() ? kExitFailed : kExitDone;
}

int explain(const Arguments& arguments) {
  const auto script = prepared(arguments);
  if (!script) return fail(script.error());
  std::size_t number = 0;
  for (const auto& plan : script->plans()) {
    const auto head = [&](const char* what) { out("-- query {}: {}\n", number, what); };
    ++number;
    head("plan");
    standard_output().write(sql::text_of(plan));
    const auto source = stream::compile::query_source(plan);
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

void add_compiling(CLI::App& app, Arguments& arguments) {
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

void add_text(CLI::App& app, Arguments& arguments) {
  app.add_option("FILE", arguments.file, "A file of SQL statements");
  app.add_option("-e", arguments.text, "The statements themselves")->type_name("SQL");
}

}  // namespace

void add_stream_command(CLI::App& root, int& exit_code) {
  auto& stream =
      *root.add_subcommand("stream", "Standing queries in SQL, over events as they come");
  stream.require_subcommand(1);
  const auto arguments = std::make_shared<Arguments>();
  auto& run_app = *stream.add_subcommand(
      "run", "Run the statements; run again with the same state, a query goes on where it was");
  add_text(run_app, *arguments);
  run_app.add_option("--state", arguments->state, "Where the state of windows is")
      ->check(CLI::IsMember({"dram", "kv"}))
      ->capture_default_str();
  run_app
      .add_option("--region", arguments->region,
                  "Of --state kv: the region, as of holdfast kv; it holds the checkpoints, too")
      ->type_name("SPEC");
  run_app
      .add_option("--checkpoint", arguments->checkpoint,
                  "Time between checkpoints (default: 1s where there is a place for them)")
      ->type_name("TIME");
  run_app
      .add_option("--checkpoint-dir", arguments->directory,
                  "Of --state dram: the directory of the checkpoints")
      ->type_name("DIR");
  run_app
      .add_option("--format", arguments->format, "Of the rows of a plain SELECT: csv, table, json")
      ->check(CLI::IsMember({"csv", "table", "json"}))
      ->default_str("csv");
  add_compiling(run_app, *arguments);
  run_app.add_flag("--final", arguments->final_state,
                   "Groups without a window: show them when the input has ended");
  run_app.footer(
      "Rows of a plain SELECT go to standard output, all messages to standard error.\n"
      "What the SQL can be: docs/stream.md");
  run_app.callback([arguments, &exit_code] { exit_code = run(*arguments); });
  auto& explain_app = *stream.add_subcommand(
      "explain", "Show the plans of the statements' queries, and their sources");
  add_text(explain_app, *arguments);
  explain_app.callback([arguments, &exit_code] { exit_code = explain(*arguments); });
  add_stream_bench_command(stream, exit_code);
}

}  // namespace holdfast::tools
