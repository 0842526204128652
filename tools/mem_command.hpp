// mem_command.hpp: `holdfast mem [SPEC…] [--json]`: what memory this machine has and what a region
// on it would be. Changes nothing: an existing region is opened read-only, and in a directory
// without one a small temporary region is made and removed.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// `exit_code` is set when the verb has run: 0, 1 where a SPEC could not be opened, 2 where it is
// none.
void add_mem_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
