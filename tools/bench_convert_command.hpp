// bench_convert_command.hpp: `holdfast bench convert RESULT -o OUT`: CSV, and the JSON of
// PerMA-Bench in and out.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

void add_bench_convert_command(CLI::App& bench, int& exit_code);

}  // namespace holdfast::tools
