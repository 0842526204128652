// kv_bench_command.hpp: `holdfast kv bench`, the command line of bench/kv/suite.hpp.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Adds the verb `bench` to `kv`. Its callback runs the comparison, prints the table or writes the
// JSON document, and sets `exit_code`: 0 done, 1 failed or interrupted, 2 the request was wrong, 3
// a row is not to be trusted. `exit_code` must outlive the parsing.
inline constexpr const char* kKvBenchHelp =
    "Compare stores on this machine: same keys, same threads, every answer checked";
void add_kv_bench_command(CLI::App& kv, int& exit_code);

}  // namespace holdfast::tools
