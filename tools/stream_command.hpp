// stream_command.hpp: `holdfast stream run` and `holdfast stream explain`.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

inline constexpr const char* kStreamHelp = "Standing queries in SQL, over events as they come";
// Adds `stream` to the root. Its callbacks set `exit_code`: 0 done, 1 failed or interrupted, 2 the
// request or the SQL was wrong. `exit_code` must outlive the parsing.
void add_stream_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
