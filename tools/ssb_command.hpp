// ssb_command.hpp: `holdfast ssb generate`, `load`, `run` and `verify`.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

inline constexpr const char* kSsbHelp =
    "The Star Schema Benchmark: generate, load, append, merge, export, run, suite, verify";
// Adds `ssb` to the root. Its callbacks set `exit_code`: 0 done, 1 failed, 2 the request was
// wrong. `exit_code` must outlive the parsing.
void add_ssb_command(CLI::App& root, int& exit_code);

}  // namespace holdfast::tools
