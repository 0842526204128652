#include "bench_show_command.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <holdfast/bench/memory/config.hpp>
#include <holdfast/results/memory_table.hpp>
#include <holdfast/results/table.hpp>

#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

struct ShowArguments {
  std::vector<std::string> paths;
  results::TableOptions table;
};

int show(const ShowArguments& arguments) {
  bool trustworthy = true;
  auto table = arguments.table;
  table.columns = table_columns();
  for (const auto& path : arguments.paths) {
    int exit_code = kExitDone;
    const auto document = read_result("holdfast bench show", path, exit_code);
    if (!document) return exit_code;
    if (const auto known = check_against(*document, table.subject); !known) {
      complain("holdfast bench show", known.error().detail);
      return kExitBadRequest;
    }
    std::string machine;
    for (const auto* name : {"cpu_model", "kernel", "compiler", "utc_time"}) {
      const auto text = document->environment.text(name);
      if (!text.empty()) machine += (machine.empty() ? ": " : ", ") + text;
    }
    std::string text =
        fmt::format("{}{}{}\n\n", &path == &arguments.paths.front() ? "" : "\n", path, machine);
    // Whose rows have parameters of their own is shown with a column for each that varies.
    const auto maker = document->command.text("name");
    const bool of_memory = maker == "bench run" || maker == "perma-bench";
    text += of_memory ? results::memory_table(*document, bench::memory::key_of_parameter)
                      : results::table(*document, table);
    for (const auto& warning : document->warnings)
      text += "warning: " + warning + "\n";
    standard_output().write(fit_terminal(text));
    for (const auto& row : document->rows)
      trustworthy = trustworthy && row.valid();
  }
  return trustworthy ? kExitDone : kExitUntrusted;
}

}  // namespace

Result<results::Document> read_result(std::string_view command, const std::string& path,
                                      int& exit_code) {
  auto document = results::read_json(path);
  if (!document) {
    complain(command, document.error().detail);
    exit_code = kExitBadRequest;
  }
  return document;
}

Status check_against(const results::Document& document, const std::string& subject) {
  std::set<std::string> subjects;
  for (const auto& row : document.rows)
    subjects.insert(row.subject());
  if (subject.empty() || subjects.contains(subject)) return {};
  return Error{Errc::kInvalidOption,
               fmt::format("--against {}: no row has this subject; there are {}", subject,
                           fmt::join(subjects, ", "))};
}

void add_bench_show_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<ShowArguments>();
  CLI::App& app = *bench.add_subcommand("show", "Print the table of a result");
  app.add_option("RESULT", arguments->paths, "Files written with --json")->required();
  app.add_option("--baseline", arguments->table.baseline,
                 "A column with the time as a ratio to this subject")
      ->capture_default_str();
  app.add_option("--against", arguments->table.subject, "And one to this");
  app.footer(
      "Exit code 3: a row is INVALID.\n"
      "Example:\n"
      "  holdfast bench show result.json");
  app.callback([arguments, &exit_code] { exit_code = show(*arguments); });
}

}  // namespace holdfast::tools
