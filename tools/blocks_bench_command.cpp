#include "blocks_command.hpp"

#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>

#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/memory/cpu.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

#include "suite_bench.hpp"

namespace holdfast::tools {
namespace {

// PMDK reads its environment when it is loaded, which happens when a suite asks for a peer: after
// this.
void set_pmdk_environment(const std::string& region) {
  const bool nt = region.find("nt_evicts=on") != std::string::npos ||
                  (nt_evicts().value && region.find("nt_evicts=off") == std::string::npos);
  for (const auto& assignment : bench::blocks::pmdk_environment(nt)) {
    const auto at = assignment.find('=');
    ::setenv(assignment.substr(0, at).c_str(), assignment.substr(at + 1).c_str(), 1);
  }
}

}  // namespace

void add_blocks_bench_command(CLI::App& blocks, int& exit_code) {
  SuiteBench bench;
  bench.command = "blocks bench";
  bench.what = kBlocksBenchHelp;
  bench.example = "blocks bench --suite log --region '/dev/shm/x?granularity=line'";
  bench.suites = bench::blocks::suites();
  bench.suites.push_back(bench::blocks::pmdk_suite());
  bench.peers = true;
  bench.prepare = &set_pmdk_environment;
  add_suite_bench(blocks, bench, exit_code);
}

}  // namespace holdfast::tools
