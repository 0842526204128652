// The experiments of Benson et al., "Viper: An Efficient Hybrid PMem-DRAM Key-Value Store" (VLDB
// 2021), section 5, at the size of the machine at hand: where the paper has 100 million records of
// 216 bytes and 36 threads, these have --records and --threads.
#include <algorithm>

#include <holdfast/bench/kv/suite.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::bench::kv {
namespace {

constexpr std::uint64_t kRecordBytes = 216;

// Only those of `wanted` that the user asked for, in the user's order.
std::vector<std::string> among(const std::vector<std::string>& asked,
                               const std::vector<std::string>& wanted) {
  std::vector<std::string> both;
  for (const auto& name : asked) {
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) both.push_back(name);
  }
  return both;
}

std::string with_option(const std::string& region, const std::string& option) {
  const auto [place, options] = parts_of(region);
  // The last of a name would be a duplicate: replace what is there.
  const auto name = option.substr(0, option.find('='));
  std::string kept;
  for (std::size_t at = 1; at < options.size();) {
    const auto end = std::min(options.find('&', at), options.size());
    const auto part = options.substr(at, end - at);
    if (!part.empty() && !part.starts_with(name + "=")) kept += part + "&";
    at = end + 1;
  }
  return place + "?" + kept + option;
}

// The list under construction.
struct Experiments {
  explicit Experiments(const KvBenchOptions& asked)
      : base(asked), ours(among(asked.stores, {"holdfast", "holdfast-typed", "floor"})) {}

  template <class Change>
  void add(std::string name, std::string what, std::vector<std::string> ops, Change&& change) {
    Experiment experiment;
    experiment.name = std::move(name);
    experiment.what = std::move(what);
    experiment.options = base;
    experiment.options.suite.clear();
    experiment.options.ops = std::move(ops);
    experiment.options.latency = experiment.options.startup = experiment.options.longest = false;
    change(experiment);
    if (!experiment.options.stores.empty()) all.push_back(std::move(experiment));
  }

  const KvBenchOptions& base;
  const std::vector<std::string> ours;
  std::vector<Experiment> all;
};

void by_operation_and_size(Experiments& list) {
  list.add("operations",
           "figures 6 and 9: core operations over threads; DRAM and medium per record",
           {"put", "get", "update8", "erase"},
           [&](Experiment& e) { e.options.longest = list.base.longest; });

  for (const auto& [key, value] :
       {std::pair{8u, 8u}, {16u, 100u}, {16u, 200u}, {32u, 500u}, {100u, 900u}}) {
    list.add("size " + std::to_string(key) + "/" + std::to_string(value),
             "figure 7: record size, the same bytes in all", {"put", "get"}, [&](Experiment& e) {
               e.options.shape = {key, value, false};
               // Twice as many at most: an index entry per record must still fit.
               e.options.records = std::clamp(list.base.records * kRecordBytes / (key + value),
                                              std::uint64_t{1000}, 2 * list.base.records);
             });
  }
  list.add("variable sizes", "figure 8: keys N(16, 3.2^2), values N(200, 40^2)", {"put", "get"},
           [](Experiment& e) {
             e.options.shape = {16, 200, true};
             std::erase(e.options.stores, "holdfast-typed");
           });
}

void by_what_is_left_out(Experiments& list) {
  list.add("update strategy", "figure 10: 8 bytes in place against read, change, put",
           {"update8", "update_copy"}, [&](Experiment& e) { e.options.stores = list.ours; });
  list.add("data on the region", "figure 11: data on the region, index in DRAM", {"put", "get"},
           [&](Experiment& e) { e.options.stores = list.ours; });
  list.add("data in DRAM", "figure 11: data and index in DRAM", {"put", "get"}, [&](Experiment& e) {
    e.options.stores = list.ours;
    e.options.region = "dram";
  });
  list.add("breakdown with persist", "figure 12: with write-back and fence",
           {"put", "get", "update8", "erase"},
           [&](Experiment& e) { e.options.stores = list.ours; });
  if (list.base.region.starts_with("/") && !list.base.region.starts_with("/dev/dax")) {
    list.add(
        "breakdown without persist",
        "figure 12: the same without write-back and fence; the difference is the medium's part",
        {"put", "get", "update8", "erase"}, [&](Experiment& e) {
          e.options.stores = list.ours;
          e.options.region = with_option(list.base.region, "granularity=none");
        });
  }
}

void reclaiming_and_recovery(Experiments& list) {
  list.add("reclaiming", "section 5.3.8: gets and puts while 33 % holes are reclaimed",
           {"get", "put", "get_reclaiming", "put_reclaiming"}, [&](Experiment& e) {
             e.options.stores = among(list.base.stores, {"holdfast", "holdfast-typed"});
             e.background_reclaim = false;
           });
  for (const auto threads : list.base.threads) {
    list.add("recovery with " + std::to_string(threads) + " threads", "section 5.3.9", {},
             [&](Experiment& e) {
               e.options.stores = among(list.base.stores, {"holdfast", "holdfast-typed"});
               e.options.startup = true;
               e.recovery_threads = threads;
             });
  }
}

void ycsb(Experiments& list) {
  for (const auto distribution : {Distribution::kUniform, Distribution::kZipfian}) {
    const std::string name = distribution == Distribution::kUniform ? "uniform" : "zipfian";
    list.add("YCSB " + name, "figure 13: 50:50 (ycsb-a) and 10:90 (ycsb-w90), 8/200, with p99.9",
             {"ycsb-a", "ycsb-w90"}, [&](Experiment& e) {
               e.options.shape = {8, 200, false};
               e.options.distribution = distribution;
               e.options.latency = true;
             });
  }
}

}  // namespace

std::vector<Experiment> paper_experiments(const KvBenchOptions& base) {
  Experiments list(base);
  by_operation_and_size(list);
  by_what_is_left_out(list);
  reclaiming_and_recovery(list);
  ycsb(list);
  return std::move(list.all);
}

}  // namespace holdfast::bench::kv
