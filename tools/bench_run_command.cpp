#include "bench_run_command.hpp"

#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/bench/memory/run.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/results/memory_table.hpp>
#include <holdfast/results/output.hpp>

#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

namespace mem = holdfast::bench::memory;

constexpr const char* kRunName = "holdfast bench run";

struct RunArguments {
  mem::RunOptions options;
  std::vector<std::string> regions;
  std::string json, scale, budget, numa, directory;
  bool dram = false, no_numa = false, list = false, dry_run = false, quiet = false;
};

int refuse(const std::string& message) {
  complain(kRunName, message);
  return kExitBadRequest;
}

// "90", "90s", "5m", "1h"; 0 where it is no time.
double seconds_of(std::string_view text) {
  double factor = 1;
  if (text.ends_with('s'))
    text.remove_suffix(1);
  else if (text.ends_with('m'))
    text.remove_suffix(1), factor = 60;
  else if (text.ends_with('h'))
    text.remove_suffix(1), factor = 3600;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc{} && end == text.data() + text.size() && value > 0 &&
                    value * factor <= 7 * 24 * 3600;
  return good ? value * factor : 0;
}

// What the texts of the options mean; empty, or what is wrong.
std::string complete(RunArguments& arguments) {
  auto& options = arguments.options;
  const int targets = arguments.dram + !arguments.directory.empty() + !options.target.empty();
  if (targets > 1) return "--target, --dram and --path exclude each other";
  if (arguments.dram) options.target = "dram";
  if (!arguments.directory.empty()) options.target = arguments.directory;
  if (!arguments.scale.empty() && arguments.scale != "auto" && arguments.scale != "none")
    return fmt::format("--scale {} is neither auto nor none", arguments.scale);
  options.scale_auto = arguments.scale == "auto";
  if (!arguments.budget.empty()) {
    options.time_budget_s = seconds_of(arguments.budget);
    if (options.time_budget_s == 0)
      return fmt::format("--time-budget {} is no time, for example 90s, 5m or 1h",
                         arguments.budget);
  }
  for (const auto& text : arguments.regions) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fmt::format("--region {} is not NAME=SPEC, for example far=node:1", text);
    options.regions.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (arguments.no_numa && !arguments.numa.empty())
    return "--numa and --no-numa exclude each other";
  options.use_numa = !arguments.no_numa;
  std::string_view rest = arguments.numa;
  while (!rest.empty()) {
    int node = -1;
    const auto part = rest.substr(0, rest.find(','));
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), node);
    if (error != std::errc{} || end != part.data() + part.size() || node < 0)
      return fmt::format("--numa {} is no list of NUMA nodes, for example 0,1", arguments.numa);
    options.numa_nodes.push_back(node);
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  return {};
}

void print_regions(const results::Document& document) {
  for (const auto& region : document.regions) {
    standard_output().write(fit_terminal(fmt::format(
        "region {}: {}, ranges up to {}, {}, pages of {}{}, granularity {} ({}); durability: {}\n",
        region.text("name"), region.text("spec"),
        format_bytes(static_cast<std::uint64_t>(region.number("bytes"))), region.text("mapping"),
        format_bytes(static_cast<std::uint64_t>(region.number("page_bytes"))),
        region.text("page_reason").empty() ? "" : " (" + region.text("page_reason") + ")",
        region.text("granularity"), region.text("granularity_source"), region.text("durability"))));
  }
}

void print_result(const mem::RunOutcome& outcome) {
  const auto& document = outcome.document;
  const auto& environment = document.environment;
  out("{}, {}, {}, {} kernels\n", environment.text("cpu_model"), environment.text("kernel"),
      environment.text("compiler"), environment.text("vectors"));
  print_regions(document);
  standard_output().write(fit_terminal(fmt::format(
      "limits of this machine: read {}/s, write {}/s, dependent read {}, one fence {}\n\n",
      format_bytes(
          static_cast<std::uint64_t>(document.calibration.number("memory_read_bytes_per_s"))),
      format_bytes(
          static_cast<std::uint64_t>(document.calibration.number("memory_stream_bytes_per_s"))),
      format_nanoseconds(document.calibration.number("dependent_read_ns")),
      format_nanoseconds(document.calibration.number("persist_line_ns")))));
  standard_output().write(fit_terminal(results::memory_table(document, mem::key_of_parameter)));
  for (const auto& warning : document.warnings)
    standard_output().write(fit_terminal(fmt::format("note: {}\n", warning)));
  if (outcome.again_rows > 0) {
    out("A/A: {} of {} measurements differ by less than 3 % from themselves\n",
        outcome.again_within_3_percent, outcome.again_rows);
  }
}

class Progress {
 public:
  explicit Progress(bool quiet) : line_(!quiet), lines_(!quiet && !is_terminal(stderr)) {}

  void operator()(const mem::RunProgress& progress) {
    if (progress.run == 0) {
      if (lines_)
        note("{} run{}, about {}; calibrating\n", progress.runs, progress.runs == 1 ? "" : "s",
             human_seconds(progress.seconds_left));
      line_.show("calibrating");
      return;
    }
    if (line_.due())
      line_.show(fmt::format("[{} of {}] {}, repetition {} of {}, about {} left", progress.run,
                             progress.runs, progress.label, progress.repetition,
                             progress.repetitions, human_seconds(progress.seconds_left)));
    // Where nobody watches, a line every tenth of the way.
    const auto tenth = 10 * progress.run / progress.runs;
    if (lines_ && progress.runs >= 20 && tenth > shown_) {
      shown_ = tenth;
      note("run {} of {}, about {} left\n", progress.run, progress.runs,
           human_seconds(progress.seconds_left));
    }
  }
  void finish() { line_.finish(); }

 private:
  ProgressLine line_;
  bool lines_;
  std::size_t shown_ = 0;
};

int measure(const RunArguments& arguments, const mem::Plan& plan, const mem::Machine& machine) {
  bench::interrupt_on_signals();
  Progress progress(arguments.quiet);
  auto outcome =
      mem::run(plan, arguments.options, machine, [&](const mem::RunProgress& at) { progress(at); });
  progress.finish();
  if (!outcome) {
    complain(kRunName, outcome.error().detail);
    const auto code = outcome.code();
    return code == Errc::kIo || code == Errc::kCorrupt ? kExitFailed : kExitBadRequest;
  }
  // Before the result is written: then the name may mean another file.
  const bool json_only = !arguments.json.empty() && results::is_standard_output(arguments.json);
  const auto written =
      arguments.json.empty() ? Status() : results::write_json(outcome->document, arguments.json);
  if (!json_only) print_result(*outcome);
  if (!written) {
    complain(kRunName, "--json " + written.error().detail);
    return kExitFailed;
  }
  if (outcome->interrupted)
    complain(kRunName, "interrupted; the result holds the repetitions that were complete");
  else if (!outcome->trustworthy)
    complain(kRunName, "some rows are INVALID; see their reasons");
  return bench::exit_code(outcome->trustworthy, outcome->interrupted);
}

// A result that cannot be written should be known before minutes are spent on it.
std::string json_problem(const std::string& path) {
  const auto status = path.empty() ? Status() : results::check_writable(path);
  return status ? std::string() : "--json " + status.error().detail;
}

// Reads --limits; empty, or what is wrong.
std::string read_limits(mem::RunOptions& options) {
  if (options.limits_path.empty()) return {};
  const auto result = results::read_json(options.limits_path);
  if (!result) return fmt::format("--limits {}", result.error().detail);
  options.limits = result->calibration;
  if (mem::MachineLimits().tighten(options.limits) > 0) return {};
  return fmt::format(
      "--limits {}: its calibration has no limit of `bench run`, for example "
      "memory_read_bytes_per_s",
      options.limits_path);
}

// "workloads" is a directory of a checkout; of an installed command it lies in share/holdfast.
std::string shipped_or(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(path, ignored) || !(path + "/").starts_with("workloads/")) return path;
  // From PREFIX/lib/holdfast, or from a lib directory of an architecture.
  const auto here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto* up : {"../..", "../../.."}) {
    const auto shipped = (here / up / "share/holdfast" / path).lexically_normal();
    if (fs::exists(shipped, ignored)) return shipped.string();
  }
  return path;
}

int run(RunArguments& arguments) {
  arguments.options.path = shipped_or(arguments.options.path);
  if (const auto problem = complete(arguments); !problem.empty()) return refuse(problem);
  if (const auto problem = json_problem(arguments.json); !problem.empty()) return refuse(problem);
  if (const auto problem = read_limits(arguments.options); !problem.empty()) return refuse(problem);
  const auto machine = mem::Machine::read();
  for (const auto node : arguments.options.numa_nodes) {
    const auto* known = machine.node(node);
    if (known == nullptr || known->cpus.empty())
      return refuse(fmt::format("--numa {}: node {} {}", arguments.numa, node,
                                known == nullptr ? "does not exist" : "has no CPUs"));
  }
  // A list needs no memory to measure.
  auto options = arguments.options;
  options.list_only = arguments.list;
  if (arguments.list && options.target.empty()) options.target = "dram";
  yaml::Diagnostics diagnostics;
  const auto plan = mem::make_plan(options, machine, diagnostics);
  if (!diagnostics.empty()) {
    note("{}", diagnostics.text());
    complain(kRunName, fmt::format("{} mistake{}; nothing was measured", diagnostics.count(),
                                   diagnostics.count() == 1 ? "" : "s"));
    return kExitBadRequest;
  }
  if (arguments.list || arguments.dry_run) {
    standard_output().write(
        fit_terminal(arguments.list ? mem::list_text(plan) : mem::dry_run_text(plan)));
    double seconds = 0;
    for (const auto& one : plan.runs)
      seconds += mem::estimated_seconds(one, options);
    out("{} run{}, about {}\n", plan.runs.size(), plan.runs.size() == 1 ? "" : "s",
        human_seconds(seconds));
    for (const auto& note : plan.notes)
      standard_output().write(fit_terminal(fmt::format("note: {}\n", note)));
    return kExitDone;
  }
  return measure(arguments, plan, machine);
}

}  // namespace

void add_bench_run_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<RunArguments>();
  auto& options = arguments->options;
  CLI::App& app = *bench.add_subcommand(
      "run", "Measure memory under the workloads of a YAML file, or of all in a directory");
  app.add_option("FILE", options.path, "Workload file or directory; `workloads` has those shipped")
      ->required();
  app.add_option("--target", options.target,
                 "The region to measure: dram, node:N, a path that does not exist yet or an empty "
                 "directory, /dev/daxX.Y; with options as in /dev/shm/x?granularity=line");
  app.add_flag("--dram", arguments->dram, "The same as --target dram");
  app.add_option("-p,--path", arguments->directory, "The same as --target, for a directory");
  app.add_option("--region", arguments->regions,
                 "NAME=SPEC: what a region that the files name is here; may be repeated");
  app.add_flag("--erase-device", options.erase_device,
               "With a /dev/daxX.Y: all the device holds may be lost");
  app.add_option("--filter", options.filters,
                 "Only runs whose name or parameters contain this, for example random_reads or "
                 "access_size=64; repeated: one of them");
  app.add_flag("--list", arguments->list, "The benchmarks and how many runs each has; run nothing");
  app.add_flag("--dry-run", arguments->dry_run, "Every run with its parameters; run nothing");
  app.add_option("--scale", arguments->scale,
                 "auto: fit threads, ranges and run times to this machine");
  app.add_option("--time-budget", arguments->budget, "All of it in about 90s, 5m, 1h");
  app.add_option("--repeat", options.repetitions, "Repetitions of each run")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of everything random")->capture_default_str();
  app.add_flag("--floor", options.floor,
               "Beside each raw benchmark the best loop written by hand, as subject floor");
  app.add_flag("--aa", options.again,
               "Everything twice, interleaved: how much the same differs from itself");
  app.add_option("--limits", options.limits_path,
                 "A result document, for example one that holds the rates of a data sheet: rows "
                 "beyond its calibration are INVALID, too (the stricter limit counts)")
      ->type_name("RESULT");
  app.add_option("--numa", arguments->numa, "Run all threads on these NUMA nodes, as in 0,1");
  app.add_flag("--no-numa", arguments->no_numa, "Run threads on any CPU, wherever the memory is");
  app.add_option("--json", arguments->json,
                 "Write the result document; - for standard output, and no table then");
  app.add_flag("--quiet", arguments->quiet, "No progress");
  app.footer(
      "Exit code 2: the request or a file was wrong, nothing was measured; 3: a row is INVALID.\n"
      "Examples:\n"
      "  holdfast bench run workloads --dram --scale auto --time-budget 5m --json result.json\n"
      "  holdfast bench run workloads/raw/random_reads.yaml --target "
      "'/dev/shm/x?granularity=line'\n"
      "Keys of workload files: docs/memory_benchmark.md");
  app.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

void add_bench_list_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<RunArguments>();
  arguments->list = true;
  arguments->options.path = "workloads";
  CLI::App& app = *bench.add_subcommand(
      "list", "The benchmarks of a workload file or of a directory, and how many runs each has");
  app.add_option("FILE", arguments->options.path, "Workload file or directory")
      ->capture_default_str();
  app.add_option("--filter", arguments->options.filters,
                 "Only runs whose name or parameters contain this; repeated: one of them");
  app.footer(
      "`holdfast bench run FILE` runs them. Suites with subjects of their own: holdfast kv bench, "
      "holdfast blocks bench, holdfast index bench, holdfast stream bench.\n"
      "Examples:\n"
      "  holdfast bench list\n"
      "  holdfast bench list workloads/raw --filter access_size=64");
  app.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace holdfast::tools
