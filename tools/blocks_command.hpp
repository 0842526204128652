// blocks_command.hpp: `holdfast blocks bench`: the building blocks beside PMDK and beside the bare
// fence, the command line of bench/blocks/suites.hpp.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Adds `blocks` to the root. Its callback sets `exit_code`: 0 done, 1 failed or interrupted, 2 the
// request was wrong, 3 a row is not to be trusted. `exit_code` must outlive the parsing.
inline constexpr const char* kBlocksHelp =
    "Logs, pages, fields, interleaving: what each costs on this machine";
void add_blocks_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
