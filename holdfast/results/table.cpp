#include <holdfast/results/table.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/printed.hpp>
#include <holdfast/results/statistics.hpp>

namespace holdfast::results {
namespace {

// Three digits that count, without an exponent.
std::string three_digits(double number) {
  if (number >= 99.95) return printed("%.0f", number);
  return number >= 9.995 ? printed("%.1f", number) : printed("%.2f", number);
}

class Grid {
 public:
  explicit Grid(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  void gap() { lines_.emplace_back(); }
  // A line across all columns.
  void heading(std::string text) {
    gap();
    headings_.push_back({lines_.size(), std::move(text)});
    gap();
  }

  // Columns that go together, and what they are called.
  struct Columns {
    std::string name;
    std::vector<std::string> headers;
  };
  // Leaves out columns in this order until the rest is no wider than `columns`. Returns their
  // names.
  std::vector<std::string> fit(std::size_t columns, const std::vector<Columns>& first_to_go) {
    std::vector<std::string> gone;
    for (const auto& group : first_to_go) {
      if (width() <= columns) break;
      bool any = false;
      for (std::size_t at = 0; at < lines_.front().size(); ++at) {
        const auto& headers = group.headers;
        const auto& header = lines_.front()[at];  // The column of INVALID has none, and stays.
        if (header.empty() || std::find(headers.begin(), headers.end(), header) == headers.end())
          continue;
        any = any || used(at);
        for (std::size_t line = 1; line < lines_.size(); ++line) {
          if (!lines_[line].empty()) lines_[line][at].clear();
        }
      }
      if (any) gone.push_back(group.name);
    }
    return gone;
  }

  // Columns that are empty below the header are left out; the first two are texts, the rest
  // numbers.
  std::string text() const {
    const auto widths = column_widths();
    std::string text;
    auto heading = headings_.begin();
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      const auto& line = lines_[at];
      std::string out;
      if (heading != headings_.end() && heading->first == at) out = (heading++)->second;
      for (std::size_t column = 0; column < line.size(); ++column) {
        if (!used(column)) continue;
        const auto padding = std::string(widths[column] - line[column].size(), ' ');
        out += column < 2 ? line[column] + padding : padding + line[column];
        out += "  ";
      }
      while (out.ends_with(' '))
        out.pop_back();
      text += out + "\n";
    }
    return text;
  }

 private:
  bool used(std::size_t column) const {
    return std::any_of(lines_.begin() + 1, lines_.end(), [&](const auto& line) {
      return column < line.size() && !line[column].empty();
    });
  }
  std::vector<std::size_t> column_widths() const {
    std::vector<std::size_t> widths(lines_.front().size());
    for (const auto& line : lines_) {
      for (std::size_t column = 0; column < line.size(); ++column)
        widths[column] = std::max(widths[column], line[column].size());
    }
    return widths;
  }
  std::size_t width() const {
    const auto widths = column_widths();
    std::size_t sum = 0;
    for (std::size_t column = 0; column < widths.size(); ++column)
      sum += used(column) ? widths[column] + 2 : 0;
    return sum < 2 ? 0 : sum - 2;
  }

  std::vector<std::vector<std::string>> lines_;
  std::vector<std::pair<std::size_t, std::string>>
      headings_;  // Number of the line, and what stands there.
};

std::string time_cell(const Row& row, const char* name) {
  const auto value = row.number(name);
  return std::isnan(value) ? std::string() : human_time(value);
}

std::string number_cell(const Row& row, const char* name) {
  const auto value = row.number(name);
  return std::isnan(value) ? std::string() : three_digits(value);
}

// What ratios are taken within: a case of an experiment, or the experiment as a whole.
std::string comparison_of(const Row& row) {
  const auto name = row.text("case");
  return name.empty() ? row.text("experiment") : name;
}

// The row's time over that of `subject` in the same operation, repetition by repetition.
std::string ratio_cell(const Document& document, const Row& row, const std::string& subject) {
  if (subject.empty()) return {};
  if (row.subject() == subject) return "1";
  const auto other =
      std::find_if(document.rows.begin(), document.rows.end(), [&](const Row& candidate) {
        return candidate.subject() == subject && candidate.operation() == row.operation() &&
               candidate.threads() == row.threads() &&
               candidate.text("suite") == row.text("suite") &&
               comparison_of(candidate) == comparison_of(row);
      });
  if (other == document.rows.end()) return {};
  const auto ratio = estimate(
      paired_ratios(other->numbers("ops_per_s_samples"), row.numbers("ops_per_s_samples")));
  if (std::isnan(ratio.median)) return {};
  if (ratio.coverage == 0) return three_digits(ratio.median);
  return three_digits(ratio.median) + " [" + three_digits(ratio.low) + ", " +
         three_digits(ratio.high) + "]";
}

bool has_interval(const Row& row) {
  return !std::isnan(row.number("ops_per_s_median")) && row.number("interval_coverage") > 0;
}

// What stands below the rows: what was measured how, and which rows are not to be believed.
std::string notes_below(const Document& document) {
  std::string text;
  bool any_interval = false;
  double coverage = 1;
  for (const auto& row : document.rows) {
    if (!has_interval(row)) continue;
    any_interval = true;
    coverage = std::min(coverage, row.number("interval_coverage"));
  }
  if (any_interval) {
    text += printed(
        "\nMedians; intervals are order statistics that cover the median with at least %.1f %%.",
        100 * coverage);
    text += " Ratios are of times in the same repetition.\n";
  }
  for (const auto& row : document.rows) {
    if (row.valid()) continue;
    const auto comparison = comparison_of(row);
    text += "\nINVALID " + (comparison.empty() ? "" : comparison + ": ") + row.subject() + " " +
            row.operation() + ", " + std::to_string(row.threads()) +
            " threads: " + row.invalid_reason();
  }
  return text;
}

}  // namespace

std::string human_time(double nanoseconds) {
  if (nanoseconds < 999.5) return three_digits(nanoseconds) + " ns";
  if (nanoseconds < 999.5e3) return three_digits(nanoseconds / 1e3) + " us";
  if (nanoseconds < 999.5e6) return three_digits(nanoseconds / 1e6) + " ms";
  return three_digits(nanoseconds / 1e9) + " s";
}

std::string human_count(double count) {
  if (count < 999.5) return three_digits(count);
  if (count < 999.5e3) return three_digits(count / 1e3) + " k";
  if (count < 999.5e6) return three_digits(count / 1e6) + " M";
  return three_digits(count / 1e9) + " G";
}

std::string table(const Document& document, const TableOptions& options) {
  const auto ratio_header = [](const std::string& name) {
    return name.empty() ? std::string() : "time / " + name;
  };
  const bool own_baselines =
      std::any_of(document.rows.begin(), document.rows.end(),
                  [](const Row& row) { return !row.text("baseline").empty(); });
  const auto baseline = own_baselines ? std::string("baseline") : options.baseline;
  const auto subject = options.subject == baseline ? std::string() : options.subject;
  // A file is written by system calls: there are no fences to count, and zeros would say that none
  // were needed.
  const bool fences = document.regions.empty() ||
                      std::any_of(document.regions.begin(), document.regions.end(),
                                  [](const Fields& r) { return r.text("granularity") != "page"; });
  const auto fence_cell = [&](const Row& row, const char* name) {
    return fences ? number_cell(row, name) : std::string();
  };
  Grid grid({"operation", "subject", "threads", "ops/s", "[low,", "high]", "per op", "CPU",
             ratio_header(baseline), ratio_header(subject), "p50", "p99", "p99.9", "fences/op",
             "with bg", "lines/op", "DRAM B/rec", "medium B/rec", ""});
  const Row* previous = nullptr;
  for (const auto& row : document.rows) {
    const auto comparison = comparison_of(row);
    if (previous == nullptr ? !comparison.empty() : comparison_of(*previous) != comparison) {
      const auto own = row.text("baseline");
      grid.heading("== " + comparison + (own.empty() ? "" : "; baseline: " + own) + " ==");
    } else if (previous != nullptr &&
               (previous->operation() != row.operation() || previous->threads() != row.threads()))
      grid.gap();
    previous = &row;
    const auto own_baseline = row.text("baseline");
    const auto rate = row.number("ops_per_s_median");
    const bool measured = !std::isnan(rate);
    const bool interval = has_interval(row);
    grid.add({row.operation(), row.subject(), printed("%u", static_cast<unsigned>(row.threads())),
              measured ? human_count(rate) : "-",
              interval ? human_count(row.number("ops_per_s_low")) : "",
              interval ? human_count(row.number("ops_per_s_high")) : "",
              measured ? human_time(row.number("ns_per_op_median")) : "-",
              time_cell(row, "cpu_ns_per_op_median"),
              ratio_cell(document, row, own_baselines ? own_baseline : baseline),
              ratio_cell(document, row, subject), time_cell(row, "p50_ns"),
              time_cell(row, "p99_ns"), time_cell(row, "p999_ns"), fence_cell(row, "fences_per_op"),
              fence_cell(row, "fences_per_op_with_background"), fence_cell(row, "lines_per_op"),
              number_cell(row, "dram_bytes_per_record"),
              number_cell(row, "medium_bytes_per_record"), row.valid() ? "" : "INVALID"});
  }
  std::vector<std::string> gone;
  if (options.columns != 0) {
    gone = grid.fit(options.columns, {{"fences with background work", {"with bg"}},
                                      {"lines/op", {"lines/op"}},
                                      {"CPU", {"CPU"}},
                                      {"p99.9", {"p99.9"}},
                                      {"intervals", {"[low,", "high]"}},
                                      {"bytes per record", {"DRAM B/rec", "medium B/rec"}},
                                      {"fences/op", {"fences/op"}},
                                      {"p50 and p99", {"p50", "p99"}},
                                      {ratio_header(subject), {ratio_header(subject)}}});
  }
  auto text = grid.text();
  if (!gone.empty()) {
    text += printed("\nNot shown in %u columns:", options.columns);
    for (const auto& name : gone)
      text += (&name == &gone.front() ? " " : ", ") + name;
    text += ".\n";
  }
  text += notes_below(document);
  return text.ends_with('\n') ? text : text + "\n";
}

}  // namespace holdfast::results
