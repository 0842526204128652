// bench_show_command.hpp: `holdfast bench show RESULT…`: the table of a result of any benchmark.
#pragma once

#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/results/result.hpp>

namespace CLI {
class App;
}

namespace holdfast::tools {

void add_bench_show_command(CLI::App& bench, int& exit_code);

// The document in the file, or, where it cannot be read, an exit code after a message on standard
// error in the name of `command`.
Result<results::Document> read_result(std::string_view command, const std::string& path,
                                      int& exit_code);

// Whether a column for --against SUBJECT would have numbers. Errors: kInvalidOption, with the
// subjects that there are.
Status check_against(const results::Document& document, const std::string& subject);

}  // namespace holdfast::tools
