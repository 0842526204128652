// blocks_command.hpp: `holdfast blocks`: what of logs and pages lies in a region
// (blocks_inspect.hpp), and `blocks bench`: the building blocks beside PMDK and beside the bare
// fence, the command line of bench/blocks/suites.hpp.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Adds `blocks` to the root. Its callback sets `exit_code`: 0 done, 1 failed or interrupted, 2 the
// request was wrong, 3 a row is not to be trusted. `exit_code` must outlive the parsing.
void add_blocks_command(CLI::App& root, int& exit_code);
// In the program that has the benchmarks, and, starting that one, in the other.
inline constexpr const char* kBlocksBenchHelp =
    "Measure the building blocks, beside PMDK and the bare fence; every answer checked";
void add_blocks_bench_command(CLI::App& blocks, int& exit_code);

}  // namespace holdfast::tools
