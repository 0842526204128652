#include "bench_compare_command.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <holdfast/results/compare.hpp>

#include "bench_show_command.hpp"
#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kCompareName = "holdfast bench compare";

struct CompareArguments {
  std::string before, after, threshold;
  results::CompareOptions options;
  bool json = false;
};

// "5%" or "0.05".
double parsed_threshold(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  if (text.empty() || end == text.c_str() || (!rest.empty() && rest != "%"))
    throw CLI::ValidationError("--threshold", "'" + text + "' is neither like 5% nor like 0.05");
  return rest == "%" ? number / 100 : number;
}

// Also of a row that has no partner.
bool trustworthy(const results::Document& document) {
  return std::all_of(document.rows.begin(), document.rows.end(),
                     [](const results::Row& row) { return row.valid(); });
}

int print(const results::Comparison& comparison, const CompareArguments& arguments,
          bool trustworthy) {
  auto options = arguments.options;
  options.columns = table_columns();
  standard_output().write(arguments.json ? results::to_json(comparison, options)
                                         : fit_terminal(results::table(comparison, options)));
  if (!trustworthy) return kExitUntrusted;
  return comparison.count(results::Verdict::kWorse) > 0 ? kExitFailed : kExitDone;
}

int compare(CompareArguments& arguments) {
  // One result against itself: what lies within 3 % is what `bench run --aa` calls the same.
  const bool alone = arguments.after.empty();
  if (arguments.threshold.empty()) arguments.threshold = alone ? "3%" : "5%";
  arguments.options.threshold = parsed_threshold(arguments.threshold);
  if (const auto status = arguments.options.validate(); !status) {
    complain(kCompareName, status.error().detail);
    return kExitBadRequest;
  }
  int exit_code = kExitDone;
  const auto before = read_result(kCompareName, arguments.before, exit_code);
  if (!before) return exit_code;
  if (alone) {
    const auto twice = results::split_again(*before);
    if (!twice) {
      complain(kCompareName, arguments.before + ": " + twice.error().detail);
      return kExitBadRequest;
    }
    return print(results::compare(twice->first, twice->second, arguments.options), arguments,
                 trustworthy(*before));
  }
  const auto after = read_result(kCompareName, arguments.after, exit_code);
  if (!after) return exit_code;
  const auto comparison = results::compare(*before, *after, arguments.options);
  if (comparison.rows.empty()) {
    const auto example = [](const char* whose, const auto& identities) {
      return identities.empty() ? fmt::format("{} has no rows", whose)
                                : fmt::format("{} has '{}'", whose, identities.front());
    };
    complain(kCompareName, fmt::format("no measurement is in both results: {}, {}",
                                       example("BEFORE", comparison.only_before),
                                       example("AFTER", comparison.only_after)));
    return kExitBadRequest;
  }
  return print(comparison, arguments, trustworthy(*before) && trustworthy(*after));
}

}  // namespace

void add_bench_compare_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App& app = *bench.add_subcommand("compare", "Two results: what changed, and is it chance?");
  app.add_option("BEFORE", arguments->before, "A result document")->required();
  app.add_option("AFTER", arguments->after,
                 "Another, of the same measurements; none: what `bench run --aa` measured twice");
  app.add_option("--threshold", arguments->threshold,
                 "A change of less is no finding (default: 5%; without AFTER 3%)");
  app.add_option("--value", arguments->options.field,
                 "The field to compare, for example p99_ns (default: bytes_per_s, else ops_per_s)");
  app.add_flag("--json", arguments->json, "For programs");
  app.footer(
      "Intervals are of the ratio, at 95 %, by ranks (docs/report.md); they need at least four "
      "repetitions on both sides.\n"
      "Exit code 1: a measurement is worse by more than the threshold; 3: one is INVALID.\n"
      "Examples:\n"
      "  holdfast bench compare before.json after.json --threshold 3%\n"
      "  holdfast bench compare aa.json                 # of `holdfast bench run --aa`");
  app.callback([arguments, &exit_code] { exit_code = compare(*arguments); });
}

}  // namespace holdfast::tools
