#include <holdfast/results/price.hpp>

#include <cmath>
#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include <holdfast/results/csv.hpp>
#include <holdfast/results/output.hpp>

namespace holdfast::results {
namespace {

const std::string kData = HF_SOURCE_DIR "/data/";

// The claims of the papers, by their id.
std::map<std::string, double> published() {
  std::map<std::string, double> values;
  const auto lines = parse_csv(read_file(kData + "published/numbers.csv", 1 << 24).value());
  for (const auto& line : lines)
    values[line.at(0)] = std::atof(line.at(10).c_str());
  EXPECT_GT(values.size(), 700u);
  return values;
}

Prices table_3_2() {
  auto prices = read_prices(kData + "prices/table-3.2.yaml");
  EXPECT_TRUE(prices) << prices.error().message();
  return std::move(prices).value();
}

TEST(Price, TheTableOfThePaperComesOutToTheCent) {
  const auto claims = published();
  const auto table = price_table(table_3_2(), {}).value();
  const std::vector<std::string> systems = {"a-128", "a-256", "a-512", "b-256", "b-dram"};
  ASSERT_EQ(table.systems.size(), systems.size());
  const std::map<std::string, std::string> rows = {
      {"EUR per DIMM", "dimm"},
      {"EUR/system (GB capacity)", "system"},
      {"EUR/GB capacity", "per-gb"},
      {"EUR/(GB/s) seq. read", "seqread"},
      {"EUR/(GB/s) rnd. read", "rndread"},
      {"EUR/(GB/s) seq. write", "seqwrite"},
      {"EUR/(GB/s) rnd. write", "rndwrite"},
      {"EUR/100ns latency", "latency"},
      {"EUR/(Mops/s) update hash index", "hash-update"},
      {"EUR/(Mops/s) lookup tree index", "tree-lookup"}};
  ASSERT_EQ(table.lines.size(), rows.size());
  for (const auto& line : table.lines) {
    const auto row = rows.at(line.label);
    for (std::size_t i = 0; i < systems.size(); ++i) {
      const auto id = "price-" + row + "-" + systems[i];
      ASSERT_TRUE(claims.contains(id)) << id;
      char expected[32];
      std::snprintf(expected, sizeof expected, row == "dimm" || row == "system" ? "%.0f" : "%.2f",
                    claims.at(id));
      std::string cell = line.cells[i];
      if (row == "system") {
        const auto capacity = claims.at("price-capacity-" + systems[i]);
        EXPECT_EQ(cell.substr(cell.find('(')), "(" + std::to_string(std::lround(capacity)) + ")");
        cell.resize(cell.find(' '));
      }
      EXPECT_EQ(cell, expected) << id;
    }
  }
  // What the paper prints in bold.
  const auto best = [&](std::size_t line) {
    std::string names;
    for (std::size_t i = 0; i < systems.size(); ++i) {
      if (table.lines[line].best.at(i)) names += " " + systems[i];
    }
    return names;
  };
  const std::vector<std::string> bold = {" a-128",  " b-256", " a-256 b-256", " b-256",
                                         " b-dram", " a-128", " b-256",       " b-256"};
  for (std::size_t i = 0; i < bold.size(); ++i)
    EXPECT_EQ(best(i + 2), bold[i]) << table.lines[i + 2].label;
}

// The table prints only quotients, so the file's performance was worked back from them. What the
// text says of bandwidth is independent of that.
TEST(Price, ThePerformanceBehindTheTableIsWhatTheTextSays) {
  const auto claims = published();
  const auto prices = table_3_2();
  const auto value = [&](const std::string& system, const std::string& measure) {
    for (const auto& one : prices.systems) {
      for (const auto& [name, given] : one.values) {
        if (one.name == system && name == measure) return given;
      }
    }
    return std::nan("");
  };
  for (const auto& [system, measure, id] : {std::tuple{"Apache-256", "seq. read", "seqread-a256"},
                                            {"Apache-512", "seq. read", "seqread-a512"},
                                            {"Barlow-256", "seq. read", "seqread-b256"},
                                            {"B-DRAM", "seq. read", "seqread-bdram-32"},
                                            {"Apache-128", "seq. write", "seqwrite-a-128"},
                                            {"Apache-256", "seq. write", "seqwrite-a256"},
                                            {"Apache-512", "seq. write", "seqwrite-a-512"},
                                            {"Barlow-256", "seq. write", "seqwrite-b256"}}) {
    EXPECT_NEAR(value(system, measure) / claims.at(id), 1, 0.1) << id;
  }
}

constexpr const char* kOurs = R"(
currency: USD
measures:
  - {name: read, kind: bandwidth, operation: reads, where: {access_bytes: 4096}}
  - {name: lookup, kind: rate, operation: lookups}
  - {name: wait, kind: latency, operation: lookups, field: p50_ns}
systems:
  near: {dimms: 2, price_per_dimm: 100, bytes_per_dimm: 16GiB, where: {region: dram}}
  far:  {dimms: 1, price_per_dimm: 96, bytes_per_dimm: 64GiB, where: {region: cxl}}
)";

Document result() {
  Document document;
  const auto add = [&](const char* region, const char* operation, const char* field, double value) {
    auto& row = document.rows.emplace_back("holdfast", operation, 1);
    row.set("region", region);
    row.set("access_bytes", 4096);
    row.set(field, value);
    return &row;
  };
  add("dram", "reads", "bytes_per_s_median", 10 * 0x1p30);
  add("dram", "reads", "bytes_per_s_median", 25 * 0x1p30);
  add("dram", "reads", "bytes_per_s_median", 9999 * 0x1p30)->invalidate("beyond this machine");
  add("dram", "lookups", "ops_per_s_median", 5e6)->set("p50_ns", 100);
  add("cxl", "reads", "bytes_per_s_median", 15 * 0x1p30);
  add("cxl", "lookups", "p50_ns", 300);
  return document;
}

TEST(Price, AnyResultIsPricedByItsBestValidRow) {
  const auto prices = parse_prices(kOurs, "prices.yaml");
  ASSERT_TRUE(prices) << prices.error().message();
  const auto table = price_table(*prices, {{"near", result()}, {"far", result()}}).value();
  using Cells = std::vector<std::string>;
  EXPECT_EQ(table.lines[2].cells, (Cells{"6.25", "1.50"}));  // Per GB.
  EXPECT_EQ(table.lines[3].cells, (Cells{"0.25", "0.10"}));  // 6.25 / 25, 1.5 / 15.
  EXPECT_EQ(table.lines[4].cells, (Cells{"1.25", "-"}));     // 6.25 / 5.
  EXPECT_EQ(table.lines[5].cells, (Cells{"6.25", "4.50"}));  // 6.25 * 1, 1.5 * 3.
  EXPECT_EQ(table.lines[3].best, (std::vector<bool>{false, true}));
  EXPECT_EQ(table.lines[4].best, (std::vector<bool>{false, false}));  // Nothing to compare with.
  ASSERT_EQ(table.missing.size(), 1u);
  EXPECT_EQ(table.missing[0],
            "far: no valid row for lookup (operation lookups, region cxl, with ops_per_s_median)");
  EXPECT_NE(to_text(table).find("USD/(GB/s) read"), std::string::npos);
  EXPECT_NE(to_csv(table).find("USD/(GB/s) read,0.25,0.10"), std::string::npos);
}

TEST(Price, AMonthlyPriceIsSaidToBeOne) {
  const auto prices = parse_prices(
      "systems: {vm: {price_per_month: 256, bytes: 64GiB, values: {seq. read: 8}}}", "p");
  ASSERT_TRUE(prices) << prices.error().message();
  const auto table = price_table(*prices, {}).value();
  EXPECT_EQ(table.lines[0].label, "EUR/month (GB capacity)");
  EXPECT_EQ(table.lines[1].cells[0], "4.00");
  EXPECT_EQ(table.lines[2].cells[0], "0.50");
}

TEST(Price, EveryMistakeOfAFileIsNamedWithItsPlace) {
  const auto error = [](const char* yaml) {
    const auto prices = parse_prices(yaml, "p.yaml");
    return prices ? std::string("no error") : prices.error().detail;
  };
  EXPECT_EQ(
      error("systems:\n  a: {dimms: 2.5, price_per_dimm: -1, bytes_per_dimm: 1X, colour: red}\n"),
      "p.yaml:2:59: 'colour' is no key of a; there are hardware, dimms, price_per_dimm, "
      "bytes_per_dimm, price_per_month, bytes, where, values\n"
      "p.yaml:2:14: dimms must be a whole number up to 65536\n"
      "p.yaml:2:35: price_per_dimm must be a number above 0, it is '-1'\n"
      "p.yaml:2:55: bytes_per_dimm=\"1X\" is not a number of bytes; give for example 4096, 64M or "
      "1.5GiB");
  EXPECT_NE(error("systems: {a: {price_per_month: 5}}").find("a needs bytes"), std::string::npos);
  EXPECT_NE(error("systems: {a: {dimms: 1, price_per_dimm: x, bytes_per_dimm: 1X}}")
                .find("price_per_dimm must be a number above 0, it is 'x'"),
            std::string::npos);
  EXPECT_NE(error("systems: {a: {price_per_month: 5, bytes: 1G, values: {speed: 1}}}")
                .find("'speed' is the name of no measure"),
            std::string::npos);
  EXPECT_NE(error("measures: [{name: x, kind: y, operation: z}]\nsystems: {a: {price_per_month: 5, "
                  "bytes: 1G}}")
                .find("kind is 'y'"),
            std::string::npos);
  EXPECT_NE(error("systems: {a: {price_per_month: 5, bytes: 1G}, b: {dimms: 1, price_per_dimm: 1, "
                  "bytes_per_dimm: 1G}}")
                .find("some systems are priced per DIMM and some per month"),
            std::string::npos);
  for (const auto* broken :
       {"", "[", "systems:", "systems: 5", "- a", "a: b: c", "systems: {a: 1}"})
    EXPECT_NE(error(broken).find("p.yaml:"), std::string::npos) << broken;
  const auto unknown = price_table(table_3_2(), {{"mine", Document{}}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().detail.find("there are Apache-128"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::results
