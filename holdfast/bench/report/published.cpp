#include <holdfast/bench/report/published.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include <holdfast/bench/convert.hpp>
#include <holdfast/bench/report/assets.hpp>

namespace holdfast::bench::report {
namespace {

using Line = std::map<std::string, std::string>;  // Cells by the name of their column.

Result<std::vector<Line>> table_of(std::string_view text, const std::string& name) {
  const auto cells = parse_csv(text);
  std::vector<Line> lines;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].size() != cells[0].size()) {
      return Error{Errc::kCorrupt, name + ":" + std::to_string(i + 1) + ": has " +
                                       std::to_string(cells[i].size()) + " cells, not " +
                                       std::to_string(cells[0].size())};
    }
    auto& line = lines.emplace_back();
    for (std::size_t column = 0; column < cells[i].size(); ++column)
      line[cells[0][column]] = cells[i][column];
  }
  return lines;
}

// What a number in `unit` is to be multiplied by to be in the unit of our field; 0: not
// convertible.
double factor(const std::string& unit, const std::string& field, bool binary) {
  const double kilo = binary ? 1024 : 1000;
  const std::map<std::string, double> rates = {
      {"GiB/s", 0x1p30}, {"GB/s", kilo * kilo * kilo}, {"MB/s", kilo * kilo}};
  const std::map<std::string, double> counts = {
      {"Mops/s", 1e6}, {"million transactions/s", 1e6}, {"thousand pages/s", 1e3}};
  const std::map<std::string, double> times = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto& factors = field.ends_with("bytes_per_s")                   ? rates
                        : field.ends_with("_ns") || field == "ns_per_op" ? times
                                                                         : counts;
  const auto found = factors.find(unit);
  return found == factors.end() ? 0 : found->second;
}

double number(const std::string& text) {
  return text.empty() ? std::numeric_limits<double>::quiet_NaN() : std::atof(text.c_str());
}

std::string printed(const Line& claim) {
  const auto& comparison = claim.at("comparison");
  const std::string how = comparison == "~"    ? "about "
                          : comparison == "<=" ? "up to "
                          : comparison == ">=" ? "at least "
                                               : "";
  return how + claim.at("value") + " " + claim.at("unit");
}

std::string source_of(const std::string& seed) {
  const std::map<std::string, std::string> sources = {
      {"000", "Benson: Efficient State Management with Persistent Memory (PerMA-Bench, Viper)"},
      {"001", "Performance Evaluation of the PMDK Core Components (TU Munich)"},
      {"002", "Daase et al.: Persistent Memory Bandwidth for OLAP"},
      {"003", "Benson et al.: Viper"},
      {"004", "van Renen et al.: Building blocks for persistent memory"}};
  const auto found = sources.find(seed.substr(0, 3));
  return found == sources.end() ? seed : found->second;
}

std::vector<std::pair<std::string, std::string>> conditions(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> where;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(';', at), text.size());
    const auto part = text.substr(at, end - at);
    const auto equals = part.find('=');
    if (equals != std::string::npos)
      where.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    at = end + 1;
  }
  return where;
}

bool matches(const Claim& claim, const Row& row) {
  return row.operation() == claim.operation &&
         std::all_of(claim.where.begin(), claim.where.end(), [&](const auto& condition) {
           const auto* value = row.find(condition.first);
           return value != nullptr && to_text(*value) == condition.second;
         });
}

}  // namespace

Result<std::vector<Claim>> parse_claims(const ClaimFiles& files) {
  HF_ASSIGN_OR_RETURN(const auto numbers, table_of(files.numbers, "numbers.csv"));
  HF_ASSIGN_OR_RETURN(const auto hardware, table_of(files.hardware, "hardware.csv"));
  HF_ASSIGN_OR_RETURN(const auto lines, table_of(files.matches, "matches.csv"));
  std::map<std::string, const Line*> by_id;
  for (const auto& line : numbers)
    by_id[line.at("id")] = &line;
  std::map<std::string, std::string> names;
  for (const auto& line : hardware)
    names[line.at("name")] = line.at("hardware");
  std::vector<Claim> claims;
  for (const auto& line : lines) {
    const auto& id = line.at("id");
    if (!by_id.contains(id))
      return Error{Errc::kCorrupt, "matches.csv: " + id + " is no claim of numbers.csv"};
    const auto& published = *by_id[id];
    Claim claim;
    claim.id = id;
    claim.operation = line.at("operation");
    claim.field = line.at("field");
    claim.where = conditions(line.at("where"));
    const auto scale =
        factor(published.at("unit"), claim.field, published.at("seed").starts_with("000"));
    if (scale == 0) {
      return Error{Errc::kCorrupt, "matches.csv: " + id + " is in " + published.at("unit") +
                                       ", which is no unit of " + claim.field};
    }
    claim.value = scale * number(published.at("value"));
    claim.low = scale * number(published.at("value_low"));
    claim.high = scale * number(published.at("value_high"));
    claim.text = printed(published);
    claim.system = published.at("system");
    claim.hardware_name = published.at("hardware");
    const auto found = names.find(claim.hardware_name);
    if (found == names.end())
      return Error{Errc::kCorrupt, "hardware.csv: " + claim.hardware_name + " is missing"};
    claim.hardware = found->second;
    claim.workload = published.at("workload");
    claim.note = published.at("note");
    claim.threads = published.at("threads");
    claim.access_bytes = published.at("access_bytes");
    claim.place = source_of(published.at("seed")) + (published.at("figure_or_table").empty()
                                                         ? std::string()
                                                         : ", " + published.at("figure_or_table"));
    claims.push_back(std::move(claim));
  }
  return claims;
}

Result<std::vector<Claim>> claims_for(const std::vector<const Document*>& documents) {
  HF_ASSIGN_OR_RETURN(auto claims, parse_claims({kNumbers, kHardware, kMatches}));
  std::erase_if(claims, [&](const Claim& claim) {
    return std::none_of(documents.begin(), documents.end(), [&](const Document* document) {
      return std::any_of(document->rows.begin(), document->rows.end(),
                         [&](const Row& row) { return matches(claim, row); });
    });
  });
  return claims;
}

}  // namespace holdfast::bench::report
