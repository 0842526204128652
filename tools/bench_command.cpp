#include "bench_command.hpp"

#include <CLI/CLI.hpp>

#include "bench_compare_command.hpp"
#include "bench_convert_command.hpp"
#include "bench_price_command.hpp"
#include "bench_report_command.hpp"
#include "bench_run_command.hpp"
#include "bench_show_command.hpp"

namespace holdfast::tools {

void add_bench_command(CLI::App& root, int& exit_code) {
  CLI::App& bench = *root.add_subcommand("bench", kBenchHelp);
  bench.require_subcommand(1);
  add_bench_run_command(bench, exit_code);
  add_bench_list_command(bench, exit_code);
  add_bench_show_command(bench, exit_code);
  add_bench_compare_command(bench, exit_code);
  add_bench_report_command(bench, exit_code);
  add_bench_convert_command(bench, exit_code);
  add_bench_price_command(bench, exit_code);
  bench.footer(
      "Every benchmark of holdfast, also `holdfast kv bench`, writes the same result document with "
      "--json FILE; the verbs here read it.\n"
      "Examples:\n"
      "  holdfast bench run workloads --dram --scale auto --time-budget 5m --json result.json\n"
      "  holdfast bench report result.json -o report.html");
}

}  // namespace holdfast::tools
