// bench_run_command.hpp: `holdfast bench run FILE|DIR --target SPEC`: what memory delivers under
// the workloads of YAML files (docs/memory_benchmark.md).
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// `exit_code` is set when the verb has run; see console.hpp for what it means.
void add_bench_run_command(CLI::App& bench, int& exit_code);
// The same as `run --list`.
void add_bench_list_command(CLI::App& bench, int& exit_code);

}  // namespace holdfast::tools
