#include <holdfast/bench/index/index_suites.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <holdfast/bench/index/index_subject.hpp>
#include <holdfast/bench/index/mix.hpp>

namespace holdfast::bench::index {
namespace {

using blocks::Context;
using blocks::Experiment;

template <class Adapter, bool kInterleaved = false>
void add(Experiment& experiment, const Context& context, const char* name,
         Distribution distribution) {
  experiment.plan.subjects.push_back(
      blocks::subject_entry<IndexSubject<Adapter, kInterleaved>>(name, context, distribution));
}

SubjectEntry tbb_entry(const Context& context, Distribution distribution) {
  return blocks::module_entry<Distribution>("tbb", "tbb-dram", context, distribution);
}
SubjectEntry absl_entry(const Context& context, Distribution distribution) {
  return blocks::module_entry<Distribution>("absl", "absl-btree-dram", context, distribution);
}

// "zipf", or "zipf 0.8" where the exponent is not the usual one.
std::string zipf_name(double exponent) {
  if (exponent == Zipf::kYcsbTheta) return "zipf";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), exponent).ptr;
  return "zipf " + std::string(digits.data(), end);
}

std::vector<Experiment> point_experiments(const Context& context) {
  std::vector<Experiment> experiments;
  const std::pair<std::string, Distribution> drawn[] = {
      {"uniform", Distribution::kUniform},
      {zipf_name(context.options.zipf), Distribution::kZipf},
      {"self-similar", Distribution::kSelfSimilar}};
  for (const auto& [name, distribution] : drawn) {
    Experiment experiment;
    experiment.name = "point " + name;
    experiment.what = "PiBench: operations one by one and mixed, by how keys are drawn";
    experiment.part = "point";
    experiment.parameters.set("keys", name);
    add<DashAdapter>(experiment, context, "dash", distribution);
    add<DashAdapter, true>(experiment, context, "dash-interleaved", distribution);
    add<FpTreeAdapter>(experiment, context, "fptree", distribution);
    add<FpTreeAdapter, true>(experiment, context, "fptree-interleaved", distribution);
    add<FastFairAdapter>(experiment, context, "fastfair", distribution);
    add<OffsetMapAdapter>(experiment, context, "offset-map-dram", distribution);
    add<OrderedAdapter>(experiment, context, "ordered-dram", distribution);
    experiment.plan.subjects.push_back(tbb_entry(context, distribution));
    experiment.plan.subjects.push_back(absl_entry(context, distribution));
    experiment.plan.operations = {{"find", {}}, {"update", {}}, {"mixed_90_10", {}}};
    // New keys are what they are, however old ones are drawn.
    if (!context.options.mix.empty())
      experiment.plan.operations = {{Mix::parse(context.options.mix).value().name(), {}}};
    else if (distribution == Distribution::kUniform)
      experiment.plan.operations.push_back({"insert", {}});
    experiment.plan.baseline = "dash";
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

std::vector<Experiment> scan_experiments(const Context& context) {
  Experiment experiment;
  experiment.name = experiment.part = "scan";
  experiment.what = "100 records in order, from a key drawn uniformly";
  add<FpTreeAdapter>(experiment, context, "fptree", Distribution::kUniform);
  add<FastFairAdapter>(experiment, context, "fastfair", Distribution::kUniform);
  add<OrderedAdapter>(experiment, context, "ordered-dram", Distribution::kUniform);
  experiment.plan.subjects.push_back(absl_entry(context, Distribution::kUniform));
  experiment.plan.operations = {{"scan_100", {}}};
  experiment.plan.baseline = "fptree";
  return {std::move(experiment)};
}

// Keys and values that are longer than a word.
Experiment bytes_experiment(const Context& context, const RecordSizes& sizes) {
  Experiment experiment;
  experiment.name =
      "bytes " + std::to_string(sizes.key) + " + " + std::to_string(sizes.value) + " B";
  experiment.what = "Dash over a log, by the length of keys and values";
  experiment.part = "bytes";
  experiment.parameters.set("key_bytes", std::uint64_t{sizes.key});
  experiment.parameters.set("value_bytes", std::uint64_t{sizes.value});
  // Twice what the records and their frames take, and as much again for what is overwritten.
  const auto records = context.options.region_bytes / (context.options.quick ? 64 : 1) /
                       (4 * (sizes.key + sizes.value + 64));
  experiment.plan.subjects.push_back(blocks::subject_entry<IndexSubject<ByteDashAdapter>>(
      "byte-dash", context, Distribution::kUniform, records, sizes));
  experiment.plan.operations = {{"find", {}}, {"update", {}}, {"insert", {}}};
  experiment.plan.baseline = "byte-dash";
  return experiment;
}
std::vector<Experiment> bytes_experiments(const Context& context) {
  const auto& chosen = context.options.sizes;
  const auto all = RecordSizes::parse(chosen.empty() ? "8+8,16+100,32+1000" : chosen).value();
  std::vector<Experiment> experiments;
  for (const auto& sizes : all)
    experiments.push_back(bytes_experiment(context, sizes));
  return experiments;
}

std::vector<Experiment> open_experiments(const Context& context) {
  Experiment experiment;
  experiment.name = experiment.part = "open";
  experiment.what = "an index of all records is closed, opened, and one key is looked up";
  add<DashAdapter>(experiment, context, "dash", Distribution::kUniform);
  add<FpTreeAdapter>(experiment, context, "fptree", Distribution::kUniform);
  add<FastFairAdapter>(experiment, context, "fastfair", Distribution::kUniform);
  experiment.plan.operations = {{"open", {}}};
  experiment.plan.threads = {1};
  experiment.plan.baseline = "dash";
  return {std::move(experiment)};
}

// An index beside its model, operation by operation.
template <class Adapter, bool kInterleaved = false>
void add_limit(std::vector<Experiment>& experiments, const Context& context, const char* name,
               const char* operation, const char* chain) {
  Experiment experiment;
  experiment.name = std::string("limit ") + name + " " + operation;
  experiment.what = "Benson 2023, figures 3.8 to 3.10: the index and the chain that models it";
  experiment.part = "limit";
  experiment.parameters.set("index", name);
  add<Adapter, kInterleaved>(experiment, context, name, Distribution::kUniform);
  for (const bool in_turn : {false, true}) {
    // One that is called one by one waits for each; one that interleaves does not.
    if (in_turn && kInterleaved) continue;
    experiment.plan.subjects.push_back({in_turn ? "model-in-turn" : "model",
                                        [&context, operation, chain, in_turn](unsigned) {
                                          return make_model(context, operation, chain, in_turn);
                                        },
                                        ""});
  }
  experiment.plan.operations = {{operation, {}}};
  experiment.plan.baseline = "model";
  experiments.push_back(std::move(experiment));
}

// The chains are those of workloads/operations/, for the sizes that the indexes have.
std::vector<Experiment> limit_experiments(const Context& context) {
  std::vector<Experiment> experiments;
  const char* const dash_find = "r_512";
  const char* const dash_insert = "r_512,w_64_cache_128,w_64_cache_-128";
  const char* const fptree_find = "rd_2048,rd_2048,rp_1024";
  const char* const fptree_insert =
      "rd_2048,rd_2048,rp_1024,wp_64_cache_512,wp_64_cache_-448,wp_64_cache_-64";
  const char* const fastfair_find = "r_512,r_512,r_512";
  const char* const fastfair_insert =
      "r_512,r_512,r_512,w_64_cache_320,w_64_cache_-64,w_64_cache_-64,w_64_cache_-64";
  add_limit<DashAdapter>(experiments, context, "dash", "find", dash_find);
  add_limit<DashAdapter>(experiments, context, "dash", "insert", dash_insert);
  add_limit<DashAdapter, true>(experiments, context, "dash-interleaved", "find", dash_find);
  add_limit<DashAdapter, true>(experiments, context, "dash-interleaved", "insert", dash_insert);
  add_limit<FpTreeAdapter>(experiments, context, "fptree", "find", fptree_find);
  add_limit<FpTreeAdapter>(experiments, context, "fptree", "insert", fptree_insert);
  add_limit<FpTreeAdapter, true>(experiments, context, "fptree-interleaved", "find", fptree_find);
  add_limit<FpTreeAdapter, true>(experiments, context, "fptree-interleaved", "insert",
                                 fptree_insert);
  add_limit<FastFairAdapter>(experiments, context, "fastfair", "find", fastfair_find);
  add_limit<FastFairAdapter>(experiments, context, "fastfair", "insert", fastfair_insert);
  return experiments;
}

}  // namespace

const std::vector<blocks::Suite>& suites() {
  static const std::vector<blocks::Suite> all = {
      {"point", "look-ups, updates, inserts and a mixture, by how keys are drawn",
       &point_experiments},
      {"scan", "100 records in order", &scan_experiments},
      {"bytes", "keys and values of other lengths", &bytes_experiments},
      {"open", "closing, opening and the first look-up", &open_experiments},
      {"limit", "each persistent index beside the chain of accesses that models it",
       &limit_experiments},
  };
  return all;
}

Status check_choices(const blocks::BlocksBenchOptions& options) {
  const auto for_suite = [&](const char* suite, const std::string& option) -> Status {
    const auto& chosen = options.suites;
    if (chosen.empty() || std::find(chosen.begin(), chosen.end(), suite) != chosen.end()) return {};
    return Error{Errc::kInvalidOption,
                 option + ": it is for the suite " + suite + ", which is not among --suite"};
  };
  if (!options.mix.empty()) {
    HF_RETURN_IF_ERROR(Mix::parse(options.mix));
    HF_RETURN_IF_ERROR(for_suite("point", "--mix '" + options.mix + "'"));
  }
  if (options.zipf != Zipf::kYcsbTheta) {
    const auto option = "--zipf " + std::to_string(options.zipf);
    if (!(options.zipf > 0 && options.zipf < 1))
      return Error{Errc::kInvalidOption,
                   option + ": above 0 (almost uniform) and below 1 (most skewed): 0.8"};
    HF_RETURN_IF_ERROR(for_suite("point", option));
  }
  if (!options.sizes.empty()) {
    HF_RETURN_IF_ERROR(RecordSizes::parse(options.sizes));
    HF_RETURN_IF_ERROR(for_suite("bytes", "--sizes '" + options.sizes + "'"));
  }
  return {};
}

// A sixty-fourth of the bytes: 16 for the record, the rest for half full nodes and new keys.
std::uint64_t records_of(const Context& context) {
  return context.options.region_bytes / (context.options.quick ? 2'048 : 64);
}

}  // namespace holdfast::bench::index
