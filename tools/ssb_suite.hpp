// ssb_suite.hpp: `holdfast ssb suite`: section 6 of the paper on this machine, as a report.
//
// Daase, Bollmeier, Benson and Rabl, "Maximizing Persistent Memory Bandwidth Utilization for OLAP
// Workloads" (SIGMOD 2021): figure 14b (the thirteen queries on DRAM and on another medium), table 1 (Q2.1 by
// threads, sockets and pinning) and the price-performance paragraph of section 7; each for the
// published design and for columns, with the published figures beside ours. Sections 3 to 5 are
// workloads/olap of `holdfast bench run`; the report names them.
#pragma once

#include <string>

#include <holdfast/base/result.hpp>

namespace holdfast::tools {

struct SsbSuiteArguments {
  double scale = 0.1;
  std::uint64_t seed = 1;
  std::string region;  // The other medium; empty: a file in `out`.
  std::string out;     // A directory: suite.json, suite.html.
  unsigned threads = 1, repeat = 3;
  double dram_usd_per_gb = 700.0 / 64, region_usd_per_gb = 575.0 / 128;  // Section 7's.
};

// Prints the tables and writes both files. Errors: kCorrupt: two media give different answers.
Status run_suite(const SsbSuiteArguments& arguments);

}  // namespace holdfast::tools
