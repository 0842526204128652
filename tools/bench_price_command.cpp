#include "bench_price_command.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "console.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kPriceName = "holdfast bench price";

struct PriceArguments {
  std::string prices;
  std::vector<std::string> results;
  bool csv = false, json = false;
};

int price(const PriceArguments& arguments) {
  const auto table = read_price_table(arguments.prices, arguments.results);
  if (!table) {
    complain(kPriceName, table.error().detail);
    return kExitBadRequest;
  }
  out("{}", arguments.csv    ? results::to_csv(*table)
            : arguments.json ? results::to_json(*table)
                             : results::to_text(*table));
  for (const auto& missing : table->missing)
    complain(kPriceName, "note: " + missing);
  return kExitDone;
}

}  // namespace

Result<results::PriceTable> read_price_table(const std::string& prices_path,
                                             const std::vector<std::string>& results) {
  HF_ASSIGN_OR_RETURN(const auto prices, results::read_prices(prices_path));
  std::vector<std::pair<std::string, results::Document>> documents;
  for (const auto& given : results) {
    std::string system, path = given;
    for (const auto& known : prices.systems) {
      if (given.starts_with(known.name + "=")) {
        system = known.name;
        path = given.substr(system.size() + 1);
      }
    }
    if (system.empty() && prices.systems.size() > 1) {
      std::string names;
      for (const auto& known : prices.systems)
        names += (names.empty() ? "" : ", ") + known.name;
      return Error{Errc::kInvalidOption, "'" + given + "': say which system it is of, as NAME=" +
                                             given + "; there are " + names};
    }
    if (system.empty()) system = prices.systems.front().name;
    HF_ASSIGN_OR_RETURN(auto document, results::read_json(path));
    documents.emplace_back(system, std::move(document));
  }
  return results::price_table(prices, documents);
}

void add_bench_price_command(CLI::App& bench, int& exit_code) {
  const auto arguments = std::make_shared<PriceArguments>();
  CLI::App& app = *bench.add_subcommand("price", "What performance costs, from a file of prices");
  app.add_option("PRICES", arguments->prices, "YAML: prices per DIMM or per month")->required();
  app.add_option("SYSTEM=RESULT", arguments->results,
                 "Result documents by the system's name; without any, the values in PRICES");
  app.add_flag("--csv", arguments->csv, "Comma-separated values");
  app.add_flag("--json", arguments->json, "For programs")->excludes("--csv");
  app.footer(
      "Examples:\n"
      "  holdfast bench price data/prices/table-3.2.yaml         # the table of the paper\n"
      "  holdfast bench price prices.yaml near=a.json far=b.json   # yours: docs/report.md");
  app.callback([arguments, &exit_code] { exit_code = price(*arguments); });
}

}  // namespace holdfast::tools
