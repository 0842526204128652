#include "suite_bench.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/table.hpp>

#include "bench_show_command.hpp"
#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

namespace bb = holdfast::bench::blocks;

struct SuiteBenchArguments {
  SuiteBench bench;
  bb::BlocksBenchOptions options;
  std::string json, against;
  bool quick = false, quiet = false;
};

// The smallest run that still goes through everything: seconds for all suites. What was given
// beside --quick holds.
void make_quick(const CLI::App& app, bb::BlocksBenchOptions& options) {
  const auto given = [&](const char* option) { return app.count(option) != 0; };
  options.quick = true;
  if (!given("--region-bytes")) options.region_bytes = 64 * MiB;
  if (!given("--repeat")) options.repeat = 1;
  if (!given("--seconds")) options.seconds = 0.01;
}

void print_preface(const results::Document& document) {
  const auto& environment = document.environment;
  out("{}, {}, {}\n", environment.text("cpu_model"), environment.text("kernel"),
      environment.text("compiler"));
  const auto& region = document.regions.front();
  standard_output().write(fit_terminal(
      fmt::format("region {}: {}, granularity {} ({}), {}, pages of {}, {}; durability: {}\n\n",
                  region.text("spec"), region.text("kind"), region.text("granularity"),
                  region.text("granularity_source"), region.text("mapping"),
                  format_bytes(static_cast<std::uint64_t>(region.number("page_bytes"))),
                  region.text("write_back"), region.text("durability"))));
}

int run_suite(SuiteBenchArguments& arguments) {
  auto& options = arguments.options;
  const auto& command = arguments.bench.command;
  if (arguments.bench.check_choices != nullptr) {
    if (const auto status = arguments.bench.check_choices(options); !status) {
      complain("holdfast " + command, plain(status.error()));
      return kExitBadRequest;
    }
  }
  if (arguments.bench.prepare != nullptr) arguments.bench.prepare(options.region);
  options.progress = !arguments.quiet;
  const auto& json = arguments.json;
  if (const auto status = json.empty() ? Status() : results::check_writable(json); !status) {
    complain("holdfast " + command, "--json " + status.error().detail);
    return kExitBadRequest;
  }
  bench::interrupt_on_signals();
  const auto result = bb::run_suites(command, arguments.bench.suites, options);
  if (!result) {
    complain("holdfast " + command, plain(result.error()));
    const auto code = result.code();
    return code == Errc::kInvalidOption || code == Errc::kAlreadyExists ||
                   code == Errc::kUnsupported
               ? kExitBadRequest
               : kExitFailed;
  }
  const bool json_only = !json.empty() && results::is_standard_output(json);
  const auto written = json.empty() ? Status() : results::write_json(result->document, json);
  if (!json_only) {
    print_preface(result->document);
    standard_output().write(
        fit_terminal(results::table(result->document, {"", arguments.against, table_columns()})));
  }
  if (const auto known = check_against(result->document, arguments.against); !known)
    complain("holdfast " + command, known.error().detail);
  if (!written) {
    complain("holdfast " + command, "--json " + written.error().detail);
    return kExitFailed;
  }
  if (result->interrupted)
    complain("holdfast " + command,
             "interrupted; rows hold the repetitions that were complete, files are removed");
  else if (!result->trustworthy)
    complain("holdfast " + command, "some rows are INVALID; see their reasons");
  return bench::exit_code(result->trustworthy, result->interrupted);
}

void add_choices(CLI::App& app, bb::BlocksBenchOptions& options) {
  app.add_option("--mix", options.mix,
                 "What point measures in place of its own operations, in percent: "
                 "find:70,update:20,insert:10");
  app.add_option("--zipf", options.zipf,
                 "Exponent of Zipf's distribution in point: above 0 (almost uniform), below 1")
      ->capture_default_str();
  app.add_option("--sizes", options.sizes,
                 "Bytes of keys + values in bytes, in place of its own: 16+100,32+1000");
}

}  // namespace

void add_suite_bench(CLI::App& parent, const SuiteBench& bench, int& exit_code) {
  const auto arguments = std::make_shared<SuiteBenchArguments>();
  arguments->bench = bench;
  auto& options = arguments->options;
  auto& app = *parent.add_subcommand("bench", bench.what);
  std::string list;
  for (const auto& suite : bench.suites)
    list += "\n  " + suite.name + std::string(14 - suite.name.size(), ' ') + suite.what;
  app.add_option("--suite", options.suites, "Which suites (default: all)")->delimiter(',');
  app.add_option("--only", options.only,
                 "Only experiments whose name contains one of these ('64 B')")
      ->delimiter(',');
  app.add_option("--region", options.region,
                 "Where: a path of its own, dram, node:N or /dev/daxX.Y, with options "
                 "('/dev/shm/x?granularity=line')")
      ->required();
  app.add_option_function<std::string>(
         "--region-bytes",
         [&options](const std::string& text) {
           const auto value = parse_bytes(text, "--region-bytes");
           if (!value) throw CLI::ValidationError("--region-bytes", value.error().detail);
           options.region_bytes = *value;
         },
         "How much of it the suites may use")
      ->type_name("BYTES")
      ->default_str("1GiB");
  app.add_option("--threads", options.threads, "Thread counts to measure")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Repetitions, the order of subjects rotated")
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Seconds a phase takes at most")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of random places")->capture_default_str();
  if (bench.check_choices != nullptr) add_choices(app, options);
  if (bench.peers) {
    app.add_option("--peer-directory", options.peer_directory,
                   "For peers that need files (default: beside --region, or /dev/shm)");
  }
  app.add_flag("--erase-device", options.erase_device,
               "With --region /dev/daxX.Y: all the device holds may be lost");
  app.add_option("--against", arguments->against, "One more column: time as a ratio to this one");
  app.add_option("--json", arguments->json,
                 "Write the result document; - for standard output, and no table then");
  app.add_flag("--latency", options.latency, "Percentiles too, from a pass of their own");
  app.add_flag("--quick", arguments->quick,
               "Smoke size: one repetition of 10 ms phases in 64 MiB; no number to quote");
  app.add_flag("--quiet", arguments->quiet, "No progress");
  app.footer("Suites:" + list +
             "\nExit code 3: a row is INVALID (a wrong answer, a number beyond this machine, a "
             "peer not built).\n"
             "Example:\n  holdfast " +
             bench.example + "\n");
  app.callback([arguments, &app, &exit_code] {
    if (arguments->quick) make_quick(app, arguments->options);
    exit_code = run_suite(*arguments);
  });
}

}  // namespace holdfast::tools
