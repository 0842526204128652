#include "stream_bench_command.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/bench/stream/stream_suite.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/stream/stream_peers.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/table.hpp>
#include <holdfast/stream/connector.hpp>

#include "console.hpp"
#include "peer_python.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kStreamBenchName = "holdfast stream bench";

struct StreamBenchArguments {
  bench::stream::StreamBenchOptions options;
  std::string json;
  bool quiet = false;
};

int run_streams(StreamBenchArguments& arguments) {
  auto& options = arguments.options;
  options.progress = !arguments.quiet;
  options.python = peer_python(options.python);
  const auto& json = arguments.json;
  if (const auto status = json.empty() ? Status() : results::check_writable(json); !status) {
    complain(kStreamBenchName, "--json " + status.error().detail);
    return kExitBadRequest;
  }
  bench::interrupt_on_signals();
  stream::set_module_loader([](std::string_view library) { return modules::load(library); });
  const auto others = bench::stream::stream_peers();
  const auto result = bench::stream::run_stream_bench(options, *others);
  if (!result) {
    complain(kStreamBenchName, plain(result.error()));
    const auto code = result.code();
    return code == Errc::kInvalidOption || code == Errc::kAlreadyExists ? kExitBadRequest
                                                                        : kExitFailed;
  }
  const bool json_only = !json.empty() && results::is_standard_output(json);
  const auto written = json.empty() ? Status() : results::write_json(result->document, json);
  if (!json_only) {
    const auto& environment = result->document.environment;
    out("{}, {}, {}\n", environment.text("cpu_model"), environment.text("kernel"),
        environment.text("compiler"));
    out("window-sum: {} keys; NEXMark: {} events\n\n", with_separators(options.keys),
        with_separators(options.events));
    standard_output().write(
        fit_terminal(results::table(result->document, {"floor", "dram", table_columns()})));
    for (const auto& warning : result->document.warnings)
      out("{}\n", warning);
  }
  if (!written) {
    complain(kStreamBenchName, "--json " + written.error().detail);
    return kExitFailed;
  }
  if (result->interrupted)
    complain(kStreamBenchName,
             "interrupted; rows hold the repetitions that were complete, files are removed");
  else if (!result->trustworthy)
    complain(kStreamBenchName, "some rows are INVALID; see their reasons");
  return bench::exit_code(result->trustworthy, result->interrupted);
}

void add_count(CLI::App& app, const char* name, std::uint64_t& count, const char* by_default,
               const char* help) {
  app.add_option_function<std::string>(
         name,
         [&count, name](const std::string& text) {
           const auto value = parse_count(text, name);
           if (!value) throw CLI::ValidationError(name, value.error().detail);
           count = *value;
         },
         help)
      ->type_name("COUNT")
      ->default_str(by_default);
}

}  // namespace

void add_stream_bench_command(CLI::App& stream, int& exit_code) {
  const auto arguments = std::make_shared<StreamBenchArguments>();
  auto& options = arguments->options;
  auto& app = *stream.add_subcommand("bench", kStreamBenchHelp);
  app.add_option("--query", options.queries,
                 "window-sum (sums of 60 s by key), nexmark-q0 to nexmark-q22")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option(
         "--state", options.states,
         "dram, kv, rocksdb (the compiled query, with its state there), each with -interpreted "
         "(by the interpreter), floor (the shortest loop by hand; of NEXMark q0 to q5, q7, q8), "
         "tbb (of window-sum: the same loop on oneTBB)")
      ->delimiter(',')
      ->capture_default_str();
  add_count(app, "--keys", options.keys, "15k", "Of window-sum: keys, drawn uniformly (15k, 10M)");
  add_count(app, "--events", options.events, "2M", "Of NEXMark: events of all three tables");
  app.add_option("--threads", options.threads, "Workers of a query, threads of others: 1,2")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--compare", options.compare,
                 "Others over the same events: duckdb, polars (as a batch), flink-sql, flink-ds "
                 "(Apache Flink, the latter of window-sum; each also with -rocksdb or -heap, its "
                 "state)")
      ->delimiter(',');
  app.add_option("--flink", options.flink,
                 "Of flink-…: the directory of its jars, which ./run bench stream --compare "
                 "flink-sql makes in a checkout (default: that one)")
      ->type_name("DIR");
  app.add_option("--python", options.python,
                 "Of duckdb and polars: a Python that has their packages, and pyarrow (default: "
                 "$HOLDFAST_PEER_PYTHON, or python3)")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--region",
         [&options](const std::string& text) {
           options.region =
               text.starts_with("dram") ? text : std::filesystem::absolute(text).string();
         },
         "Of kv and rocksdb: a path that does not exist; of kv also dram (default: below "
         "/dev/shm, of kv with line granularity)")
      ->type_name("SPEC");
  app.add_option("--checkpoint", options.checkpoint_seconds,
                 "Of kv and rocksdb: seconds between checkpoints")
      ->capture_default_str();
  app.add_option("--rate", options.events_per_ms,
                 "Events a millisecond of their time (default: 100, and three per key and window)");
  app.add_option("--windows", options.windows, "Windows of events in memory: a round of them")
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Repetitions, the order of subjects rotated")
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Rounds are begun for so long in a repetition")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the events")->capture_default_str();
  app.add_option("--json", arguments->json,
                 "Write the result document; - for standard output, and no table then");
  app.add_flag("--quiet", arguments->quiet, "No progress");
  app.footer(
      "Exit code 3: a row is INVALID (a wrong answer, a subject that is not built).\n"
      "Examples:\n"
      "  holdfast stream bench --state dram,kv,floor,tbb --repeat 7\n"
      "  holdfast stream bench --query window-sum,nexmark-q4 --compare duckdb,polars --threads 1,2 "
      "--python peers/bin/python\n"
      "  ./run bench stream --state kv,rocksdb --compare flink-sql,flink-ds\n");
  app.callback([arguments, &exit_code] { exit_code = run_streams(*arguments); });
}

}  // namespace holdfast::tools
