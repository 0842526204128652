#include <holdfast/bench/blocks/suites.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <holdfast/base/printed.hpp>
#include <holdfast/bench/durability.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/results/environment.hpp>

namespace holdfast::bench::blocks {

// Each in its <name>_suite.cpp.
std::vector<Experiment> access_experiments(const Context& context);
std::vector<Experiment> field_experiments(const Context& context);
std::vector<Experiment> interference_experiments(const Context& context);
std::vector<Experiment> log_experiments(const Context& context);
std::vector<Experiment> interleave_experiments(const Context& context);
std::vector<Experiment> page_experiments(const Context& context);

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {"access", "what the medium delivers: latency of reads and of durable writes, bandwidth",
       &access_experiments},
      {"log", "appending records: one fence or two, dense or padded, one thread or several",
       &log_experiments},
      {"page", "writing pages back whole: copy-on-write, micro log and their hybrid",
       &page_experiments},
      {"field", "replacing 16 to 256 bytes in place, and reading them: FAM, copy-on-write, log",
       &field_experiments},
      {"interleave", "lookups and inserts one by one and interleaved, by group size",
       &interleave_experiments},
      {"interference", "scans, lookups, logging and page flushing at the same time",
       &interference_experiments},
  };
  return all;
}

namespace {

namespace fs = std::filesystem;

Error invalid(const std::string& option, const std::string& seen, const std::string& rule) {
  return {Errc::kInvalidOption, "--" + option + " '" + seen + "': " + rule};
}

bool is_path(const std::string& region) {
  return !region.starts_with("dram") && !region.starts_with("node:") &&
         !region.starts_with("/dev/dax");
}

// The region's path, where it has one, and the peers' directory: made here, removed at the end.
class WorkPlace {
 public:
  ~WorkPlace() {
    std::error_code ignored;
    if (!region_path_.empty()) fs::remove_all(region_path_, ignored);
    if (!peer_directory_.empty()) fs::remove_all(peer_directory_, ignored);
  }

  Status prepare(const BlocksBenchOptions& options) {
    const auto name = "holdfast-blocks-bench-" + std::to_string(::getpid());
    std::string parent = options.peer_directory.empty() ? "/dev/shm" : options.peer_directory;
    if (is_path(options.region)) {
      const auto path = parts_of(options.region).place;
      std::error_code error;
      if (fs::exists(path, error) && !(fs::is_directory(path, error) && fs::is_empty(path, error)))
        return Error{Errc::kAlreadyExists,
                     "--region '" + path + "' holds something; give a path that does not exist"};
      region_path_ = path;
      if (options.peer_directory.empty()) {
        const auto absolute = fs::absolute(path, error);
        parent = (absolute.has_filename() ? absolute : absolute.parent_path()).parent_path();
      }
    }
    const auto peers = fs::path(parent) / name;
    std::error_code error;
    fs::create_directories(peers, error);
    if (error)
      return Error{Errc::kIo, "making " + peers.string() + " for the peers: " + error.message()};
    peer_directory_ = peers.string();
    return {};
  }
  const std::string& peer_directory() const { return peer_directory_; }

 private:
  std::string region_path_, peer_directory_;
};

bool wanted(const BlocksBenchOptions& options, const std::string& experiment) {
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(),
                     [&](const auto& part) { return experiment.find(part) != std::string::npos; });
}

// Names that rows of the document are told apart by; in the order in which suites bring them.
void note_parameters(const results::Fields& parameters, results::Document& document) {
  auto& names = document.parameters;
  for (const auto& field : parameters.all()) {
    if (std::find(names.begin(), names.end(), field.name) == names.end())
      names.push_back(field.name);
  }
}

void complete(Plan& plan, const BlocksBenchOptions& options) {
  if (plan.threads.empty()) plan.threads = options.threads;
  plan.repetitions = options.repeat;
  plan.seconds = options.seconds;
  plan.latency = options.latency;
  plan.latency_seconds = std::min(plan.latency_seconds, options.seconds);
  plan.progress = options.progress;
}

void run_experiment(const Context& context, const Suite& suite, const Experiment& experiment,
                    const Plan& plan, BenchResult& result) {
  auto outcome = run(plan);
  note_parameters(experiment.parameters, result.document);
  for (auto& row : outcome.rows) {
    row.set("suite", suite.name);
    row.set("experiment", experiment.part.empty() ? experiment.name : experiment.part);
    row.set("case", experiment.name);
    row.set("baseline", plan.baseline);
    row.merge(experiment.parameters);
    for (const auto& warning : experiment.warnings)
      row.warn(warning);
    check_against_limits(row, context.limits, experiment.footprint_bytes);
  }
  result.take(std::move(outcome));
}

results::Fields command_of(const std::string& name, const BlocksBenchOptions& options) {
  results::Fields command;
  command.set("name", name);
  command.set("suites", joined(options.suites, ","));
  command.set("only", joined(options.only, ","));
  command.set("region", options.region);
  command.set("region_bytes", options.region_bytes);
  command.set("threads", std::vector<double>(options.threads.begin(), options.threads.end()));
  command.set("repeat", options.repeat);
  command.set("phase_seconds_max", options.seconds);
  command.set("seed", options.seed);
  if (!options.mix.empty()) command.set("mix", options.mix);
  if (options.zipf != Zipf::kYcsbTheta) command.set("zipf", options.zipf);
  if (!options.sizes.empty()) command.set("sizes", options.sizes);
  return command;
}

// Under the names that all benchmarks use for a region (docs/results.md).
results::Fields region_entry(const std::string& spec, const RegionReport& report) {
  results::Fields entry;
  entry.set("name", "region");
  entry.set("spec", spec);
  entry.set("kind", report.kind);
  if (!report.file_system.empty()) entry.set("file_system", report.file_system);
  entry.set("page_bytes", report.page_bytes);
  entry.set("page_reason", report.page_reason);
  entry.set("mapping", report.mapping);
  entry.set("granularity", name(report.granularity));
  entry.set("granularity_source", report.granularity_source);
  entry.set("write_back", holdfast::name(report.write_back));
  entry.set("nt_evicts", report.nt_evicts);
  entry.set("nt_evicts_source", report.nt_evicts_source);
  entry.set("numa_nodes", std::vector<double>(report.nodes.begin(), report.nodes.end()));
  entry.set("durability", durability_of_stores(report));
  return entry;
}

// kInvalidOption, naming the option, the value seen and what is allowed.
Status validate(const std::vector<Suite>& all, const BlocksBenchOptions& options) {
  const auto& region = options.region;
  const auto& threads = options.threads;
  std::vector<std::string> names;
  for (const auto& suite : all)
    names.push_back(suite.name);
  for (const auto& suite : options.suites) {
    if (std::find(names.begin(), names.end(), suite) == names.end())
      return invalid("suite", suite, "allowed are " + joined(names, ","));
  }
  if (region.empty())
    return invalid("region", region,
                   "give a path that does not exist yet, dram, node:N or /dev/daxX.Y");
  if (region.starts_with("/dev/dax") && !options.erase_device)
    return invalid("region", region,
                   "the suites overwrite the whole device; add --erase-device if nothing on it is "
                   "needed");
  if (threads.empty()) return invalid("threads", "", "give at least one count from 1 to 64");
  for (const auto count : threads) {
    if (count < 1 || count > 64)
      return invalid("threads", std::to_string(count), "allowed are 1 to 64");
    if (std::count(threads.begin(), threads.end(), count) > 1)
      return invalid("threads", std::to_string(count), "is given twice");
  }
  if (options.repeat < 1 || options.repeat > 1000)
    return invalid("repeat", std::to_string(options.repeat), "allowed are 1 to 1,000");
  if (!(options.seconds >= 0.001 && options.seconds <= 3600))
    return invalid("seconds", std::to_string(options.seconds), "allowed are 0.001 to 3,600");
  if (options.region_bytes < 64 * MiB || options.region_bytes > TiB ||
      options.region_bytes % (2 * MiB) != 0)
    return invalid("region-bytes", std::to_string(options.region_bytes),
                   "allowed are multiples of 2 MiB from 64 MiB to 1 TiB");
  return {};
}

}  // namespace

Result<Region> open_dram(std::uint64_t bytes) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  options.prefault = true;
  return Region::open("dram", options);
}

Result<BenchResult> run_suites(const std::string& command, const std::vector<Suite>& all,
                               const BlocksBenchOptions& options) {
  HF_RETURN_IF_ERROR(validate(all, options));
  WorkPlace place;
  HF_RETURN_IF_ERROR(place.prepare(options));

  RegionOptions region_options;
  region_options.size_bytes = region_options.unit_bytes = options.region_bytes;
  region_options.prefault = true;
  HF_ASSIGN_OR_RETURN(auto region, Region::open(options.region, region_options));
  if (region.size_bytes() < options.region_bytes)
    return Error{Errc::kNoSpace,
                 "--region '" + options.region + "' has " + std::to_string(region.size_bytes()) +
                     " bytes; --region-bytes asks for " + std::to_string(options.region_bytes)};
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 "--region '" + options.region +
                     "' is durable by system calls only, and these suites measure lines and "
                     "fences; for their cost without durability add ?granularity=line"};

  BenchResult result;
  Context context{options,
                  region,
                  region.report(),
                  calibrate(region.persist()),
                  place.peer_directory(),
                  results::last_level_cache_bytes()};
  result.document.command = command_of(command, options);
  result.document.parameters = {"suite", "experiment"};
  result.document.regions = {region_entry(options.region, context.report)};
  result.document.environment = results::environment();
  result.document.calibration = context.limits.fields();

  std::vector<std::pair<const Suite*, Experiment>> chosen;
  for (const auto& suite : all) {
    if (!options.suites.empty() &&
        std::find(options.suites.begin(), options.suites.end(), suite.name) == options.suites.end())
      continue;
    for (auto& experiment : suite.experiments(context)) {
      if (wanted(options, experiment.name)) chosen.emplace_back(&suite, std::move(experiment));
    }
  }
  if (chosen.empty())
    return invalid("only", joined(options.only, ","), "no experiment's name contains this");
  std::vector<Plan> plans;
  for (auto& [suite, experiment] : chosen) {
    plans.push_back(std::move(experiment.plan));
    complete(plans.back(), options);
  }
  if (options.progress) announce(plans);
  for (std::size_t i = 0; i < plans.size() && !result.interrupted; ++i) {
    run_experiment(context, *chosen[i].first, chosen[i].second, plans[i], result);
    plans[i] = {};  // Its subjects may hold ranges of the region, which the next ones need.
  }
  return result;
}

}  // namespace holdfast::bench::blocks
