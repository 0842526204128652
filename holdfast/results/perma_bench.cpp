// The JSON of PerMA-Bench, in and out. Its shape:
//
//   [ { "bm_name": …, "bm_type": "single", "matrix_args": ["number_threads", …],
//       "benchmarks": [ {"config": {…}, "results": {…}}, … ] },
//     { "bm_name": …, "bm_type": "parallel", "sub_bm_names": ["a", "b"],
//       "matrix_args": {"a": […], "b": […]},
//       "benchmarks": [ {"configs": {"a": {…}, "b": {…}}, "results": {"a": {…}, "b": {…}}} ] } ]
//
// The successor writes "config" for pairs, too, and wraps their results in one more "results"; an
// older version wrote a bandwidth as {"read": …}. All of these are read.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <holdfast/results/perma_bench.hpp>
#include <holdfast/results/statistics.hpp>

namespace holdfast::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGiB = 0x1p30;

// A name of theirs, the name of ours.
using Names = std::vector<std::pair<std::string, std::string>>;
const Names kConfigNames = {{"number_threads", "threads"},
                            {"memory_type", "region"},
                            {"operation", "access_kind"},
                            {"access_size", "access_bytes"},
                            {"memory_range", "memory_range_bytes"},
                            {"total_memory_range", "memory_range_bytes"},  // Older.
                            {"dram_memory_range", "dram_memory_range_bytes"},
                            {"min_io_chunk_size", "min_io_chunk_bytes"},
                            {"run_time", "run_time_s"},
                            {"custom_operations", "custom_operations"},
                            {"custom_ops", "custom_operations"}};  // Older.
const Names kLatencyNames = {{"avg", "mean_ns"},
                             {"min", "min_ns"},
                             {"max", "max_ns"},
                             {"std_dev", "standard_deviation_ns"},
                             {"median", "p50_ns"},
                             {"lower_quartile", "p25_ns"},
                             {"upper_quartile", "p75_ns"},
                             {"percentile_90", "p90_ns"},
                             {"percentile_95", "p95_ns"},
                             {"percentile_99", "p99_ns"},
                             {"percentile_999", "p999_ns"},
                             {"percentile_9999", "p9999_ns"}};

std::string ours(const Names& names, const std::string& theirs) {
  for (const auto& [from, to] : names) {
    if (from == theirs) return to;
  }
  return theirs;
}

std::string theirs(const Names& names, const std::string& ours) {
  for (const auto& [from, to] : names) {
    if (to == ours) return from;
  }
  return ours;
}

Error corrupt(const std::string& place, const std::string& what) {
  return Error{Errc::kCorrupt, place + ": " + what};
}

double number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

// ---- In

// Scalars and lists of texts; what else a config may hold (lists of NUMA nodes) becomes text.
Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The bandwidth in GiB/s as the newer or the older version wrote it.
double bandwidth_in(const Json& results) {
  const auto found = results.find("bandwidth");
  if (found != results.end() && found->is_object() && !found->empty() && found->front().is_number())
    return found->front().get<double>();
  return number_in(results, "bandwidth");
}

void set_rate(Row& row, const std::string& field, double rate) {
  for (const auto* suffix : {"_median", "_low", "_high"})
    row.set(field + suffix, rate);
  row.set(field + "_samples", std::vector<double>{rate});
}

void take_threads(Row& row, const Json& results) {
  const auto found = results.find("threads");
  if (found == results.end() || !found->is_array()) return;
  const auto list = [&](const char* name, double factor) {
    std::vector<double> numbers;
    for (const auto& thread : *found) {
      if (thread.is_object() && !std::isnan(number_in(thread, name)))
        numbers.push_back(factor * number_in(thread, name));
    }
    return numbers;
  };
  for (const auto& [name, field, factor] : {std::tuple{"bandwidth", "thread_bytes_per_s", kGiB},
                                            {"accessed_bytes", "thread_accessed_bytes", 1.0},
                                            {"ops_per_second", "thread_ops_per_s", 1.0},
                                            {"num_operations", "thread_operations", 1.0},
                                            {"execution_time", "thread_execution_time_s", 1.0}}) {
    if (auto numbers = list(name, factor); !numbers.empty()) row.set(field, numbers);
  }
}

Result<Row> row_of(const std::string& operation, const Json& config, const Json& results,
                   const std::string& place, std::set<std::string>& parameters) {
  if (!config.is_object()) return corrupt(place + ".config", "is missing or not an object");
  if (!results.is_object()) return corrupt(place + ".results", "is missing or not an object");
  if (config.size() > kFieldsMax) return corrupt(place + ".config", "has too many fields");
  const auto threads = number_in(config, "number_threads");
  if (!(threads >= 1 && threads <= 1e6))
    return corrupt(place + ".config.number_threads", "must be a number from 1 to a million");
  Row row(kPermaBenchSubject, operation, static_cast<unsigned>(threads));
  for (const auto& [name, value] : config.items()) {
    const auto field = ours(kConfigNames, name);
    if (field == "threads") continue;
    if (row.find(field) != nullptr || field == "part")
      return corrupt(place + ".config." + name, "is there twice, or is the name of a result");
    row.set(field, value_of(value));
    parameters.insert(field);
  }
  const auto bandwidth = bandwidth_in(results), bytes = number_in(results, "accessed_bytes");
  auto rate = number_in(results, "ops_per_second");
  const auto seconds = number_in(results, "execution_time");
  if (std::isnan(bandwidth) && std::isnan(rate))
    return corrupt(place + ".results", "has neither bandwidth nor ops_per_second");
  if (!std::isnan(bandwidth)) set_rate(row, "bytes_per_s", bandwidth * kGiB);
  if (std::isnan(rate)) rate = bytes / number_in(config, "access_size") / seconds;
  if (std::isfinite(rate)) {
    set_rate(row, "ops_per_s", rate);
    row.set("ns_per_op_median", 1e9 * threads / rate);
  }
  row.set("repetitions", 1);
  if (!std::isnan(seconds)) row.set("execution_time_s", seconds);
  if (!std::isnan(bytes)) row.set("accessed_bytes", value_of(results["accessed_bytes"]));
  if (results.contains("num_operations"))
    row.set("operations", value_of(results["num_operations"]));
  if (const auto latency = results.find("latency");
      latency != results.end() && latency->is_object()) {
    for (const auto& [name, field] : kLatencyNames) {
      if (latency->contains(name)) row.set(field, value_of((*latency)[name]));
    }
  }
  take_threads(row, results);
  return row;
}

const Json& part_of(const Json& parts, const std::string& name) {
  static const Json nothing;
  const auto found = parts.is_object() ? parts.find(name) : parts.end();
  return found == parts.end() ? nothing : *found;
}

Status take_benchmark(const Json& benchmark, const std::string& place, Document& document,
                      std::set<std::string>& parameters) {
  if (!benchmark.is_object()) return corrupt(place, "must be an object");
  const auto name = benchmark.value("bm_name", Json());
  if (!name.is_string() || name.get_ref<const std::string&>().empty())
    return corrupt(place + ".bm_name", "is missing or not a text");
  const auto runs = benchmark.value("benchmarks", Json());
  if (!runs.is_array()) return corrupt(place + ".benchmarks", "is missing or not a list");
  std::vector<std::string> parts;
  const auto names = benchmark.value("sub_bm_names", Json());
  if (names.is_array()) {
    for (const auto& part : names) {
      if (!part.is_string()) return corrupt(place + ".sub_bm_names", "must be a list of texts");
      parts.push_back(part.get<std::string>());
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto here = place + ".benchmarks[" + std::to_string(i) + "]";
    const auto& run = runs[i];
    if (!run.is_object()) return corrupt(here, "must be an object");
    const auto results = run.value("results", Json());
    if (parts.empty()) {
      HF_ASSIGN_OR_RETURN(auto row,
                          row_of(name, run.value("config", Json()), results, here, parameters));
      document.rows.push_back(std::move(row));
      continue;
    }
    const auto configs = run.contains("configs") ? run["configs"] : run.value("config", Json());
    for (const auto& part : parts) {
      const auto* result = &part_of(results, part);
      if (result->is_object() && result->contains("results")) result = &(*result)["results"];
      HF_ASSIGN_OR_RETURN(auto row, row_of(name, part_of(configs, part), *result,
                                           here + " (" + part + ")", parameters));
      row.set("part", part);
      parameters.insert("part");
      document.rows.push_back(std::move(row));
    }
  }
  for (const auto& [theirs_name, field] :
       {std::pair{"hostname", "host"}, {"git_hash", "git_revision"}, {"compiler", "compiler"}}) {
    if (benchmark.contains(theirs_name) && benchmark[theirs_name].is_string())
      document.environment.set(field, benchmark[theirs_name].get<std::string>());
  }
  return {};
}

// ---- Out

// The parameters that vary within a benchmark, in their names: what its matrix was.
Json matrix_of(const std::vector<const Row*>& rows, const std::vector<std::string>& parameters) {
  auto names = Json::array();
  const auto varies = [&](const std::string& field) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
      const auto *value = row->find(field), *first = rows.front()->find(field);
      return value == nullptr ? first != nullptr : first == nullptr || !(*value == *first);
    });
  };
  if (varies("threads")) names.push_back("number_threads");
  for (const auto& parameter : parameters) {
    if (parameter != "part" && varies(parameter)) names.push_back(theirs(kConfigNames, parameter));
  }
  return names;
}

Json json_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* number = std::get_if<double>(&value))
    return std::isfinite(*number) ? Json(*number) : Json();
  return to_text(value);
}

// Theirs knows two kinds of memory.
std::string memory_type(const Document& document, const std::string& region) {
  for (const auto& entry : document.regions) {
    if (entry.text("name") == region)
      return entry.text("kind") == "dram" || entry.text("kind").starts_with("node") ? "dram"
                                                                                    : "pmem";
  }
  return region == "dram" ? "dram" : "pmem";
}

Json config_of(const Row& row, const Document& document) {
  Json config = {{"number_threads", row.threads()}};
  for (const auto& parameter : document.parameters) {
    const auto* value = row.find(parameter);
    if (value == nullptr || parameter == "part") continue;
    config[theirs(kConfigNames, parameter)] =
        parameter == "region" ? Json(memory_type(document, to_text(*value))) : json_of(*value);
  }
  return config;
}

double standard_deviation(const std::vector<double>& values, double mean) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const auto value : values)
    sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Json results_of(const Row& row) {
  auto results = Json::object();
  const auto bytes = row.number("bytes_per_s_median"), rate = row.number("ops_per_s_median");
  const auto threads = static_cast<double>(std::max<std::uint64_t>(1, row.threads()));
  // Theirs has one or the other: operations for chains where they are known, else bandwidth.
  const bool plain =
      !std::isnan(bytes) && (std::isnan(rate) || row.find("custom_operations") == nullptr);
  const auto total = plain ? bytes / kGiB : rate;
  auto per_thread = row.numbers(plain ? "thread_bytes_per_s" : "thread_ops_per_s");
  if (plain && per_thread.empty()) {
    per_thread = row.numbers("thread_ops_per_s");
    for (auto& each : per_thread)
      each *= row.number("access_bytes");
  }
  if (plain) {
    for (auto& each : per_thread)
      each /= kGiB;
  }
  results[plain ? "bandwidth" : "ops_per_second"] = total;
  const std::string prefix = plain ? "thread_bandwidth_" : "thread_ops_per_second_";
  results[prefix + "avg"] = total / threads;
  results[prefix + "std_dev"] = standard_deviation(per_thread, total / threads);
  // Ours is many repetitions: theirs gets the median time, and what was done in it at the median
  // rate.
  const auto given = row.number("execution_time_s");
  const auto seconds = std::isnan(given) ? median(row.numbers("seconds_samples")) : given;
  if (!std::isnan(seconds)) results["execution_time"] = seconds;
  const auto* amount = row.find(plain ? "accessed_bytes" : "operations");
  const auto done = std::round(seconds * (plain ? bytes : rate));
  if (amount != nullptr)
    results[plain ? "accessed_bytes" : "num_operations"] = json_of(*amount);
  else if (done >= 0 && done < 0x1p63)
    results[plain ? "accessed_bytes" : "num_operations"] = static_cast<std::uint64_t>(done);
  auto list = Json::array();
  const auto counts = row.numbers(plain ? "thread_accessed_bytes" : "thread_operations");
  const auto times = row.numbers("thread_execution_time_s");
  for (std::size_t i = 0; i < per_thread.size(); ++i) {
    Json thread = {{plain ? "bandwidth" : "ops_per_second", per_thread[i]}};
    if (i < counts.size() && counts[i] >= 0 && counts[i] < 0x1p63) {
      thread[plain ? "accessed_bytes" : "num_operations"] = static_cast<std::uint64_t>(counts[i]);
    }
    if (i < times.size()) thread["execution_time"] = times[i];
    list.push_back(std::move(thread));
  }
  results["threads"] = std::move(list);
  auto latency = Json::object();
  for (const auto& [name, field] : kLatencyNames) {
    if (const auto* value = row.find(field)) latency[name] = json_of(*value);
  }
  if (!latency.empty()) results["latency"] = std::move(latency);
  return results;
}

bool can_be_said(const Row& row) {
  return row.valid() && !(std::isnan(row.number("bytes_per_s_median")) &&
                          std::isnan(row.number("ops_per_s_median")));
}

// The rows of one benchmark of a parallel pair: the n-th of one half belongs to the n-th of the
// other. A pair of which one half cannot be said is left out.
Json pairs_of(const std::vector<const Row*>& rows, const Document& document, Json& benchmark,
              std::vector<std::string>& warnings) {
  const auto first = rows.front()->text("part");
  std::vector<const Row*> ones, others;
  for (const auto* row : rows)
    (row->text("part") == first ? ones : others).push_back(row);
  auto runs = Json::array();
  const auto second = others.empty() ? std::string() : others.front()->text("part");
  bool alone = ones.size() != others.size() || second.empty();
  const auto pairs = std::min(ones.size(), others.size());
  std::vector<const Row*> said_ones, said_others;
  for (std::size_t i = 0; i < pairs; ++i) {
    alone |= can_be_said(*ones[i]) != can_be_said(*others[i]);
    if (!can_be_said(*ones[i]) || !can_be_said(*others[i])) continue;
    said_ones.push_back(ones[i]);
    said_others.push_back(others[i]);
  }
  if (alone) warnings.push_back("a half of a parallel pair has no partner and is left out");
  benchmark["sub_bm_names"] = {first, second};
  benchmark["matrix_args"] = {{first, matrix_of(said_ones, document.parameters)}};
  if (!second.empty())
    benchmark["matrix_args"][second] = matrix_of(said_others, document.parameters);
  for (std::size_t i = 0; i < said_ones.size(); ++i) {
    Json run;
    for (const auto* row : {said_ones[i], said_others[i]}) {
      run["configs"][row->text("part")] = config_of(*row, document);
      run["results"][row->text("part")]["results"] = results_of(*row);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

bool looks_like_perma_bench(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '[';
}

Result<Document> from_perma_bench(std::string_view text) {
  const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{Errc::kCorrupt, "PerMA-Bench result: is not JSON"};
  if (!json.is_array())
    return Error{Errc::kNotHoldfast, "PerMA-Bench result: must be a list of benchmarks"};
  Document document;
  document.command.set("name", "perma-bench");
  std::set<std::string> parameters;
  for (std::size_t i = 0; i < json.size(); ++i) {
    HF_RETURN_IF_ERROR(
        take_benchmark(json[i], "[" + std::to_string(i) + "]", document, parameters));
  }
  document.parameters.assign(parameters.begin(), parameters.end());
  document.warnings = {
      "from PerMA-Bench: one repetition, no environment, nothing checked",
      "PerMA-Bench built by GCC 11 or later does not execute its plain reads, and of custom reads "
      "above 512 bytes only the first 512"};
  return document;
}

PermaBenchJson to_perma_bench(const Document& document, const std::string& subject) {
  PermaBenchJson out;
  const auto is_ours = [](const Row& row) { return row.subject() == "holdfast"; };
  const bool any_ours = std::any_of(document.rows.begin(), document.rows.end(), is_ours);
  std::vector<std::string> names;
  std::map<std::string, std::vector<const Row*>> groups;
  std::size_t invalid = 0, others = 0;
  for (const auto& row : document.rows) {
    if (subject.empty() ? any_ours && !is_ours(row) : row.subject() != subject) {
      ++others;
    } else {
      invalid += can_be_said(row) ? 0 : 1;
      // A half of a pair stays: the halves after it keep their partners.
      if (!can_be_said(row) && row.text("part").empty()) continue;
      if (!groups.contains(row.operation())) names.push_back(row.operation());
      groups[row.operation()].push_back(&row);
    }
  }
  auto json = Json::array();
  for (const auto& name : names) {
    const auto& rows = groups[name];
    const bool parallel = !rows.front()->text("part").empty();
    Json benchmark = {{"bm_name", name}, {"bm_type", parallel ? "parallel" : "single"}};
    if (parallel) {
      auto runs = pairs_of(rows, document, benchmark, out.warnings);
      benchmark["benchmarks"] = std::move(runs);
    } else {
      benchmark["matrix_args"] = matrix_of(rows, document.parameters);
      benchmark["benchmarks"] = Json::array();
      for (const auto* row : rows) {
        benchmark["benchmarks"].push_back(
            {{"config", config_of(*row, document)}, {"results", results_of(*row)}});
      }
    }
    json.push_back(std::move(benchmark));
  }
  if (invalid > 0)
    out.warnings.push_back(std::to_string(invalid) +
                           " rows that are INVALID are left out: the format cannot say so");
  if (others > 0)
    out.warnings.push_back(std::to_string(others) + " rows of other subjects are left out");
  out.text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

}  // namespace holdfast::results
