// suite_bench.hpp: the verb `bench` of a command that runs suites (bench/blocks/suites.hpp): its
// options, its help, what it prints and what it ends with.
#pragma once

#include <string>
#include <vector>

#include <holdfast/bench/blocks/suites.hpp>

namespace CLI {
class App;
}

namespace holdfast::tools {

struct SuiteBench {
  std::string command;  // "blocks bench"
  std::string what;     // One line for the help.
  std::string example;  // "blocks bench --suite log …"
  std::vector<bench::blocks::Suite> suites;
  bool peers = false;                                    // Some need files beside the region.
  void (*prepare)(const std::string& region) = nullptr;  // Called before anything is measured.
  // There are --mix, --zipf and --sizes, and this says whether they can be.
  Status (*check_choices)(const bench::blocks::BlocksBenchOptions&) = nullptr;
};

// Its callback sets `exit_code`: 0 done, 1 failed or interrupted, 2 the request was wrong, 3 a row
// is not to be trusted. `exit_code` must outlive the parsing.
void add_suite_bench(CLI::App& parent, const SuiteBench& bench, int& exit_code);

}  // namespace holdfast::tools
