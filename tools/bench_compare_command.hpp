// bench_compare_command.hpp: `holdfast bench compare BEFORE AFTER`: what changed, and an exit code
// for CI.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Exit codes besides the usual: 1 a measurement is worse, 3 one of the compared rows is INVALID.
void add_bench_compare_command(CLI::App& bench, int& exit_code);

}  // namespace holdfast::tools
