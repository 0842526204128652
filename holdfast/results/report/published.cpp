#include <holdfast/results/report/published.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include <holdfast/results/csv.hpp>
#include <holdfast/results/report/assets.hpp>

namespace holdfast::results::report {
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

std::string words_for(const std::string& comparison) {
  return comparison == "~"    ? "about "
         : comparison == "<=" ? "at most "
         : comparison == ">=" ? "at least "
                              : "";
}

// "FASTER,pmemkv" as people write it.
std::string with_spaces(const std::string& list) {
  std::string text;
  for (const auto letter : list) {
    text += letter;
    if (letter == ',') text += ' ';
  }
  return text;
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

// A table whose lines are found by what stands in the column `key`.
class Index {
 public:
  static Result<Index> of(std::string_view text, const std::string& file, const std::string& key) {
    HF_ASSIGN_OR_RETURN(auto lines, table_of(text, file));
    Index index;
    index.file_ = file;
    for (auto& line : lines) {
      const auto name = line.at(key);
      index.lines_[name] = std::move(line);
    }
    return index;
  }
  // Errors: kCorrupt, where there is no such line.
  Result<const Line*> find(const std::string& name) const {
    const auto found = lines_.find(name);
    if (found == lines_.end()) return Error{Errc::kCorrupt, file_ + ": " + name + " is missing"};
    return &found->second;
  }

 private:
  std::string file_;
  std::map<std::string, Line> lines_;
};

// What the line of numbers.csv says, for the rows that the line of matches.csv names.
Result<Claim> claim_of(const Line& published, const Line& match, bool binary_units) {
  Claim claim;
  claim.id = published.at("id");
  claim.operation = match.at("operation");
  claim.field = match.at("field");
  claim.where = conditions(match.at("where"));
  const auto& unit = published.at("unit");
  const auto scale = factor(unit, claim.field, binary_units);
  if (scale == 0) {
    return Error{Errc::kCorrupt, "matches.csv: " + claim.id + " is in " + unit +
                                     ", which is no unit of " + claim.field};
  }
  claim.value = scale * number(published.at("value"));
  claim.low = scale * number(published.at("value_low"));
  claim.high = scale * number(published.at("value_high"));
  claim.how = words_for(published.at("comparison"));
  claim.text = claim.how + published.at("value") + " " + unit;
  claim.system = with_spaces(published.at("system"));
  claim.hardware_name = published.at("hardware");
  claim.workload = published.at("workload");
  claim.note = published.at("note");
  claim.threads = published.at("threads");
  return claim;
}

}  // namespace

Result<std::vector<Claim>> parse_claims(const ClaimFiles& files) {
  HF_ASSIGN_OR_RETURN(const auto numbers, Index::of(files.numbers, "numbers.csv", "id"));
  HF_ASSIGN_OR_RETURN(const auto hardware, Index::of(files.hardware, "hardware.csv", "name"));
  HF_ASSIGN_OR_RETURN(const auto papers, Index::of(files.papers, "papers.csv", "paper"));
  HF_ASSIGN_OR_RETURN(const auto matched, table_of(files.matches, "matches.csv"));
  std::vector<Claim> claims;
  for (const auto& match : matched) {
    HF_ASSIGN_OR_RETURN(const auto* published, numbers.find(match.at("id")));
    HF_ASSIGN_OR_RETURN(const auto* metal, hardware.find(published->at("hardware")));
    HF_ASSIGN_OR_RETURN(const auto* paper, papers.find(published->at("paper")));
    HF_ASSIGN_OR_RETURN(auto claim,
                        claim_of(*published, match, paper->at("binary_units") == "yes"));
    claim.hardware = metal->at("hardware");
    const auto& figure = published->at("figure_or_table");
    claim.place = paper->at("citation") + (figure.empty() ? "" : ", " + figure);
    claims.push_back(std::move(claim));
  }
  return claims;
}

Result<std::vector<Claim>> claims_for(const std::vector<const Document*>& documents) {
  HF_ASSIGN_OR_RETURN(auto claims, parse_claims({kNumbers, kHardware, kPapers, kMatches}));
  std::erase_if(claims, [&](const Claim& claim) {
    return std::none_of(documents.begin(), documents.end(), [&](const Document* document) {
      return std::any_of(document->rows.begin(), document->rows.end(),
                         [&](const Row& row) { return matches(claim, row); });
    });
  });
  return claims;
}

Result<std::vector<std::string>> citations() {
  HF_ASSIGN_OR_RETURN(const auto papers, table_of(kPapers, "papers.csv"));
  std::vector<std::string> found;
  for (const auto& paper : papers)
    found.push_back(paper.at("citation"));
  return found;
}

}  // namespace holdfast::results::report
