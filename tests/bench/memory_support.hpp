// memory_support.hpp: what the tests of memory workloads share: a tier, a load from the text of a
// workload file, and a whole run of one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/bench/memory/execution.hpp>
#include <holdfast/bench/memory/run.hpp>

namespace holdfast::bench::memory {

inline std::unique_ptr<Tier> tier_of(const std::string& spec, std::uint64_t bytes,
                                     std::vector<int> nodes = {},
                                     std::vector<unsigned> weights = {}) {
  TierNeed need;
  need.name = "target";
  need.spec = spec;
  need.bytes = bytes;
  need.nodes = std::move(nodes);
  need.weights = std::move(weights);
  auto tier = Tier::open(need);
  EXPECT_TRUE(tier) << (tier ? "" : tier.error().message());
  return tier ? std::move(tier).value() : nullptr;
}

inline Config config_of(const std::string& args) {
  Workloads workloads;
  yaml::Diagnostics diagnostics;
  read_workload_text("b:\n  args: {" + args + "}\n", "w", workloads, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return workloads.benchmarks.at(0).parts.at(0).variants.at(0).config;
}

inline Load load_of(const std::string& args, Tier& target, Tier* dram = nullptr) {
  Load load;
  load.config = config_of(args);
  load.target = &target;
  load.target_bytes = load.config.memory_range.bytes;
  load.dram = load.config.uses_dram() ? dram : nullptr;
  load.dram_bytes = load.dram == nullptr ? 0 : load.config.dram_memory_range.bytes;
  load.seed = 7;
  return load;
}

inline LoadResult run_once(const std::string& args, Tier& target) {
  PreparedLoad prepared(load_of(args, target));
  std::vector<PreparedLoad*> loads = {&prepared};
  auto result = execute(loads, 1).front();
  EXPECT_EQ(result.wrong, "") << args;
  return result;
}

inline Result<RunOutcome> run_text(const std::string& text, const Machine& machine,
                                   RunOptions options = {}) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("holdfast-extension-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << text;
  options.path = path;
  if (options.target.empty()) options.target = "dram";
  yaml::Diagnostics diagnostics;
  const auto plan = make_plan(options, machine, diagnostics);
  std::filesystem::remove(path);
  EXPECT_EQ(diagnostics.text(), "");
  return run(plan, options, machine, {});
}

}  // namespace holdfast::bench::memory
