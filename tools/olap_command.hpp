// olap_command.hpp: holdfast olap: a star schema of one's own: load, append, query, merge, verify.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

inline constexpr const char* kOlapHelp =
    "A star schema of your own: load, append, query, merge, schema, verify";
void add_olap_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
