// price.hpp: what performance costs, for any results: Benson, "Efficient State Management with
// Persistent Memory" (2023), section 3.4, table 3.2.
//
// A file of prices names systems, what each costs (per DIMM, or per month) and how much memory that
// buys; measures name rows of results. A cell is the price of a GB times the time an access takes,
// or over the rate of accesses: so that a large system is not dearer for being large.
//
//   bandwidth   price per GB / (GB per s)
//   rate        price per GB / (million operations per s)
//   latency     price per GB * (latency / 100 ns)
//
// GB is 2^30 bytes, as in the paper. docs/report.md has the format; data/prices/ has the paper's
// own.
//
// Threads: pure functions. Errors: kInvalidOption with every mistake of a file, one per line, with
// line and column.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/results/result.hpp>

namespace holdfast::results {

enum class MeasureKind : std::uint8_t { kBandwidth, kRate, kLatency };

struct Measure {
  std::string name;  // "seq. read"
  MeasureKind kind = MeasureKind::kBandwidth;
  std::string operation;  // Rows of this operation…
  std::string field;      // …and this field of theirs; the best valid one counts.
  std::vector<std::pair<std::string, std::string>> where;  // Further fields that must read so.
};

struct PricedSystem {
  std::string name;
  std::string hardware;  // For people.
  unsigned dimms = 0;    // 0: priced per month.
  double price_per_dimm = 0;
  double price = 0;  // Of all memory; per month, if so.
  double bytes = 0;  // All memory.
  std::vector<std::pair<std::string, std::string>>
      where;                                           // Which rows of a result are this system's.
  std::vector<std::pair<std::string, double>> values;  // By name of a measure: GB/s, Mops/s, ns.
};

struct Prices {
  std::string currency = "EUR";
  std::string source;
  bool per_month = false;
  bool round_down = false;  // Cents: to the nearest, or down.
  std::vector<Measure> measures;
  std::vector<PricedSystem> systems;
};

// The measures of table 3.2, on the workloads that `bench run` ships.
std::vector<Measure> default_measures();

Result<Prices> parse_prices(const std::string& yaml, const std::string& name);
Result<Prices> read_prices(const std::string& path);

// The value that `measure` has in the document for `system`: GB/s, Mops/s or ns; nothing where no
// valid row matches.
std::optional<double> measured(const Document& document, const PricedSystem& system,
                               const Measure& measure);

struct PriceTable {
  struct Line {
    std::string label;               // "EUR/(GB/s) seq. read"
    std::vector<std::string> cells;  // One per system: "0.25", "-" where there is nothing.
    std::vector<bool> best;          // The cheapest, all if several; none where there is one price.
  };
  std::vector<std::string> systems;
  std::vector<Line> lines;
  std::string source;
  std::vector<std::string> missing;  // "Apache-128: no valid row for seq. read (…)".
};

// `documents`: by the name of a system. A value given in the prices yields to one that was
// measured.
Result<PriceTable> price_table(const Prices& prices,
                               const std::vector<std::pair<std::string, Document>>& documents);

std::string to_text(const PriceTable& table);
std::string to_csv(const PriceTable& table);
std::string to_json(const PriceTable& table);

}  // namespace holdfast::results
