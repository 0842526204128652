#include <holdfast/results/compare.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>

namespace holdfast::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWhyShown = 500;

// Rows by identity; a measurement that was made twice in one document keeps its order.
std::map<std::string, std::vector<const Row*>> by_identity(
    const Document& document, const std::vector<std::string>& parameters) {
  std::map<std::string, std::vector<const Row*>> rows;
  for (const auto& row : document.rows)
    rows[identity(row, parameters)].push_back(&row);
  return rows;
}

// What rows of the two are paired by, in one order. Of what only one document calls a parameter,
// the other has one value: in its rows, or where they lack it, one that goes without saying.
std::vector<std::string> parameters_of_both(const Document& before, const Document& after) {
  // The empty list stands for version 1.
  if (before.parameters.empty() || after.parameters.empty()) return {};
  std::set<std::string> names;
  const auto add = [&names](const Document& from, const Document& other) {
    for (const auto& name : from.parameters) {
      const auto& listed = other.parameters;
      if (std::find(listed.begin(), listed.end(), name) != listed.end() ||
          std::any_of(other.rows.begin(), other.rows.end(),
                      [&](const Row& row) { return row.find(name) != nullptr; }))
        names.insert(name);
    }
  };
  add(before, after);
  add(after, before);
  if (names.empty()) return {""};  // A list that names nothing.
  return {names.begin(), names.end()};
}

// The repetitions behind `field`, or its one value.
std::vector<double> samples_of(const Row& row, const std::string& field) {
  auto samples = row.numbers(field + "_samples");
  if (!samples.empty()) return samples;
  for (const auto& name : {field + "_median", field}) {
    const auto value = row.number(name);
    if (!std::isnan(value)) return {value};
  }
  return {};
}

std::string field_of(const Row& before, const Row& after, const CompareOptions& options) {
  if (!options.field.empty()) return options.field;
  const auto has = [&](const char* field) {
    return !samples_of(before, field).empty() && !samples_of(after, field).empty();
  };
  return has("bytes_per_s") ? "bytes_per_s" : "ops_per_s";
}

bool less_is_better(const std::string& field) {
  if (field.ends_with("_per_s")) return false;
  return field.ends_with("_ns") || field.ends_with("_s") || field.ends_with("_bytes") ||
         field.find("_per_op") != std::string::npos ||
         field.find("_per_record") != std::string::npos || field.starts_with("time_x_");
}

void judge(ComparedRow& row, const CompareOptions& options) {
  for (const auto* side : {&row.before, &row.after}) {
    if (side->valid()) continue;
    row.verdict = Verdict::kInvalid;
    row.why = (side == &row.before ? "before: " : "after: ") + side->invalid_reason();
    return;
  }
  if (std::isnan(row.ratio.median)) {
    row.verdict = Verdict::kUnsure;
    row.why = "one of the two has no " + row.field;
    return;
  }
  const auto& ratio = row.ratio;
  const auto change = ratio.median - 1;
  if (!ratio.too_few && ratio.p_value < 0.05 && std::abs(change) > options.threshold) {
    row.verdict = (change > 0) == row.more_is_better ? Verdict::kBetter : Verdict::kWorse;
  } else if (ratio.too_few) {
    row.verdict = Verdict::kUnsure;
    row.why = "too few repetitions; four each are enough";
  } else if (ratio.low < 1 - options.threshold || ratio.high > 1 + options.threshold) {
    row.verdict = Verdict::kUnsure;
    row.why = "repetitions spread too widely";
  }
}

// A change may come from what was odd about one of the two.
void add_warnings(ComparedRow& row) {
  if (row.verdict == Verdict::kSame || row.verdict == Verdict::kInvalid) return;
  for (const auto* side : {&row.before, &row.after}) {
    for (const auto& warning : side->texts("warnings")) {
      if (warning.starts_with("A/A: ")) {  // Of a second measurement: it has all reasons in it.
        row.why = warning;
        return;
      }
      row.why += (row.why.empty() ? "" : "; ");
      row.why += (side == &row.before ? "before: " : "after: ") + warning;
    }
  }
}

ComparedRow compare_rows(const std::string& identity, const Row& before, const Row& after,
                         const CompareOptions& options) {
  ComparedRow row;
  row.identity = identity;
  row.field = field_of(before, after, options);
  row.before = before;
  row.after = after;
  row.more_is_better = !less_is_better(row.field);
  row.ratio = unpaired_ratio(samples_of(before, row.field), samples_of(after, row.field));
  judge(row, options);
  add_warnings(row);
  return row;
}

// Fields that differ from run to run and explain nothing.
bool incidental(const std::string& name) {
  for (const auto* other :
       {"utc_time", "command_line", "load_average_1min", "host", "memory_available_bytes"}) {
    if (name == other) return true;
  }
  return name == "region" || name == "peer_directory";
}

std::vector<std::string> changes(const Fields& before, const Fields& after) {
  std::vector<std::string> lines;
  for (const auto& field : before.all()) {
    const auto* now = after.find(field.name);
    if (incidental(field.name) || now == nullptr) continue;
    const auto was = to_text(field.value), is = to_text(*now);
    if (was != is) lines.push_back(field.name + ": " + was + " -> " + is);
  }
  return lines;
}

std::string value_text(const std::string& field, double value) {
  if (std::isnan(value)) return "-";
  if (field == "bytes_per_s") return printed("%.2f GiB/s", value / 0x1p30);
  if (field.ends_with("_ns")) return format_nanoseconds(value);
  if (field.ends_with("_per_s")) return format_rate(value);
  return printed("%.4g", value);
}

// What all rows have in common, which is said once, and the names of the parameters that vary.
struct Parameters {
  std::string common;
  std::vector<std::string> varying;
};

Parameters parameters_of(const Comparison& comparison) {
  Parameters result;
  auto& [common, varying] = result;
  for (const auto& parameter : comparison.parameters) {
    const auto value_of = [&](const ComparedRow& row) { return row.before.find(parameter); };
    const auto* first = comparison.rows.empty() ? nullptr : value_of(comparison.rows.front());
    const bool same =
        std::all_of(comparison.rows.begin(), comparison.rows.end(), [&](const ComparedRow& row) {
          const auto* value = value_of(row);
          return value == nullptr ? first == nullptr : first != nullptr && *value == *first;
        });
    if (!same)
      varying.push_back(parameter);
    else if (first != nullptr)
      common += (common.empty() ? "" : ", ") + parameter + " " + to_text(*first);
  }
  // A list that names nothing: not the empty one, which stands for version 1.
  if (varying.empty() && !comparison.parameters.empty()) varying = {""};
  return result;
}

}  // namespace

Status CompareOptions::validate() const {
  if (!(threshold >= 0 && threshold <= 1)) {
    return Error{Errc::kInvalidOption, "threshold: is " + printed("%g", threshold) +
                                           ", allowed are 0 to 1 (0.05, or 5%)"};
  }
  return {};
}

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"same", "better", "worse", "unsure", "INVALID"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const auto& row) { return row.verdict == verdict; }));
}

Result<Twice> split_again(const Document& document) {
  Twice twice{document, document};
  twice.first.rows.clear();
  twice.second.rows.clear();
  std::map<std::string, std::vector<const Row*>> firsts =
      by_identity(document, document.parameters);
  for (const auto& row : document.rows) {
    if (row.subject() != "again") continue;
    auto second = row;
    second.set("subject", "holdfast");
    const auto found = firsts.find(identity(second, document.parameters));
    if (found == firsts.end() || found->second.empty()) continue;
    twice.first.rows.push_back(*found->second.front());
    found->second.erase(found->second.begin());
    twice.second.rows.push_back(std::move(second));
  }
  if (twice.first.rows.empty())
    return Error{Errc::kInvalidOption,
                 "nothing in it was measured twice; give a second result, or one of "
                 "`holdfast bench run --aa`"};
  return twice;
}

Comparison compare(const Document& before, const Document& after, const CompareOptions& options) {
  Comparison comparison;
  const auto parameters = parameters_of_both(before, after);
  auto partners = by_identity(after, parameters);
  for (const auto& row : before.rows) {
    const auto name = identity(row, before.parameters);
    const auto found = partners.find(identity(row, parameters));
    if (found == partners.end() || found->second.empty()) {
      comparison.only_before.push_back(name);
      continue;
    }
    comparison.rows.push_back(compare_rows(name, row, *found->second.front(), options));
    found->second.erase(found->second.begin());
  }
  for (const auto& row : after.rows) {
    const auto& left = partners[identity(row, parameters)];
    if (std::find(left.begin(), left.end(), &row) != left.end())
      comparison.only_after.push_back(identity(row, after.parameters));
  }
  comparison.parameters = before.parameters;
  comparison.environment_changes = changes(before.environment, after.environment);
  return comparison;
}

std::string table(const Comparison& comparison, const CompareOptions& options) {
  const auto [common, varying] = parameters_of(comparison);
  std::vector<std::vector<std::string>> lines = {
      {"measurement", "before", "after", "after / before", "p", "verdict"}};
  for (const auto& row : comparison.rows) {
    const auto& ratio = row.ratio;
    const bool interval = ratio.coverage > 0 && !std::isnan(ratio.median);
    lines.push_back({escape(identity(row.before, varying)),
                     value_text(row.field, median(samples_of(row.before, row.field))),
                     value_text(row.field, median(samples_of(row.after, row.field))),
                     std::isnan(ratio.median) ? "-"
                     : interval ? printed("%.3f [%.3f, %.3f]", ratio.median, ratio.low, ratio.high)
                                : printed("%.3f", ratio.median),
                     ratio.too_few ? "" : printed("%.3f", ratio.p_value),
                     std::string(name(row.verdict))});
  }
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], display_width(line[i]));
  }
  const auto wide = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
  const bool narrow = options.columns != 0 && wide > options.columns;
  std::string text = common.empty() ? "" : "all with " + escape(common) + "\n\n";
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const auto& line = lines[n];
    text += narrow ? line[0] + "\n" : pad_right(line[0], widths[0]);
    for (std::size_t i = 1; i + 1 < line.size(); ++i)
      text += "  " + pad_left(line[i], widths[i]);
    text += "  " + line.back();
    const auto why = n == 0 ? std::string() : escape(comparison.rows[n - 1].why, kWhyShown);
    text += (why.empty() ? "" : (narrow ? "\n    " : ": ") + why) + "\n";
  }
  const auto count = [&](Verdict verdict) { return comparison.count(verdict); };
  text += printed("\n%zu better, %zu worse, %zu the same, %zu unsure, %zu INVALID",
                  count(Verdict::kBetter), count(Verdict::kWorse), count(Verdict::kSame),
                  count(Verdict::kUnsure), count(Verdict::kInvalid));
  text += printed("; a change counts from %g %% on, where chance is ruled out at 5 %%.\n",
                  100 * options.threshold);
  const auto list = [&text](const char* heading, const std::vector<std::string>& entries) {
    for (const auto& entry : entries)
      text += heading + escape(entry, 1024) + "\n";
  };
  list("only before: ", comparison.only_before);
  list("only after: ", comparison.only_after);
  list("changed: ", comparison.environment_changes);
  return text;
}

std::string to_json(const Comparison& comparison, const CompareOptions& options) {
  const auto number = [](double value) { return std::isnan(value) ? Json() : Json(value); };
  Json json;
  const auto [common, varying] = parameters_of(comparison);
  json["threshold_ratio"] = options.threshold;
  json["common"] = common;
  json["rows"] = Json::array();
  for (const auto& row : comparison.rows) {
    json["rows"].push_back({{"measurement", row.identity},
                            {"short", identity(row.before, varying)},
                            {"field", row.field},
                            {"before", number(median(samples_of(row.before, row.field)))},
                            {"after", number(median(samples_of(row.after, row.field)))},
                            {"ratio_median", number(row.ratio.median)},
                            {"ratio_low", number(row.ratio.low)},
                            {"ratio_high", number(row.ratio.high)},
                            {"interval_coverage", row.ratio.coverage},
                            {"p_value", row.ratio.p_value},
                            {"more_is_better", row.more_is_better},
                            {"verdict", name(row.verdict)},
                            {"why", row.why}});
  }
  json["only_before"] = comparison.only_before;
  json["only_after"] = comparison.only_after;
  json["environment_changes"] = comparison.environment_changes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::results
