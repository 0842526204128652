// stream_bench_command.hpp: `holdfast stream bench`, the command line of
// bench/stream/stream_suite.hpp.
#pragma once

namespace CLI {
class App;
}

namespace holdfast::tools {

// Adds the verb `bench` to `stream`. Its callback sets `exit_code`: 0 done, 1 failed or
// interrupted, 2 the request was wrong, 3 a row is not to be trusted. `exit_code` must outlive the
// parsing.
inline constexpr const char* kStreamBenchHelp =
    "Measure a query beside the same by hand, over the same events; every answer checked";
void add_stream_bench_command(CLI::App& stream, int& exit_code);

}  // namespace holdfast::tools
