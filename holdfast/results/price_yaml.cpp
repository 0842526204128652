// The file of prices. Every mistake is collected, with its line and column, before anything is
// said.
#include <algorithm>
#include <cmath>

#include <yaml-cpp/yaml.h>

#include <holdfast/base/format.hpp>
#include <holdfast/base/printed.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/results/price.hpp>

namespace holdfast::results {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  void fail(const YAML::Node& node, const std::string& what) {
    const auto mark = node.Mark();
    errors_ += (errors_.empty() ? "" : "\n") + name_ + ":" + std::to_string(mark.line + 1) + ":" +
               std::to_string(mark.column + 1) + ": " + what;
  }
  const std::string& errors() const { return errors_; }

  // A map with these keys only; false, and an error, where it is none.
  bool map(const YAML::Node& node, const std::string& what, const std::vector<std::string>& keys) {
    if (!node.IsMap()) return fail(node, what + " must be a map of names to values"), false;
    for (const auto& entry : node) {
      const auto key = entry.first.Scalar();
      if (keys.empty() || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      fail(entry.first, "'" + key + "' is no key of " + what + "; there are " + joined(keys, ", "));
    }
    return true;
  }

  std::string text(const YAML::Node& node, const std::string& what) {
    if (node.IsScalar()) return node.Scalar();
    fail(node, what + " must be a text");
    return {};
  }

  // Above 0.
  double number(const YAML::Node& node, const std::string& what) {
    double value = NAN;
    if (node.IsScalar() && YAML::convert<double>::decode(node, value) && value > 0 &&
        std::isfinite(value))
      return value;
    fail(node, what + " must be a number above 0" +
                   (node.IsScalar() ? ", it is '" + node.Scalar() + "'" : std::string()));
    return NAN;
  }

  double bytes(const YAML::Node& node, const std::string& what) {
    const auto parsed = parse_bytes(text(node, what), what);
    if (parsed && *parsed > 0) return static_cast<double>(*parsed);
    fail(node, parsed ? what + " must be above 0" : parsed.error().detail);
    return NAN;
  }

  std::vector<std::pair<std::string, std::string>> where(const YAML::Node& node) {
    std::vector<std::pair<std::string, std::string>> conditions;
    if (!map(node, "where", {})) return conditions;
    for (const auto& entry : node)
      conditions.emplace_back(entry.first.Scalar(), text(entry.second, "where"));
    return conditions;
  }

 private:
  const std::string& name_;
  std::string errors_;
};

Measure measure_of(Reader& reader, const YAML::Node& node) {
  Measure measure;
  if (!reader.map(node, "a measure", {"name", "kind", "operation", "field", "where"}))
    return measure;
  for (const auto* required : {"name", "kind", "operation"}) {
    if (!node[required]) reader.fail(node, std::string("a measure needs ") + required);
  }
  if (node["name"]) measure.name = reader.text(node["name"], "name");
  if (node["operation"]) measure.operation = reader.text(node["operation"], "operation");
  const auto kind = node["kind"] ? reader.text(node["kind"], "kind") : "bandwidth";
  if (kind == "bandwidth") {
    measure.field = "bytes_per_s_median";
  } else if (kind == "rate") {
    measure.kind = MeasureKind::kRate;
    measure.field = "ops_per_s_median";
  } else if (kind == "latency") {
    measure.kind = MeasureKind::kLatency;
    measure.field = "mean_ns";
  } else {
    reader.fail(node["kind"], "kind is '" + kind + "'; allowed are bandwidth, rate, latency");
  }
  if (node["field"]) measure.field = reader.text(node["field"], "field");
  if (node["where"]) measure.where = reader.where(node["where"]);
  return measure;
}

// Exactly one of the two ways to be priced.
void take_price(Reader& reader, const YAML::Node& node, PricedSystem& system) {
  const bool by_dimm = node["dimms"] || node["price_per_dimm"] || node["bytes_per_dimm"];
  const std::vector<const char*> needed =
      by_dimm ? std::vector{"dimms", "price_per_dimm", "bytes_per_dimm"}
              : std::vector{"price_per_month", "bytes"};
  for (const auto* name : needed) {
    if (node[name]) continue;
    return reader.fail(node, system.name + " needs " + name +
                                 (by_dimm ? "" : " (or dimms, price_per_dimm, bytes_per_dimm)"));
  }
  if (by_dimm && (node["price_per_month"] || node["bytes"]))
    return reader.fail(node, system.name + " has a price per DIMM and one per month");
  if (!by_dimm) {
    system.price = reader.number(node["price_per_month"], "price_per_month");
    system.bytes = reader.bytes(node["bytes"], "bytes");
    return;
  }
  const auto dimms = reader.number(node["dimms"], "dimms");
  const bool countable = dimms <= 65536 && dimms == std::floor(dimms);
  if (!countable && !std::isnan(dimms))
    reader.fail(node["dimms"], "dimms must be a whole number up to 65536");
  system.dimms = countable ? static_cast<unsigned>(dimms) : 1;
  system.price_per_dimm = reader.number(node["price_per_dimm"], "price_per_dimm");
  system.price = system.dimms * system.price_per_dimm;
  system.bytes = system.dimms * reader.bytes(node["bytes_per_dimm"], "bytes_per_dimm");
}

PricedSystem system_of(Reader& reader, const std::string& name, const YAML::Node& node,
                       const std::vector<Measure>& measures) {
  PricedSystem system;
  system.name = name;
  if (!reader.map(node, name,
                  {"hardware", "dimms", "price_per_dimm", "bytes_per_dimm", "price_per_month",
                   "bytes", "where", "values"}))
    return system;
  take_price(reader, node, system);
  if (node["hardware"]) system.hardware = reader.text(node["hardware"], "hardware");
  if (node["where"]) system.where = reader.where(node["where"]);
  if (!node["values"] || !reader.map(node["values"], "values", {})) return system;
  for (const auto& entry : node["values"]) {
    const auto measure = entry.first.Scalar();
    if (std::none_of(measures.begin(), measures.end(),
                     [&](const auto& known) { return known.name == measure; }))
      reader.fail(entry.first, "'" + measure + "' is the name of no measure");
    system.values.emplace_back(measure, reader.number(entry.second, measure));
  }
  return system;
}

Result<Prices> parse(const YAML::Node& root, const std::string& name) {
  Reader reader(name);
  Prices prices;
  if (!reader.map(root, "a file of prices",
                  {"currency", "source", "rounding", "measures", "systems"}))
    return Error{Errc::kInvalidOption, reader.errors()};
  if (root["currency"]) prices.currency = reader.text(root["currency"], "currency");
  if (root["source"]) prices.source = reader.text(root["source"], "source");
  if (root["rounding"]) {
    const auto rounding = reader.text(root["rounding"], "rounding");
    if (rounding != "nearest" && rounding != "down")
      reader.fail(root["rounding"], "rounding is '" + rounding + "'; allowed are nearest, down");
    prices.round_down = rounding == "down";
  }
  prices.measures = default_measures();
  if (root["measures"]) {
    prices.measures.clear();
    if (!root["measures"].IsSequence()) reader.fail(root["measures"], "measures must be a list");
    for (const auto& node : root["measures"])
      prices.measures.push_back(measure_of(reader, node));
  }
  if (!root["systems"] || !root["systems"].IsMap() || root["systems"].size() == 0) {
    reader.fail(root["systems"] ? root["systems"] : root,
                "systems is missing: a map of names to prices");
    return Error{Errc::kInvalidOption, reader.errors()};
  }
  for (const auto& entry : root["systems"]) {
    prices.systems.push_back(
        system_of(reader, entry.first.Scalar(), entry.second, prices.measures));
  }
  prices.per_month = prices.systems.front().dimms == 0;
  for (const auto& system : prices.systems) {
    if ((system.dimms == 0) != prices.per_month && reader.errors().empty())
      reader.fail(root["systems"], "some systems are priced per DIMM and some per month");
  }
  if (!reader.errors().empty()) return Error{Errc::kInvalidOption, reader.errors()};
  return prices;
}

}  // namespace

Result<Prices> parse_prices(const std::string& yaml, const std::string& name) {
  try {
    return parse(YAML::Load(yaml), name);
  } catch (const YAML::Exception& error) {
    return Error{Errc::kInvalidOption, name + ":" + std::to_string(error.mark.line + 1) + ":" +
                                           std::to_string(error.mark.column + 1) + ": " +
                                           error.msg};
  }
}

Result<Prices> read_prices(const std::string& path) {
  constexpr std::uint64_t kPricesBytesMax = std::uint64_t{16} << 20;
  HF_ASSIGN_OR_RETURN(const auto text, read_file(path, kPricesBytesMax));
  return parse_prices(text, path);
}

}  // namespace holdfast::results
