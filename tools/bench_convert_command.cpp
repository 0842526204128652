#include "bench_convert_command.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/results/csv.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/perma_bench.hpp>

#include "bench_show_command.hpp"
#include "console.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kConvertName = "holdfast bench convert";

struct ConvertArguments {
  std::string from, out = "-", to, subject;
};

// JSON where the name of the output says JSON, else a table for people and spreadsheets.
std::string format_of(const std::string& out, bool from_perma_bench) {
  if (!out.ends_with(".json")) return "csv";
  return from_perma_bench ? "holdfast" : "perma-bench";
}

int convert(const ConvertArguments& arguments) {
  const auto text = results::read_file(arguments.from, results::kResultBytesMax);
  if (!text) {
    complain(kConvertName, text.error().detail);
    return kExitBadRequest;
  }
  const bool perma_bench = results::looks_like_perma_bench(*text);
  const auto document = perma_bench ? results::from_perma_bench(*text) : results::from_json(*text);
  if (!document) {
    complain(kConvertName, arguments.from + ": " + document.error().detail);
    return kExitBadRequest;
  }
  std::string to = arguments.to;
  if (to.empty()) to = format_of(arguments.out, perma_bench);
  std::string converted;
  if (to == "csv") {
    converted = results::to_csv(*document);
  } else if (to == "holdfast") {
    converted = results::to_json(*document);
  } else {
    auto out = results::to_perma_bench(*document, arguments.subject);
    for (const auto& warning : out.warnings)
      complain(kConvertName, "note: " + warning);
    converted = std::move(out.text);
  }
  if (const auto status = results::write_file(converted, arguments.out); !status) {
    complain(kConvertName, status.error().detail);
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace

void add_bench_convert_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<ConvertArguments>();
  CLI::App& app = *bench.add_subcommand("convert", "CSV, and the JSON of PerMA-Bench in and out");
  app.add_option("RESULT", arguments->from, "A result document, or a JSON file of PerMA-Bench")
      ->required();
  app.add_option("-o,--output", arguments->out, "Where to; - is standard output")
      ->capture_default_str();
  app.add_option("--to", arguments->to,
                 "csv, holdfast, perma-bench (default: csv; for an output *.json, of the two JSON "
                 "formats the one that RESULT is not)")
      ->check(CLI::IsMember({"csv", "holdfast", "perma-bench"}));
  app.add_option("--subject", arguments->subject,
                 "To perma-bench: rows of this subject (default: holdfast)");
  app.footer(
      "Examples:\n"
      "  holdfast bench convert result.json -o result.csv\n"
      "  holdfast bench convert perma-bench-results.json -o result.json\n"
      "  holdfast bench convert result.json --to perma-bench -o theirs.json");
  app.callback([arguments, &exit_code] { exit_code = convert(*arguments); });
}

}  // namespace holdfast::tools
