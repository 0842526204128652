#include "ssb_compare.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/olap/ssb/write_tables.hpp>
#include <holdfast/results/statistics.hpp>

#include "console.hpp"
#include "peer_python.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {

using namespace olap;
using results::Estimate;

namespace {

constexpr std::string_view kRow = "row";
constexpr std::string_view kPeers[] = {"duckdb", "chdb", "datafusion", "polars"};

Result<std::vector<std::string>> names_of(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (name != kRow && std::find(std::begin(kPeers), std::end(kPeers), name) == std::end(kPeers))
      return Error{
          Errc::kInvalidOption,
          fmt::format("--compare '{}': there are duckdb, chdb, datafusion, polars, and row "
                      "(the published design), with commas between them",
                      escape(name, 20))};
    if (std::find(names.begin(), names.end(), name) != names.end())
      return Error{Errc::kInvalidOption, fmt::format("--compare: {} stands there twice", name)};
    names.emplace_back(name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& row) {
  std::string text;
  for (const auto& field : row)
    text += (text.empty() ? "" : ",") + field;
  return text;
}

// Where two answers part, or nothing.
std::string difference(const ResultTable& ours, const ResultTable& theirs) {
  const auto rows = std::min(ours.rows.size(), theirs.rows.size());
  for (std::size_t i = 0; i < rows; ++i) {
    if (ours.rows[i] != theirs.rows[i])
      return fmt::format("row {} is '{}' there and '{}' here", i + 1, joined(theirs.rows[i]),
                         joined(ours.rows[i]));
  }
  if (ours.rows.size() == theirs.rows.size()) return "";
  return fmt::format("{} there and {} here", counted(theirs.rows.size(), "row"), ours.rows.size());
}

// Theirs over ours, round by round.
Estimate ratio_of(const std::vector<double>& theirs, const std::vector<double>& ours) {
  return results::estimate(results::paired_ratios(theirs, ours));
}

struct Means {
  double geometric = 0, least = 0;
};
Means means_of(const std::vector<double>& ratios) {
  double logs = 0;
  for (const auto ratio : ratios)
    logs += std::log(ratio);
  return {std::exp(logs / static_cast<double>(ratios.size())),
          *std::min_element(ratios.begin(), ratios.end())};
}

std::string milliseconds(const Estimate& seconds) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", seconds.median * 1e3, seconds.low * 1e3,
                     seconds.high * 1e3);
}

nlohmann::ordered_json row_of(const std::string& subject, const std::string& query,
                              unsigned threads, const std::vector<double>& seconds) {
  const auto time = results::estimate(seconds);
  return {{"subject", subject},
          {"operation", query},
          {"threads", threads},
          {"ns_per_op_median", time.median * 1e9},
          {"ns_per_op_low", time.low * 1e9},
          {"ns_per_op_high", time.high * 1e9},
          {"ops_per_s_median", 1 / time.median},
          {"ops_per_s_low", 1 / time.high},
          {"ops_per_s_high", 1 / time.low},
          {"repetitions", seconds.size()},
          {"valid", true}};
}

}  // namespace

Result<SsbComparison> SsbComparison::start(const SsbArguments& arguments, Team& team) {
  SsbComparison comparison;
  HF_ASSIGN_OR_RETURN(const auto names, names_of(arguments.compare));
  if (names.empty()) return comparison;
  if (!arguments.scale && arguments.tables.empty())
    return Error{Errc::kInvalidOption,
                 "--compare wants the tables themselves: --sf F or --data DIR, which are loaded "
                 "into the region, too"};
  HF_ASSIGN_OR_RETURN(auto scratch,
                      ScratchDirectory::create(std::filesystem::temp_directory_path(), false));
  const std::string place = scratch.path();
  comparison.scratch_.emplace(std::move(scratch));
  SsbPeer::Start how{peer_python(arguments.python), arguments.tables, arguments.order, team.size(),
                     ""};
  const bool wants_files = names != std::vector<std::string>{std::string(kRow)};
  if (arguments.scale && wants_files) {
    how.tables = place + "/tables";
    std::filesystem::create_directories(how.tables);
    HF_ASSIGN_OR_RETURN(const auto generator,
                        ssb::Generator::create(*arguments.scale, arguments.seed));
    HF_ASSIGN_OR_RETURN(const auto written,
                        ssb::write_tables(generator, how.tables, arguments.threads));
    note("{} of tables in {}\n", human_bytes(static_cast<double>(written.bytes)), how.tables);
  }
  for (const auto& name : names) {
    note("{}: loading\n", name);
    how.scratch = place + "/" + name;
    HF_ASSIGN_OR_RETURN(auto subject, name == kRow ? SsbRowBaseline::load(arguments, team)
                                                   : SsbPeer::start(name, how));
    comparison.others_.push_back({std::move(subject), {}});
  }
  return comparison;
}

Status SsbComparison::ask(std::size_t place, const StarQuery& query, const ResultTable& ours,
                          bool timed) {
  for (auto& other : others_) {
    HF_ASSIGN_OR_RETURN(const auto asked, other.subject->ask(query));
    const auto wrong = difference(ours, asked.table);
    if (!wrong.empty())
      return Error{Errc::kCorrupt, fmt::format("{}: {} gives another answer: {}", query.name,
                                               other.subject->name(), wrong)};
    if (!timed) continue;
    other.seconds.resize(std::max(other.seconds.size(), place + 1));
    other.seconds[place].push_back(asked.seconds);
  }
  return {};
}

void SsbComparison::print(const SsbTimes& ours) const {
  const auto count = ours.queries.size();
  // Of the fastest other one per query, by medians.
  std::vector<double> best(count, HUGE_VAL);
  for (const auto& other : others_) {
    out("\n{} {} ({}): answers equal, row by row; {} rounds in turn, ms: median [interval]\n",
        other.subject->name(), other.subject->version(), other.subject->configuration(),
        ours.seconds[0].size());
    out("{:<6} {:>28} {:>34} {:>24}\n", "query", "holdfast", other.subject->name(), "ratio");
    std::vector<double> ratios;
    for (std::size_t i = 0; i < count; ++i) {
      const auto ratio = ratio_of(other.seconds[i], ours.seconds[i]);
      ratios.push_back(ratio.median);
      if (other.subject->name() != kRow) best[i] = std::min(best[i], ratio.median);
      out("{:<6} {:>28} {:>34} {:>24}\n", ours.queries[i],
          milliseconds(results::estimate(ours.seconds[i])),
          milliseconds(results::estimate(other.seconds[i])),
          fmt::format("{:.1f} [{:.1f}, {:.1f}]", ratio.median, ratio.low, ratio.high));
    }
    const auto means = means_of(ratios);
    out("{} takes {:.1f} times as long (geometric mean), {:.1f} at least\n", other.subject->name(),
        means.geometric, means.least);
  }
  const auto peers = std::count_if(others_.begin(), others_.end(), [](const Other& other) {
    return other.subject->name() != kRow;
  });
  if (peers < 2) return;
  const auto means = means_of(best);
  out("\nthe best of {} per query takes {:.1f} times as long (geometric mean), {:.1f} at least\n",
      peers, means.geometric, means.least);
}

void SsbComparison::add_to(nlohmann::ordered_json& document, const SsbTimes& ours,
                           unsigned threads) const {
  auto& rows = document["rows"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < ours.queries.size(); ++i)
    rows.push_back(row_of("holdfast", ours.queries[i], threads, ours.seconds[i]));
  for (const auto& other : others_) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.queries.size(); ++i) {
      const auto ratio = ratio_of(other.seconds[i], ours.seconds[i]);
      ratios.push_back(ratio.median);
      auto row = row_of(other.subject->name(), ours.queries[i], threads, other.seconds[i]);
      row["time_x_holdfast_median"] = ratio.median;
      row["time_x_holdfast_low"] = ratio.low;
      row["time_x_holdfast_high"] = ratio.high;
      rows.push_back(std::move(row));
    }
    const auto means = means_of(ratios);
    document["others"].push_back({{"subject", other.subject->name()},
                                  {"version", other.subject->version()},
                                  {"configuration", other.subject->configuration()},
                                  {"answers", "equal"},
                                  {"time_x_holdfast_geometric_mean", means.geometric},
                                  {"time_x_holdfast_least", means.least}});
  }
}

}  // namespace holdfast::tools
