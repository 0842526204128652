#include "index_command.hpp"

#include <CLI/CLI.hpp>

#include <holdfast/bench/index/index_suites.hpp>

#include "suite_bench.hpp"

namespace holdfast::tools {

void add_index_command(CLI::App& root, int& exit_code) {
  auto& index = *root.add_subcommand("index", kIndexHelp);
  index.require_subcommand(1);
  index.footer(
      "Examples:\n"
      "  holdfast index bench --quick --region dram\n"
      "  holdfast index bench --suite point --only zipf --region '/dev/shm/x?granularity=line'\n"
      "  holdfast index bench --suite point --only zipf --mix find:70,update:30 --region dram\n"
      "  holdfast index bench --suite point --only zipf --zipf 0.8 --region dram\n"
      "  holdfast index bench --suite bytes --sizes 24+64,24+512 --region dram\n"
      "  holdfast index bench --suite limit --region '/dev/shm/x?granularity=line'\n"
      "  holdfast index bench --suite limit --region '/dev/shm/x?granularity=byte'   # no flushes\n"
      "What a region SPEC may be: holdfast mem --help");
  SuiteBench bench;
  bench.command = "index bench";
  bench.what = "Measure the indexes, beside one another and their models; every answer checked";
  bench.example = "index bench --suite limit --region '/dev/shm/x?granularity=line'";
  bench.suites = bench::index::suites();
  bench.check_choices = &bench::index::check_choices;
  add_suite_bench(index, bench, exit_code);
}

}  // namespace holdfast::tools
