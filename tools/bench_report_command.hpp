// bench_report_command.hpp: `holdfast bench report RESULT… -o report.html`.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

void add_bench_report_command(CLI::App& bench, int& exit_code);

}  // namespace holdfast::tools
