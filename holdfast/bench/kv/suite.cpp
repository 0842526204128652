#include <holdfast/bench/kv/suite.hpp>

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include <holdfast/base/printed.hpp>
#include <holdfast/bench/calibration.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/results/environment.hpp>

namespace holdfast::bench::kv {
namespace {

namespace fs = std::filesystem;

Error invalid(const std::string& option, const std::string& seen, const std::string& allowed) {
  return Error{Errc::kInvalidOption, "--" + option + ": '" + seen + "'; " + allowed};
}

const std::vector<std::string> kStoreNames = {"holdfast",
                                              "holdfast-ordered",
                                              "holdfast-typed",
                                              "holdfast-pipeline",
                                              "floor",
                                              "rocksdb",
                                              "lmdb",
                                              "leveldb",
                                              "tbb",
                                              "map"};
// Those that can scan.
const std::vector<std::string> kOrderedStores = {"holdfast-ordered", "rocksdb", "lmdb", "leveldb"};
const std::vector<std::string> kDefaultOps = {"put",      "put_many", "overwrite", "get",
                                              "get_many", "update8",  "erase",     "ycsb-a",
                                              "ycsb-b",   "ycsb-c",   "ycsb-d",    "ycsb-f"};

template <class List>
std::string first_duplicate(const List& list) {
  for (auto i = list.begin(); i != list.end(); ++i) {
    if (std::find(list.begin(), i, *i) == i) continue;
    if constexpr (std::is_same_v<typename List::value_type, std::string>)
      return *i;
    else
      return std::to_string(*i);
  }
  return {};
}

// Under a memory limit only a file on a disk can give memory back.
Status on_a_disk(const std::string& region) {
  const auto refused = [&](const std::string& what) {
    return invalid("memory-limit", region,
                   what +
                       " cannot give memory back to stay within a limit; give a --region on a "
                       "file system of a disk");
  };
  if (!region.starts_with("/") || region.starts_with("/dev/dax")) return refused("memory");
  struct statfs info{};
  const auto parent = fs::path(parts_of(region).place).parent_path();
  if (::statfs(parent.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC) return refused("tmpfs");
  return {};
}

// The directory below which everything is written: made if need be, removed at the end.
class WorkPlace {
 public:
  ~WorkPlace() {
    std::error_code error;
    if (!peer_directory_.empty()) fs::remove_all(peer_directory_, error);
    if (!base_.empty() && made_base_) fs::remove_all(base_, error);
  }

  Status prepare(const std::string& region, const std::string& peer_directory) {
    HF_ASSIGN_OR_RETURN(const auto spec, RegionSpec::parse(region));
    if (spec.kind == RegionSpec::Kind::kPath && !spec.path.starts_with("/dev/dax")) {
      HF_RETURN_IF_ERROR(prepare_base(spec.path));
      peer_directory_ = base_ + "/peers";
    } else {
      std::string pattern = (peer_directory.empty() ? std::string("/dev/shm") : peer_directory) +
                            "/holdfast-bench-XXXXXX";
      if (::mkdtemp(pattern.data()) == nullptr) {
        return Error{Errc::kIo,
                     "--peer-directory: cannot make " + pattern + ": " + std::strerror(errno)};
      }
      peer_directory_ = pattern;
    }
    std::error_code error;
    fs::create_directories(peer_directory_, error);
    if (error) return Error{Errc::kIo, "cannot make " + peer_directory_ + ": " + error.message()};
    return {};
  }

  const std::string& base() const { return base_; }
  const std::string& peer_directory() const { return peer_directory_; }

 private:
  Status prepare_base(const std::string& path) {
    std::error_code error;
    if (fs::exists(path, error) && !(fs::is_directory(path, error) && fs::is_empty(path, error))) {
      return Error{Errc::kAlreadyExists,
                   "--region: " + path +
                       " exists and is not an empty directory; kv bench removes "
                       "what it writes, so give it a path of its own"};
    }
    made_base_ = fs::create_directory(path, error);
    if (error) return Error{Errc::kIo, "--region: cannot make " + path + ": " + error.message()};
    base_ = path;
    return {};
  }

  std::string base_, peer_directory_;
  bool made_base_ = false;
};

struct Probe {
  RegionReport report;
  Persist persist = Persist::none();
};

// What the region will be like, from a small one in the same place.
Result<Probe> probe_region(const Context& context) {
  const auto place = place_of(context, "probe");
  RegionOptions options;
  options.size_bytes = options.unit_bytes = 4 * MiB;
  Probe probe;
  {
    HF_ASSIGN_OR_RETURN(const auto region, Region::open(place, options));
    probe.report = region.report();
    probe.persist = region.persist();
  }
  if (!context.base.empty() && !context.base.starts_with("/dev/dax")) {
    std::error_code error;
    fs::remove_all(context.base + "/probe", error);
  }
  return probe;
}

std::uint64_t raw_bytes(const Context& context) {
  return (context.records + context.planned_new_records) *
         (context.shape.key_bytes + context.shape.value_bytes);
}

// Before an hour of work, not after it. The largest store of the comparison takes some 2.5 times
// the raw data (a floor that never reclaims what phases overwrite, an LSM tree while it compacts).
Status check_space(const Context& context) {
  if (context.base.empty() || context.base.starts_with("/dev/dax")) return {};
  struct statvfs info{};
  if (::statvfs(context.base.c_str(), &info) != 0) return {};
  const auto available = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  const auto needed = raw_bytes(context) * 5 / 2 + 256 * MiB;
  if (needed <= available) return {};
  return Error{Errc::kNoSpace, "--region: " + context.base + " has " +
                                   std::to_string(available / MiB) + " MiB free, some " +
                                   std::to_string(needed / MiB) +
                                   " MiB are needed; use fewer --records or another path"};
}

std::vector<std::string> ops_of(const KvBenchOptions& options) {
  if (!options.ops.empty()) return options.ops;
  if (options.promise == Promise::kPower) return {"group64", "waiters64"};
  return kDefaultOps;
}

// The order of operations(): what leaves the records alone comes first.
std::vector<OperationEntry> ordered_operations(const std::vector<std::string>& asked) {
  std::vector<OperationEntry> entries;
  for (const auto& operation : operations()) {
    if (std::find(asked.begin(), asked.end(), operation.name) == asked.end()) continue;
    entries.push_back({operation.name, {}});
    if (entries.back().name == "group64") entries.back().threads = {1};
    if (entries.back().name == "waiters64") entries.back().threads = {64};
  }
  return entries;
}

void fill_context(Context& context, const Experiment& experiment, const WorkPlace& place) {
  const auto& options = experiment.options;
  static_cast<Common&>(context) = options;
  context.write_bound = options.phase_operations != 0
                            ? options.phase_operations
                            : std::max<std::uint64_t>(options.records / 4, 1000);
  context.read_bound = options.phase_operations != 0 ? options.phase_operations : options.records;
  // Erases and the holes of reclamation take distinct records.
  context.write_bound = std::min(context.write_bound, options.records);
  context.measure_startup = options.startup;
  context.measure_growth = options.longest;
  context.background_reclaim = experiment.background_reclaim;
  context.recovery_threads = experiment.recovery_threads;
  context.base = options.region.starts_with("/") ? place.base() : std::string();
  if (options.region.starts_with("/dev/dax")) context.base = options.region;
  context.options = parts_of(options.region).options;
  context.peer_directory = place.peer_directory();
  context.threads = *std::max_element(options.threads.begin(), options.threads.end());
  for (const auto& entry : ordered_operations(ops_of(options))) {
    const auto& operation = *find_operation(entry.name);
    for (const auto threads : entry.threads.empty() ? options.threads : entry.threads) {
      context.threads = std::max(context.threads, threads);
      const auto phases = options.latency ? 2.0 : 1.0;
      if (operation.inserts) {
        context.planned_new_records += static_cast<std::uint64_t>(
            phases * operation.appended * static_cast<double>(context.write_bound));
      }
    }
  }
}

struct Comparison {
  const Context& context;
  const Experiment& experiment;
  HelperProcess* helper;
  const Limits& limits;
};

// `comparison` outlives the plan.
Plan plan_of(const Comparison& comparison) {
  const auto& options = comparison.experiment.options;
  Plan plan;
  const auto kinds = subject_kinds(comparison.context);
  for (const auto& name : options.stores) {
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.name == name; });
    SubjectEntry entry{name, {}, kind->missing};
    if (kind->make) {
      entry.make = [&comparison, make = kind->make](unsigned repetition) {
        return make(comparison.context, repetition, comparison.helper);
      };
    }
    plan.subjects.push_back(std::move(entry));
  }
  // No operations at all is a comparison of start-up times.
  const bool only_startup = options.ops.empty() && !comparison.experiment.name.empty();
  if (!only_startup) plan.operations = ordered_operations(ops_of(options));
  plan.threads = options.threads;
  plan.repetitions = options.repeat;
  plan.seconds = options.seconds;
  plan.latency = options.latency;
  plan.progress = options.progress;
  return plan;
}

void compare(const Comparison& comparison, const Plan& plan, BenchResult& result) {
  const auto& options = comparison.experiment.options;
  auto outcome = run(plan);
  for (auto& row : outcome.rows) {
    if (!comparison.experiment.name.empty()) row.set("experiment", comparison.experiment.name);
    const bool batched = row.operation() == "put_many" || row.operation() == "get_many";
    if (batched) row.set("batch", options.batch);
    if (row.operation() == "group64") row.set("batch", 64);
    if (row.operation() == "scan") row.set("batch", kScanRecords);
    check_against_limits(
        row, comparison.limits,
        comparison.context.records * (options.shape.key_bytes + options.shape.value_bytes));
  }
  result.take(std::move(outcome));
}

// The fields of rows that tell measurements apart (docs/results.md).
const std::vector<std::string> kParameters = {
    "experiment", "batch",      "key_bytes",    "value_bytes", "sizes",
    "records",    "durability", "distribution", "space_goal",  "memory_limit_bytes"};

// region_facts() under the names that all benchmarks use for a region.
results::Fields region_entry(const RegionReport& report, const KvBenchOptions& options) {
  constexpr std::string_view kPrefix = "region_";
  results::Fields entry;
  entry.set("name", "store");
  entry.set("spec", options.region);
  const auto facts = region_facts(report, options.promise);
  for (const auto& field : facts.all()) {
    if (field.name.starts_with(kPrefix)) entry.set(field.name.substr(kPrefix.size()), field.value);
    if (field.name == "durability") entry.set(field.name, field.value);
  }
  return entry;
}

results::Fields command_of(const KvBenchOptions& options) {
  results::Fields command;
  command.set("name", "kv bench");
  command.set("stores", joined(options.stores, ","));
  command.set("records", options.records);
  command.set("key_bytes", options.shape.key_bytes);
  command.set("value_bytes", options.shape.value_bytes);
  command.set("threads", std::vector<double>(options.threads.begin(), options.threads.end()));
  command.set("ops",
              results::Value(joined(
                  options.suite.empty() ? ops_of(options) : std::vector<std::string>{}, ",")));
  command.set("region", options.region);
  command.set("repeat", options.repeat);
  command.set("batch", options.batch);
  command.set("phase_seconds_max", options.seconds);
  command.set("phase_operations_max", options.phase_operations);
  command.set("durability", options.promise == Promise::kPower     ? "power"
                            : options.promise == Promise::kProcess ? "process"
                                                                   : "default");
  command.set("distribution",
              options.distribution == Distribution::kUniform ? "uniform" : "zipfian");
  command.set("space_goal", options.space_goal);
  command.set("memory_limit_bytes", options.memory_limit_bytes);
  command.set("suite", options.suite);
  command.set("seed", options.seed);
  return command;
}

}  // namespace

Status KvBenchOptions::validate() const {
  if (stores.empty())
    return invalid("stores", "", "give at least one of " + joined(kStoreNames, ","));
  for (const auto& store : stores) {
    if (std::find(kStoreNames.begin(), kStoreNames.end(), store) == kStoreNames.end()) {
      return invalid("stores", store, "allowed are " + joined(kStoreNames, ","));
    }
  }
  if (const auto twice = first_duplicate(stores); !twice.empty())
    return invalid("stores", twice, "is given twice");
  if (records < 1000 || records > std::uint64_t{1} << 31)
    return invalid("records", std::to_string(records), "allowed are 1,000 to 2^31");
  if (const auto status = shape.validate(); !status)
    return Error{Errc::kInvalidOption, "--" + status.error().detail};
  if (threads.empty()) return invalid("threads", "", "give at least one count from 1 to 256");
  for (const auto count : threads) {
    if (count < 1 || count > 256)
      return invalid("threads", std::to_string(count), "allowed are 1 to 256");
  }
  if (const auto twice = first_duplicate(threads); !twice.empty())
    return invalid("threads", twice, "is given twice");
  for (const auto& op : ops) {
    const auto* operation = find_operation(op);
    if (operation != nullptr && is_scan(operation->verb) &&
        std::find_first_of(stores.begin(), stores.end(), kOrderedStores.begin(),
                           kOrderedStores.end()) == stores.end())
      return invalid("ops", op,
                     "needs a store with an order of keys: give --stores one of " +
                         joined(kOrderedStores, ","));
    if (operation != nullptr) continue;
    std::vector<std::string> names;
    for (const auto& known : operations())
      names.emplace_back(known.name);
    return invalid("ops", op, "allowed are " + joined(names, ","));
  }
  if (const auto twice = first_duplicate(ops); !twice.empty())
    return invalid("ops", twice, "is given twice");
  if (region.empty())
    return invalid("region", region,
                   "give a path that does not exist yet, dram, node:N or /dev/daxX.Y");
  if (region.starts_with("/dev/dax") && !erase_device) {
    return invalid("region", region,
                   "the comparison overwrites the whole device; add --erase-device if nothing on "
                   "it is needed");
  }
  if (repeat < 1 || repeat > 1000)
    return invalid("repeat", std::to_string(repeat), "allowed are 1 to 1,000");
  if (batch < 1 || batch > 4096)
    return invalid("batch", std::to_string(batch), "allowed are 1 to 4,096");
  if (!(seconds >= 0.001 && seconds <= 3600))
    return invalid("seconds", std::to_string(seconds), "allowed are 0.001 to 3,600");
  if (!suite.empty() && suite != "paper")
    return invalid("suite", suite, "the one suite is 'paper'");
  if (!(space_goal >= 1.05 && space_goal <= 10))
    return invalid("space-goal", std::to_string(space_goal), "allowed are 1.05 to 10");
  if (memory_limit_bytes == 0) return {};
  if (memory_limit_bytes < 128 * MiB) {
    return invalid("memory-limit", std::to_string(memory_limit_bytes),
                   "at least 128 MiB are needed (the calibration takes half of them)");
  }
  return on_a_disk(region);
}

Result<BenchResult> run_kv_bench(const KvBenchOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  WorkPlace place;
  HF_RETURN_IF_ERROR(place.prepare(options.region, options.peer_directory));

  auto experiments = options.suite == "paper" ? paper_experiments(options)
                                              : std::vector<Experiment>{{"", "", options}};
  std::vector<std::unique_ptr<Context>> contexts;
  for (const auto& experiment : experiments) {
    contexts.push_back(std::make_unique<Context>());
    fill_context(*contexts.back(), experiment, place);
    contexts.back()->request_prefix = std::to_string(contexts.size()) + ":";
    HF_RETURN_IF_ERROR(check_space(*contexts.back()));
  }

  // Forked now, while there is one thread. One for all experiments, which it knows from before the
  // fork: a request names the experiment and the store.
  std::unique_ptr<HelperProcess> helper;
  const auto with = [&contexts](auto member) {
    return [&contexts, member](const std::string& request, HelperShared& shared) -> Status {
      for (const auto& context : contexts) {
        if (!request.starts_with(context->request_prefix)) continue;
        for (const auto& kind : subject_kinds(*context)) {
          if (context->request_prefix + kind.name == request && kind.*member)
            return (kind.*member)(*context, shared);
        }
      }
      return Error{Errc::kUnsupported, request + " is not built"};
    };
  };
  if (std::any_of(experiments.begin(), experiments.end(),
                  [](const auto& e) { return e.options.startup || e.options.longest; })) {
    HF_ASSIGN_OR_RETURN(helper, HelperProcess::start({with(&SubjectKind::work_until_killed),
                                                      with(&SubjectKind::grow)}));
  }

  BenchResult result;
  result.document.command = command_of(options);
  result.document.environment = results::environment();
  HF_ASSIGN_OR_RETURN(const auto probe, probe_region(*contexts.front()));
  result.document.environment.merge(region_facts(probe.report, options.promise));
  result.document.environment.set("region", options.region);  // Not the probe's.
  result.document.regions = {region_entry(probe.report, options)};
  result.document.parameters = kParameters;
  const auto limits = calibrate(probe.persist);
  result.document.calibration = limits.fields();
  std::vector<Comparison> comparisons;
  for (std::size_t i = 0; i < experiments.size(); ++i)
    comparisons.push_back({*contexts[i], experiments[i], helper.get(), limits});
  std::vector<Plan> plans;
  for (const auto& comparison : comparisons)
    plans.push_back(plan_of(comparison));
  if (options.progress) announce(plans);
  for (std::size_t i = 0; i < experiments.size() && !result.interrupted; ++i)
    compare(comparisons[i], plans[i], result);
  return result;
}

}  // namespace holdfast::bench::kv
