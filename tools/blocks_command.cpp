#include "blocks_command.hpp"

#include <CLI/CLI.hpp>

#include "blocks_inspect.hpp"

namespace holdfast::tools {

void add_blocks_command(CLI::App& root, int& exit_code) {
  auto& blocks = *root.add_subcommand(
      "blocks", "Logs and pages of a region: list, check, print; what each block costs here");
  blocks.require_subcommand(1);
  add_blocks_inspection(blocks, exit_code);
  add_blocks_bench_command(blocks, exit_code);
  blocks.footer(
      "Examples:\n"
      "  holdfast blocks verify ./queue.region\n"
      "  holdfast blocks dump ./queue.region --limit 10\n"
      "  holdfast blocks bench --quick --region dram\n"
      "  holdfast blocks bench --suite log --region '/dev/shm/x?granularity=line'\n"
      "What a region SPEC may be: holdfast mem --help");
}

}  // namespace holdfast::tools
