// index_command.hpp: `holdfast index bench`: the indexes beside one another and beside the accesses
// that model them, the command line of bench/index/index_suites.hpp.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Adds `index` to the root. Its callback sets `exit_code`: 0 done, 1 failed or interrupted, 2 the
// request was wrong, 3 a row is not to be trusted. `exit_code` must outlive the parsing.
inline constexpr const char* kIndexHelp =
    "Dash, FP-Tree and the indexes in memory: what each costs on this machine";
void add_index_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
