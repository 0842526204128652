// bench_command.hpp: `holdfast bench VERB …`: measure memory, and everything that is done with
// results. Each verb has a file of its own and an add_… function; bench_command.cpp calls them.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// `exit_code` is set when the verb has run; see console.hpp for what it means.
inline constexpr const char* kBenchHelp =
    "What memory delivers: measure, compare, report (docs/results.md)";
void add_bench_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
