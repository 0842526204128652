#include <holdfast/results/memory_table.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::results {
namespace {

// Three digits that count.
std::string significant(double number) {
  const int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : number >= 0.995 ? 2 : 3;
  return printed("%.*f", decimals, number);
}

std::string gibibytes(double bytes_per_s) {
  return significant(bytes_per_s / static_cast<double>(GiB));
}

std::string nanoseconds(double ns) { return std::isnan(ns) ? "" : format_nanoseconds(ns); }

// A parameter as the workload file would say it.
std::string parameter_cell(const Row& row, const std::string& name) {
  const auto* value = row.find(name);
  if (value == nullptr) return {};
  if (name.ends_with("_bytes")) return format_bytes(static_cast<std::uint64_t>(row.number(name)));
  return to_text(*value);
}

struct Column {
  std::string header;
  std::vector<std::string> cells;
  bool left = false;
};

// Of the rows of one benchmark, the fields whose values differ.
std::vector<std::string> varying(const Document& document, const std::vector<const Row*>& rows) {
  std::vector<std::string> names;
  for (const auto& name : document.parameters) {
    std::set<std::string> values;
    for (const auto* row : rows)
      values.insert(parameter_cell(*row, name));
    if (values.size() > 1) names.push_back(name);
  }
  return names;
}

std::string ratio(const Row& row, const std::string& name) {
  const auto median = row.number("time_x_" + name + "_median");
  if (std::isnan(median)) return {};
  return significant(median) + " [" + significant(row.number("time_x_" + name + "_low")) + ", " +
         significant(row.number("time_x_" + name + "_high")) + "]";
}

using HeadingOf = std::function<std::string(const std::string&)>;

std::string block(const Document& document, const std::vector<const Row*>& rows,
                  const HeadingOf& heading_of) {
  std::vector<Column> columns;
  const auto add = [&](std::string header, bool left, const auto& cell_of) {
    Column column{std::move(header), {}, left};
    bool any = false;
    for (const auto* row : rows) {
      column.cells.push_back(cell_of(*row));
      any = any || !column.cells.back().empty();
    }
    if (any) columns.push_back(std::move(column));
  };
  const bool subjects = std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
    return row->subject() != rows.front()->subject();
  });
  const auto bandwidth = [](const char* field) {
    return [field](const Row& row) {
      const auto rate = row.number(field);
      return std::isnan(rate) || row.text("exec_mode") == "chase" ? std::string() : gibibytes(rate);
    };
  };
  add("", true, [](const Row&) { return std::string("   "); });
  if (subjects) add("subject", true, [](const Row& row) { return row.subject(); });
  add("threads", false, [](const Row& row) { return std::to_string(row.threads()); });
  for (const auto& name : varying(document, rows))
    add(heading_of(name), true, [&](const Row& row) { return parameter_cell(row, name); });
  add("GiB/s", false, bandwidth("bytes_per_s_median"));
  add("[low,", false, bandwidth("bytes_per_s_low"));
  add("high]", false, bandwidth("bytes_per_s_high"));
  add("ops/s", false, [](const Row& row) {
    const auto rate = row.number("ops_per_s_median");
    return std::isnan(rate) ? std::string("-") : format_count(rate);
  });
  const auto time = [](const char* field) {
    return [field](const Row& row) { return nanoseconds(row.number(field)); };
  };
  add("per op", false, time("ns_per_op_median"));
  add("time / floor", false, [](const Row& row) { return ratio(row, "floor"); });
  add("time / first", false, [](const Row& row) { return ratio(row, "holdfast"); });
  add("samples", false, [](const Row& row) {
    const auto samples = row.number("latency_samples");
    return std::isnan(samples) ? std::string() : format_count(samples);
  });
  add("p50", false, time("p50_ns"));
  add("p99", false, time("p99_ns"));
  add("p99.9", false, time("p999_ns"));
  add("", true, [](const Row& row) {
    return std::string(!row.valid() ? "INVALID" : !row.texts("warnings").empty() ? "(!)" : "");
  });
  std::string text;
  for (std::size_t line = 0; line <= rows.size(); ++line) {
    std::string out;
    for (const auto& column : columns) {
      std::size_t width = display_width(column.header);
      for (const auto& one : column.cells)
        width = std::max(width, display_width(one));
      const auto& content = line == 0 ? column.header : column.cells[line - 1];
      out += (column.left ? pad_right(content, width) : pad_left(content, width)) + "  ";
    }
    while (out.ends_with(' '))
      out.pop_back();
    text += out + "\n";
  }
  return text;
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return text;
}

std::string row_name(const Row& row) {
  auto text = row.operation();
  if (row.subject() != "holdfast") text += " (" + row.subject() + ")";
  return text + ", " + std::to_string(row.threads()) +
         (row.threads() == 1 ? " thread" : " threads");
}

}  // namespace

std::string memory_table(const Document& document, const HeadingOf& heading_of) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Row*>> benchmarks;
  for (const auto& row : document.rows) {
    auto& rows = benchmarks[row.operation()];
    if (rows.empty()) order.push_back(row.operation());
    rows.push_back(&row);
  }
  std::string text;
  for (const auto& name : order)
    text += name + "\n" + block(document, benchmarks[name], heading_of) + "\n";
  // What differs in its numbers only is shown once.
  std::map<std::string, std::vector<std::pair<const Row*, std::string>>> warnings;
  for (const auto& row : document.rows) {
    if (!row.valid()) text += "INVALID " + row_name(row) + ": " + row.invalid_reason() + "\n";
    for (const auto& warning : row.texts("warnings"))
      warnings[without_digits(warning)].emplace_back(&row, warning);
  }
  constexpr std::size_t kWarningsMax = 12;
  std::size_t shown = 0;
  for (const auto& [kind, rows] : warnings) {
    if (shown++ == kWarningsMax) {
      text += "(!) and " + std::to_string(warnings.size() - kWarningsMax) +
              " other warnings; --json has them with their rows\n";
      break;
    }
    text += "(!) " + row_name(*rows.front().first) + ": " + rows.front().second;
    if (rows.size() > 1) text += " (and " + std::to_string(rows.size() - 1) + " more like it)";
    text += "\n";
  }
  return text;
}

}  // namespace holdfast::results
