#include <holdfast/results/price.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/results/csv.hpp>

namespace holdfast::results {
namespace {

constexpr double kGB = 0x1p30;

const char* unit(MeasureKind kind) {
  switch (kind) {
    case MeasureKind::kBandwidth: return "/(GB/s)";
    case MeasureKind::kRate: return "/(Mops/s)";
    case MeasureKind::kLatency: return "/100ns";
  }
  return "";
}

// To the cent. What lies a hair below one through binary fractions is that cent.
double cents(double price, bool down) {
  const auto scaled = price * 100;
  return (down ? std::floor(scaled + 1e-7) : std::floor(scaled + 0.5 + 1e-7)) / 100;
}

std::string money(double price, bool down) { return printed("%.2f", cents(price, down)); }

// Whole where it is whole: 7080, 12.50.
std::string amount(double price) {
  return price == std::floor(price) ? printed("%.0f", price) : printed("%.2f", price);
}

bool matches(const Row& row, const std::vector<std::pair<std::string, std::string>>& where) {
  return std::all_of(where.begin(), where.end(), [&](const auto& condition) {
    const auto* value = row.find(condition.first);
    return value != nullptr && to_text(*value) == condition.second;
  });
}

double cost(const PricedSystem& system, const Measure& measure, double value) {
  const auto per_gb = system.price / (system.bytes / kGB);
  return measure.kind == MeasureKind::kLatency ? per_gb * value / 100 : per_gb / value;
}

std::string conditions(const Measure& measure, const PricedSystem& system) {
  std::string text = "operation " + measure.operation;
  for (const auto* where : {&measure.where, &system.where}) {
    for (const auto& [name, value] : *where)
      text += ", " + name + " " + value;
  }
  return text + ", with " + measure.field;
}

std::vector<bool> cheapest(const std::vector<double>& costs) {
  double least = INFINITY;
  std::size_t counted = 0;
  for (const auto cost : costs) {
    if (std::isnan(cost)) continue;
    ++counted;
    least = std::min(least, cost);
  }
  std::vector<bool> best;
  for (const auto cost : costs)
    best.push_back(counted > 1 && cost == least);
  return best;
}

// A measure's line, from the results or from the values that the file gives.
PriceTable::Line measure_line(const Prices& prices, const Measure& measure,
                              const std::vector<std::pair<std::string, Document>>& documents,
                              std::vector<std::string>& missing) {
  PriceTable::Line line;
  line.label = prices.currency + unit(measure.kind) + " " + measure.name;
  std::vector<double> costs;
  for (const auto& system : prices.systems) {
    std::optional<double> value;
    for (const auto& [name, given] : system.values) {
      if (name == measure.name) value = given;
    }
    for (const auto& [name, document] : documents) {
      if (name != system.name) continue;
      value = measured(document, system, measure);
      if (!value) {
        missing.push_back(system.name + ": no valid row for " + measure.name + " (" +
                          conditions(measure, system) + ")");
      }
    }
    // Compared as printed: what costs the same to the cent is no dearer.
    costs.push_back(value ? cents(cost(system, measure, *value), prices.round_down) : NAN);
    line.cells.push_back(value ? money(cost(system, measure, *value), prices.round_down) : "-");
  }
  line.best = cheapest(costs);
  return line;
}

}  // namespace

std::vector<Measure> default_measures() {
  return {
      {"seq. read",
       MeasureKind::kBandwidth,
       "sequential_reads",
       "bytes_per_s_median",
       {{"access_bytes", "4096"}}},
      {"rnd. read",
       MeasureKind::kBandwidth,
       "random_reads",
       "bytes_per_s_median",
       {{"access_bytes", "256"}}},
      {"seq. write",
       MeasureKind::kBandwidth,
       "sequential_writes",
       "bytes_per_s_median",
       {{"access_bytes", "512"}, {"persist_instruction", "nocache"}}},
      {"rnd. write",
       MeasureKind::kBandwidth,
       "random_writes",
       "bytes_per_s_median",
       {{"access_bytes", "64"}, {"persist_instruction", "nocache"}}},
      {"latency",
       MeasureKind::kLatency,
       "operation_latency",
       "mean_ns",
       {{"custom_operations", "r_256"}}},
      {"update hash index", MeasureKind::kRate, "hash_index_update", "ops_per_s_median", {}},
      {"lookup tree index", MeasureKind::kRate, "tree_index_lookup", "ops_per_s_median", {}},
  };
}

std::optional<double> measured(const Document& document, const PricedSystem& system,
                               const Measure& measure) {
  std::optional<double> best;
  for (const auto& row : document.rows) {
    if (!row.valid() || row.operation() != measure.operation || row.subject() == "floor") continue;
    if (!matches(row, measure.where) || !matches(row, system.where)) continue;
    auto value = row.number(measure.field);
    if (!(value > 0) || !std::isfinite(value)) continue;
    if (measure.kind == MeasureKind::kBandwidth) value /= kGB;
    if (measure.kind == MeasureKind::kRate) value /= 1e6;
    const bool better =
        !best || (measure.kind == MeasureKind::kLatency ? value < *best : value > *best);
    if (better) best = value;
  }
  return best;
}

Result<PriceTable> price_table(const Prices& prices,
                               const std::vector<std::pair<std::string, Document>>& documents) {
  std::vector<std::string> names;
  for (const auto& system : prices.systems)
    names.push_back(system.name);
  std::set<std::string> given;
  for (const auto& [name, document] : documents) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Error{Errc::kInvalidOption,
                   "'" + name + "' is no system of the prices; there are " + joined(names, ", ")};
    if (!given.insert(name).second)
      return Error{Errc::kInvalidOption, "'" + name + "' has two results"};
  }
  PriceTable table;
  table.source = prices.source;
  PriceTable::Line per_dimm{prices.currency + " per DIMM", {}, {}};
  PriceTable::Line per_system{
      prices.currency + (prices.per_month ? "/month" : "/system") + " (GB capacity)", {}, {}};
  PriceTable::Line per_gb{
      prices.currency + (prices.per_month ? "/GB and month" : "/GB capacity"), {}, {}};
  std::vector<double> costs;
  for (const auto& system : prices.systems) {
    table.systems.push_back(system.name);
    per_dimm.cells.push_back(system.dimms > 0 ? amount(system.price_per_dimm) : "-");
    per_system.cells.push_back(amount(system.price) + " (" + amount(system.bytes / kGB) + ")");
    costs.push_back(cents(system.price / (system.bytes / kGB), prices.round_down));
    per_gb.cells.push_back(money(costs.back(), false));
  }
  per_gb.best = cheapest(costs);
  if (!prices.per_month) table.lines.push_back(std::move(per_dimm));
  table.lines.push_back(std::move(per_system));
  table.lines.push_back(std::move(per_gb));
  for (const auto& measure : prices.measures)
    table.lines.push_back(measure_line(prices, measure, documents, table.missing));
  return table;
}

std::string to_text(const PriceTable& table) {
  std::vector<std::size_t> widths(1 + table.systems.size(), 0);
  for (const auto& line : table.lines) {
    widths[0] = std::max(widths[0], display_width(line.label));
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      widths[i + 1] = std::max(
          {widths[i + 1], display_width(line.cells[i]) + 1, display_width(table.systems[i]) + 1});
    }
  }
  std::string text = std::string(widths[0], ' ');
  for (std::size_t i = 0; i < table.systems.size(); ++i)
    text += "  " + pad_left(table.systems[i] + " ", widths[i + 1]);
  text += "\n";
  for (const auto& line : table.lines) {
    text += pad_right(line.label, widths[0]);
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      const auto mark = i < line.best.size() && line.best[i] ? "*" : " ";
      text += "  " + pad_left(line.cells[i] + mark, widths[i + 1]);
    }
    text += "\n";
  }
  text += "* the cheapest. 1 GB = 2^30 bytes.";
  if (!table.source.empty()) text += " " + table.source;
  return text + "\n";
}

std::string to_csv(const PriceTable& table) {
  // The writer of results does the quoting.
  Document document;
  for (const auto& line : table.lines) {
    auto& row = document.rows.emplace_back();
    row.set("price", line.label);
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      row.set(table.systems[i], Value(line.cells[i]));
  }
  return to_csv(document);
}

std::string to_json(const PriceTable& table) {
  nlohmann::ordered_json json = {{"systems", table.systems},
                                 {"source", table.source},
                                 {"lines", nlohmann::ordered_json::array()},
                                 {"missing", table.missing}};
  for (const auto& line : table.lines)
    json["lines"].push_back({{"label", line.label}, {"cells", line.cells}, {"best", line.best}});
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::results
