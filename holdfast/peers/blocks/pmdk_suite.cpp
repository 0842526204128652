// Suite pmdk: the component benchmarks of PMDK (Jandow's thesis, chapter 4.2), with our primitive
// and the bare instructions beside each.
//
//   persist  figures 4.1 to 4.5    flush, persist, deep persist, msync; libpmem2's granularities
//   memcpy   figures 4.6 and 4.7   with and without drain, by what the stores are
//   memset   figures 4.8 and 4.9
//   tx       figure 4.10           a range in a transaction; sixteen
//   alloc    figures 4.11 and 4.12
//   locks    figure 4.13           also with few operations, in which a start is not made up for
//
// The thesis varies threads for 64 B, 256 B and 4 KiB at random only; here every point is measured
// with every thread count.
#include <holdfast/peers/blocks/pmdk_suite.hpp>

#include <holdfast/peers/blocks/pmdk.hpp>

namespace holdfast::bench::blocks {
namespace {

std::vector<std::uint32_t> sizes(const Context& context) {
  if (context.options.quick) return {8, 64, 4096};
  return {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
}

// Per thread: 64 MiB, out of reach of most caches, where there is room for it beside the tables and
// spare slots of what also lies in the region.
std::uint64_t area_bytes(const Context& context) {
  const auto room =
      context.options.region_bytes / (8 * std::max(2u, context.options.threads_most()));
  return std::min<std::uint64_t>(64 * MiB, round_down(room, 64 * KiB));
}

SubjectEntry libpmem_entry(const Context& context, const ByteShape& shape) {
  return module_entry<const ByteShape&>("libpmem", libpmem_name(shape.hint), context, shape);
}

Experiment byte_experiment(const Context& context, const ByteShape& shape) {
  Experiment experiment;
  experiment.name = shape.verb + " " + (shape.sequential ? "sequential " : "random ") +
                    std::to_string(shape.bytes) + " B";
  experiment.part = shape.verb + (shape.sequential ? " sequential" : " random");
  experiment.parameters.set("data_bytes", shape.bytes);
  experiment.parameters.set("order", shape.sequential ? "sequential" : "random");
  auto& plan = experiment.plan;
  plan.subjects = own_byte_entries(context, shape);
  plan.subjects.push_back(libpmem_entry(context, shape));
  if (shape.verb == "persist") {
    experiment.what = "Figures 4.1 to 4.5: making stores durable, by size and by what does it";
    plan.operations = {{"flush", {}}, {"persist", {}}, {"deep_persist", {}}, {"msync", {}}};
  } else {
    experiment.what = "Figures 4.6 to 4.9: " + shape.verb + ", of no durability, started, durable";
    plan.operations = {
        {shape.verb, {}}, {shape.verb + "_nodrain", {}}, {shape.verb + "_persist", {}}};
    // Where non-temporal stores do not leave the cache libpmem is told not to use them, and the
    // flags choose between alike copies.
    if (context.region.persist().nt_evicts()) {
      for (const auto hint : {StoreHint::kTemporal, StoreHint::kNonTemporal}) {
        auto hinted = shape;
        hinted.hint = hint;
        plan.subjects.push_back(libpmem_entry(context, hinted));
      }
    }
  }
  for (const std::string granularity : {"byte", "line", "page"})
    plan.subjects.push_back(module_entry<const ByteShape&, const std::string&>(
        "libpmem2", "libpmem2-" + granularity, context, shape, granularity));
  return experiment;
}

Experiment transaction_experiment(const Context& context, std::uint32_t bytes) {
  const ByteShape shape{"memcpy", bytes, false, area_bytes(context), StoreHint::kNone};
  Experiment experiment;
  experiment.name = "tx " + std::to_string(bytes) + " B";
  experiment.part = "tx";
  experiment.parameters.set("data_bytes", bytes);
  experiment.what = "Figure 4.10: a range replaced in a transaction, and the nearest of ours";
  experiment.plan.subjects = own_transaction_entries(context, shape);
  experiment.plan.subjects.push_back(
      module_entry<const ByteShape&>("libpmemobj", "libpmemobj", context, shape));
  experiment.plan.operations = {{"tx_add_range", {}}, {"tx_add_range_16", {}}};
  return experiment;
}

Experiment allocation_experiment(const Context& context, std::uint32_t bytes) {
  const auto room = context.options.region_bytes / 4;
  const AllocationShape shape{bytes, std::min<std::uint64_t>(50'000, room / (bytes + 128))};
  Experiment experiment;
  experiment.name = "alloc " + std::to_string(bytes) + " B";
  experiment.part = "alloc";
  experiment.parameters.set("data_bytes", bytes);
  experiment.what = "Figures 4.11 and 4.12: allocating and freeing, and the nearest of ours";
  experiment.plan.subjects = own_allocation_entries(context, shape);
  // The last one: atomic, with the id in the pool, too.
  for (const std::string api : {"atomic", "transactional", "published"})
    experiment.plan.subjects.push_back(module_entry<const AllocationShape&, const std::string&>(
        "libpmemobj", "libpmemobj-" + api, context, shape, api));
  experiment.plan.operations = {{"alloc", {}}, {"free", {}}};
  return experiment;
}

Experiment lock_experiment(const Context& context, const LockShape& shape) {
  Experiment experiment;
  experiment.name = shape.shared ? "locks, one for all" : "locks, one each";
  if (shape.operations != 0) experiment.name += " " + std::to_string(shape.operations) + " times";
  experiment.part = "locks";
  experiment.parameters.set("sharing", shape.shared ? "one lock" : "a lock per thread");
  experiment.parameters.set("lock_operations", shape.operations);
  experiment.what = "Figure 4.13: taking a lock and giving it back, by operations per thread";
  auto& plan = experiment.plan;
  plan.subjects = own_lock_entries(context, shape);
  plan.subjects.push_back(
      module_entry<const LockShape&>("libpmemobj", "libpmemobj", context, shape));
  const auto threads = shape.operations == 0 ? std::vector<unsigned>{} : std::vector<unsigned>{1};
  plan.operations = {{"mutex", threads}, {"read_lock", threads}, {"write_lock", threads}};
  plan.baseline = "posix";
  return experiment;
}

std::vector<Experiment> experiments_of(const Context& context) {
  std::vector<Experiment> experiments;
  for (const auto* verb : {"persist", "memcpy", "memset"}) {
    for (const bool sequential : {true, false}) {
      for (const auto bytes : sizes(context))
        experiments.push_back(byte_experiment(
            context, {verb, bytes, sequential, area_bytes(context), StoreHint::kNone}));
    }
  }
  for (const auto bytes : sizes(context))
    experiments.push_back(transaction_experiment(context, bytes));
  for (const auto bytes : sizes(context))
    experiments.push_back(allocation_experiment(context, bytes));
  experiments.push_back(lock_experiment(context, {false, 0}));
  experiments.push_back(lock_experiment(context, {true, 0}));
  for (const std::uint64_t operations : {10, 50, 100, 250, 500}) {
    if (context.options.quick && operations != 100) continue;
    experiments.push_back(lock_experiment(context, {false, operations}));
  }
  for (auto& experiment : experiments) {
    if (experiment.part != "locks") experiment.plan.baseline = "fence";
    if (experiment.footprint_bytes == 0)
      experiment.footprint_bytes = context.options.threads_most() * area_bytes(context);
  }
  return experiments;
}

}  // namespace

Suite pmdk_suite() {
  return {"pmdk",
          "PMDK's components, with ours beside: persist, memcpy, transactions, alloc, locks",
          &experiments_of};
}

}  // namespace holdfast::bench::blocks
