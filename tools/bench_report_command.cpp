#include "bench_report_command.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/results/output.hpp>
#include <holdfast/results/report/report.hpp>

#include "bench_price_command.hpp"
#include "bench_show_command.hpp"
#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kReportName = "holdfast bench report";

struct ReportArguments {
  std::vector<std::string> results;
  std::string out, title, prices;
  std::vector<std::string> systems;
};

// The shortest names that tell the results apart: the files' own, or else their paths.
std::vector<std::string> labels(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths)
    names.push_back(std::filesystem::path(path).stem().string());
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const bool unique = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return unique ? names : paths;
}

int report(const ReportArguments& arguments) {
  std::vector<results::report::NamedDocument> results;
  const auto names = labels(arguments.results);
  for (std::size_t i = 0; i < arguments.results.size(); ++i) {
    int exit_code = kExitDone;
    auto document = read_result(kReportName, arguments.results[i], exit_code);
    if (!document) return exit_code;
    results.push_back({names[i], std::move(document).value()});
  }
  results::report::ReportOptions options;
  if (!arguments.title.empty()) options.title = arguments.title;
  if (!arguments.prices.empty()) {
    auto table = read_price_table(arguments.prices, arguments.systems);
    if (!table) {
      complain(kReportName, table.error().detail);
      return kExitBadRequest;
    }
    options.prices = std::move(table).value();
  }
  const auto html = results::report::to_html(results, options);
  if (!html) {
    complain(kReportName, html.error().message());
    return kExitFailed;
  }
  if (const auto status = results::write_file(*html, arguments.out); !status) {
    complain(kReportName, status.error().detail);
    return kExitFailed;
  }
  std::size_t rows = 0, invalid = 0;
  for (const auto& result : results) {
    for (const auto& row : result.document.rows) {
      ++rows;
      invalid += !row.valid();
    }
  }
  if (!results::is_standard_output(arguments.out)) {
    out("{}: {}{}, {}\n", arguments.out, counted(rows, "row"),
        invalid > 0 ? fmt::format(" ({} INVALID)", invalid) : "",
        human_bytes(static_cast<double>(html->size())));
  }
  return invalid > 0 ? kExitUntrusted : kExitDone;
}

}  // namespace

void add_bench_report_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App& app = *bench.add_subcommand("report", "One HTML file with charts that opens offline");
  app.add_option("RESULT", arguments->results,
                 "Result documents; with two of them, their comparison, too")
      ->required();
  app.add_option("-o,--output", arguments->out, "The HTML file; - is standard output")->required();
  app.add_option("--title", arguments->title, "Its heading");
  app.add_option("--prices", arguments->prices,
                 "A file of prices adds the table of `holdfast bench price`");
  app.add_option("--system", arguments->systems, "SYSTEM=RESULT for it; may be repeated")
      ->needs("--prices");
  app.footer(
      "Exit code 3: a row is INVALID; the report is written all the same and says so.\n"
      "Examples:\n"
      "  holdfast bench report result.json -o report.html\n"
      "  holdfast bench report before.json after.json -o report.html");
  app.callback([arguments, &exit_code] { exit_code = report(*arguments); });
}

}  // namespace holdfast::tools
