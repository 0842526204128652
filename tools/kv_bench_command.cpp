#include "kv_bench_command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/bench/kv/memory_limit.hpp>
#include <holdfast/bench/kv/suite.hpp>
#include <holdfast/bench/runner.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/table.hpp>

#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

namespace kvb = holdfast::bench::kv;

constexpr const char* kKvBenchName = "holdfast kv bench";

struct KvBenchArguments {
  kvb::KvBenchOptions options;
  std::string json, against, baseline = "floor";
  bool quick = false, quiet = false;
};

// Turns an Error of our parsers into what CLI11 reports as a wrong argument.
template <class T>
T parsed(Result<T> result, const std::string& option) {
  if (!result) throw CLI::ValidationError(option, result.error().detail);
  return std::move(result).value();
}

template <class T>
void add_choice(CLI::App& app, const std::string& option, T& target,
                std::vector<std::pair<std::string, T>> words, const std::string& help) {
  std::string allowed;
  for (const auto& [word, value] : words)
    allowed += (allowed.empty() ? "" : "|") + word;
  app.add_option_function<std::string>(
         option,
         [&target, words, option, allowed](const std::string& given) {
           for (const auto& [word, value] : words) {
             if (word == given) {
               target = value;
               return;
             }
           }
           throw CLI::ValidationError(option, "'" + given + "' is none of " + allowed);
         },
         help)
      ->type_name(allowed);
}

void add_sizes(CLI::App& app, KvBenchArguments& arguments) {
  auto& options = arguments.options;
  app.add_option_function<std::string>(
         "--records",
         [&](const std::string& text) {
           options.records = parsed(parse_count(text, "--records"), "--records");
         },
         "Records to fill in before the phases (10M, 500k)")
      ->type_name("COUNT")
      ->default_str("10M");
  const auto bytes = [&](const char* name, std::uint32_t& target, const char* help) {
    app.add_option_function<std::string>(
           name,
           [name, &target](const std::string& text) {
             const auto value = parsed(parse_bytes(text, name), name);
             if (value > 0xffffffff) throw CLI::ValidationError(name, text + " is too large");
             target = static_cast<std::uint32_t>(value);
           },
           help)
        ->type_name("BYTES")
        ->default_str(std::to_string(target));
  };
  bytes("--key", options.shape.key_bytes, "Bytes of a key");
  bytes("--value", options.shape.value_bytes, "Bytes of a value");
  app.add_flag("--variable", options.shape.variable,
               "Sizes normally distributed around --key and --value");
  app.add_option("--threads", options.threads, "Thread counts to measure")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Keys per put_many and get_many")->capture_default_str();
  app.add_option_function<std::string>(
         "--phase-operations",
         [&](const std::string& text) {
           options.phase_operations =
               parsed(parse_count(text, "--phase-operations"), "--phase-operations");
         },
         "Operations a phase does at most (default: --records for reads and update8, a quarter for "
         "writes)")
      ->type_name("COUNT");
  app.add_option("--seconds", options.seconds, "Seconds a phase takes at most")
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Repetitions, the order of stores rotated")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the choice of records")->capture_default_str();
}

// The suite tells paths from "dram" and "node:N" by their first '/'.
std::string with_absolute_path(const std::string& region) {
  const auto spec = RegionSpec::parse(region);
  if (!spec || spec->kind != RegionSpec::Kind::kPath || region.starts_with("/")) return region;
  const auto [place, options] = parts_of(region);
  return std::filesystem::absolute(place).string() + options;
}

// How far apart two operations may be for their misses to overlap.
std::string window_line(const results::Fields& calibration) {
  const auto usual = calibration.number("window_instructions");
  const auto best = calibration.number("window_instructions_best");
  if (!(usual > 0)) return {};
  const auto shared =
      best > usual * 1.25 ? fmt::format(", {} while nobody shares it", best) : std::string();
  return fmt::format("window of a core: {} instructions{} (docs/performance.md)\n", usual, shared);
}

// Members of a row that the table has no columns for, one line per row that has any of them.
void print_members(const results::Document& document, const std::string& heading,
                   const std::vector<std::pair<const char*, const char*>>& members) {
  bool any = false;
  for (const auto& row : document.rows) {
    std::string line;
    for (const auto& [name, shown] : members) {
      const auto value = row.number(name);
      if (std::isnan(value)) continue;
      const auto is_time = std::string_view(name).ends_with("_ns");
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", shown,
                          is_time ? results::human_time(value) : fmt::format("{:.3g}", value));
    }
    if (line.empty()) continue;
    if (!any) out("\n{}\n", heading);
    any = true;
    standard_output().write(
        fit_terminal(fmt::format("  {} {}, {}: {}\n", row.operation(), row.subject(),
                                 counted(row.threads(), "thread"), line)));
  }
}

int run_and_report(KvBenchArguments& arguments) {
  auto& options = arguments.options;
  if (arguments.quick) options.latency = options.startup = options.longest = false;
  options.progress = !arguments.quiet;
  options.region = with_absolute_path(options.region);
  const auto& against = arguments.against;
  if (!against.empty() &&
      std::find(options.stores.begin(), options.stores.end(), against) == options.stores.end()) {
    complain(kKvBenchName, "--against " + against + ": --stores does not name it");
    return kExitBadRequest;
  }
  const auto& json = arguments.json;
  if (const auto status = json.empty() ? Status() : results::check_writable(json); !status) {
    complain(kKvBenchName, "--json " + status.error().detail);
    return kExitBadRequest;
  }
  bench::interrupt_on_signals();
  const auto result = kvb::run_kv_bench(options);
  if (!result) {
    complain(kKvBenchName, plain(result.error()));
    const auto code = result.code();
    return code == Errc::kInvalidOption || code == Errc::kAlreadyExists ? kExitBadRequest
                                                                        : kExitFailed;
  }
  const auto& document = result->document;
  const bool json_only = !json.empty() && results::is_standard_output(json);
  const auto written = json.empty() ? Status() : results::write_json(document, json);
  if (!json_only) {
    const auto& environment = document.environment;
    out("{}, {}, {}\n", environment.text("cpu_model"), environment.text("kernel"),
        environment.text("compiler"));
    standard_output().write(fit_terminal(window_line(document.calibration)));
    standard_output().write(fit_terminal(fmt::format(
        "region {}: {}, granularity {} ({}), {}, pages of {}; durability of an operation: {}\n\n",
        environment.text("region"), environment.text("region_kind"),
        environment.text("region_granularity"), environment.text("region_granularity_source"),
        environment.text("region_mapping"),
        format_bytes(static_cast<std::uint64_t>(environment.number("region_page_bytes"))),
        environment.text("durability"))));
    standard_output().write(fit_terminal(
        results::table(document, {arguments.baseline, arguments.against, table_columns()})));
    print_members(document, "steady-overwrite:",
                  {{"used_over_live_max", "used/live at most"},
                   {"relocated_bytes_per_written_byte", "moved B per written B"},
                   {"background_cpu_ns_per_op", "background CPU ns/op"},
                   {"stall_max_ns", "longest stall"}});
    print_members(document, "device, per operation (reads and writes of all processes):",
                  {{"device_reads_per_op", "reads"},
                   {"device_read_bytes_per_op", "bytes read"},
                   {"device_writes_per_op", "writes"},
                   {"device_write_bytes_per_op", "bytes written"},
                   {"process_read_bytes_per_op", "bytes read for this process"},
                   {"process_write_bytes_per_op", "bytes it made dirty"}});
  }
  if (!written) {
    complain(kKvBenchName, "--json " + written.error().detail);
    return kExitFailed;
  }
  if (result->interrupted) {
    complain(kKvBenchName,
             "interrupted; rows hold the repetitions that were complete, files are removed");
  } else if (!result->trustworthy) {
    complain(kKvBenchName, "some rows are INVALID; see their reasons");
  }
  return bench::exit_code(result->trustworthy, result->interrupted);
}

std::atomic<pid_t> limited_child{0};

void pass_on(int signal) {
  if (const auto child = limited_child.load(); child > 0) ::kill(child, signal);
}

// What a comparison leaves behind that was killed: all below its path, which was empty before.
void remove_leftovers(const std::string& region, bool existed) {
  const std::filesystem::path path = parts_of(region).place;
  std::error_code error;
  if (!existed) {
    std::filesystem::remove_all(path, error);
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    std::filesystem::remove_all(entry.path(), error);
}

// The comparison in a child that is in the group from its first page on; this process stays outside
// and removes the group.
int run_limited(KvBenchArguments& arguments) {
  auto& options = arguments.options;
  options.region = with_absolute_path(options.region);
  if (const auto status = options.validate(); !status) return run_and_report(arguments);
  const auto path = parts_of(options.region).place;
  const bool existed = std::filesystem::exists(path);
  if (existed && !std::filesystem::is_empty(path)) return run_and_report(arguments);  // Refuses.
  const auto limit = kvb::MemoryLimit::make(options.memory_limit_bytes);
  if (!limit) {
    complain(kKvBenchName, "--memory-limit: " + plain(limit.error()));
    return kExitBadRequest;
  }
  standard_output().flush();  // Else the child would write it once more.
  const pid_t child = ::fork();
  if (child < 0) {
    complain(kKvBenchName, std::string("fork: ") + std::strerror(errno));
    return kExitFailed;
  }
  if (child == 0) {
    // Else what a terminal sends to its group would come twice: from there, and from pass_on().
    (void)::setpgid(0, 0);
    int code = kExitFailed;
    if (const auto status = limit->join(); status)
      code = run_and_report(arguments);
    else
      complain(kKvBenchName, plain(status.error()));
    if (const auto status = standard_output().finish(); !status) {
      complain(kKvBenchName, plain(status.error()));
      code = kExitFailed;
    }
    ::_exit(code);  // The group is the parent's to remove.
  }
  limited_child = child;
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT})
    std::signal(signal, pass_on);
  if (std::signal(SIGHUP, pass_on) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // Under nohup.
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  limited_child = 0;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  remove_leftovers(options.region, existed);
  const auto kills = limit->kills();
  complain(
      kKvBenchName,
      fmt::format("ended by signal {}{}; its files are removed", WTERMSIG(status),
                  kills > 0 ? ": the kernel found no memory for it within --memory-limit" : ""));
  return kExitFailed;
}

constexpr char kFooter[] =
    "Exit code 3: a row is INVALID (a wrong answer, a number beyond this machine, a store not "
    "built).\n"
    "Examples:\n"
    "  holdfast kv bench --stores holdfast,floor,rocksdb --records 1M --repeat 3 --region "
    "'/dev/shm/x?granularity=line'\n"
    "  holdfast kv bench --ops steady-overwrite --distribution zipfian --space-goal 1.25 "
    "--seconds 60 --threads 1,2 --stores holdfast --records 3M --repeat 1 --quick --region "
    "'/dev/shm/x?granularity=line'\n"
    "  holdfast kv bench --ops scan,ycsb-e --stores holdfast-ordered,rocksdb,lmdb,leveldb "
    "--records 1M --against lmdb --region '/dev/shm/x?granularity=line'\n"
    "  holdfast kv bench --memory-limit 1G --stores holdfast,rocksdb,lmdb --ops "
    "put,overwrite,get,get_many --records 8M --threads 1 --repeat 1 --quick --region "
    "/var/tmp/x\n";

}  // namespace

void add_kv_bench_command(CLI::App& kv, int& exit_code) {
  const auto arguments = std::make_shared<KvBenchArguments>();
  auto& options = arguments->options;
  auto& app = *kv.add_subcommand("bench", kKvBenchHelp);
  app.add_option("--stores", options.stores,
                 "holdfast, holdfast-ordered (with its keys in order: scans), holdfast-typed, "
                 "holdfast-pipeline (put, overwrite, get, update8, erase "
                 "through a Pipeline), floor (no store: the bare memory traffic), rocksdb, "
                 "lmdb, leveldb, tbb, map")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option(
         "--ops", options.ops,
         "put, put_many, overwrite, get, get_many, update8, erase, ycsb-a, ycsb-b, ycsb-c, "
         "ycsb-d, ycsb-f; also scan, ycsb-e (stores with an order of keys: holdfast-ordered, "
         "rocksdb, lmdb, leveldb), group64, "
         "waiters64 (the default with --durability power), ycsb-w90, update_copy, "
         "get_reclaiming, put_reclaiming, steady-overwrite (overwrites for all of "
         "--seconds; medium in "
         "use, stalls, cost of reclamation)")
      ->delimiter(',');
  app.add_option("--region", options.region,
                 "Where: a path of its own, dram, node:N or /dev/daxX.Y, with options "
                 "(/dev/shm/x?granularity=line)")
      ->required();
  add_sizes(app, *arguments);
  add_choice<kvb::Promise>(
      app, "--durability", options.promise,
      {{"default", kvb::Promise::kDefault},
       {"process", kvb::Promise::kProcess},
       {"power", kvb::Promise::kPower}},
      "What an operation survives when it returns; power makes the others sync, too");
  add_choice<kvb::Distribution>(
      app, "--distribution", options.distribution,
      {{"uniform", kvb::Distribution::kUniform}, {"zipfian", kvb::Distribution::kZipfian}},
      "Of reads and overwrites over the records");
  app.add_option("--space-goal", options.space_goal,
                 "Medium in use over live data that holdfast's reclamation aims at (1.05 to 10)")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--memory-limit",
         [&options](const std::string& text) {
           options.memory_limit_bytes =
               parsed(parse_bytes(text, "--memory-limit"), "--memory-limit");
           if (options.memory_limit_bytes == 0)
             throw CLI::ValidationError("--memory-limit", "'" + text + "' is no limit");
         },
         "All stores under this much memory, page cache included (a control group of its own, for "
         "which one has to be root); rows then tell what they asked of the disk below --region")
      ->type_name("BYTES");
  app.add_option("--suite", options.suite,
                 "paper: the experiments of the Viper paper, section 5, scaled to --records");
  app.add_option("--peer-directory", options.peer_directory,
                 "For stores that need files where --region is no path (default /dev/shm)");
  app.add_flag("--erase-device", options.erase_device,
               "With --region /dev/daxX.Y: all the device holds may be lost");
  app.add_option("--against", arguments->against, "One more column: time as a ratio to this store");
  app.add_option("--json", arguments->json,
                 "Write the result document; - for standard output, and no table then");
  app.add_flag("--quick", arguments->quick,
               "Throughput only: no latency pass, no start-up times, no longest put");
  app.add_flag("--quiet", arguments->quiet, "No progress");
  app.footer(kFooter);
  app.callback([arguments, &exit_code] {
    exit_code = arguments->options.memory_limit_bytes != 0 ? run_limited(*arguments)
                                                           : run_and_report(*arguments);
  });
}

}  // namespace holdfast::tools
