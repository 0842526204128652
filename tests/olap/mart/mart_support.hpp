// mart_support.hpp: a small star of a user's own: sales, by customer, product and two days.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/base/random.hpp>
#include <holdfast/olap/mart/load.hpp>
#include <holdfast/olap/mart/mart_store.hpp>

#include "../star_support.hpp"

namespace holdfast::olap::mart {

inline sql::Type type_of(const std::string& name) {
  using sql::Kind;
  if (name == "INT") return sql::kIntType;
  if (name == "BIGINT") return sql::kBigIntType;
  if (name == "DOUBLE") return sql::kDoubleType;
  if (name == "BOOLEAN") return sql::kBooleanType;
  if (name == "DATE") return {Kind::kDate};
  if (name == "MONEY") return sql::decimal_type(12, 2);
  if (name == "RATE") return sql::decimal_type(5, 4);
  return sql::kStringType;
}

// Columns as "name TYPE", or "name TYPE>table".
inline Table table_of(const std::string& name, const std::vector<std::string>& columns) {
  Table table;
  table.name = name;
  for (const auto& text : columns) {
    const auto blank = text.find(' '), arrow = text.find('>');
    Column column{text.substr(0, blank), type_of(text.substr(blank + 1, arrow - blank - 1)), 0};
    if (arrow != std::string::npos)
      column.references = static_cast<std::uint32_t>(std::stoul(text.substr(arrow + 1)));
    table.columns.push_back(column);
  }
  return table;
}

inline Schema sales_schema() {
  Schema schema;
  schema.tables = {
      table_of("sales", {"id BIGINT", "customer BIGINT>1", "product STRING>2", "sold DATE>3",
                         "shipped DATE>3", "quantity INT", "price MONEY", "weight DOUBLE",
                         "channel STRING", "gift BOOLEAN", "serial BIGINT"}),
      table_of("customers", {"ckey BIGINT", "region STRING", "nation STRING", "credit MONEY"}),
      table_of("products", {"pkey STRING", "category STRING", "brand STRING", "size INT"}),
      table_of("days", {"day DATE", "year INT", "month INT", "holiday BOOLEAN"})};
  schema.tables[1].order = {1, 2};
  schema.tables[2].order = {1, 2};
  return schema;
}

using Lines = std::vector<std::string>;

inline std::string text_of_lines(const Lines& lines) {
  std::string text;
  for (const auto& line : lines)
    text += line + "\n";
  return text;
}

// Rows of all four tables, as lines of CSV without a header; NULL is an empty field.
struct SalesData {
  std::vector<Lines> tables{4};

  SalesData(std::uint64_t seed, std::size_t rows) {
    Random random(seed);
    const auto below = [&](std::uint64_t bound) { return random.below(bound); };
    const std::vector<std::string> regions{"ASIA", "EUROPE", "AFRICA", ""};
    for (std::size_t i = 0; i < 60; ++i)
      tables[1].push_back(std::to_string(7 * i + 3) + "," + regions[below(4)] + ",nation " +
                          std::to_string(below(9)) + "," +
                          (below(8) == 0 ? "" : std::to_string(below(100000)) + ".25"));
    for (std::size_t i = 0; i < 40; ++i)
      tables[2].push_back("p-" + std::to_string(i) + ",\"cat, " + std::to_string(i % 5) +
                          "\",brand" + std::to_string(below(12)) + "," +
                          (below(10) == 0 ? "" : std::to_string(below(50))));
    for (std::size_t i = 0; i < 28; ++i)
      tables[3].push_back("2026-02-" + std::string(i < 9 ? "0" : "") + std::to_string(i + 1) + "," +
                          std::to_string(2020 + i % 7) + "," + std::to_string(i % 12 + 1) + "," +
                          (i % 6 == 0 ? "true" : "false"));
    for (std::size_t i = 0; i < rows; ++i)
      tables[0].push_back(sale(i, below));
  }

  template <class Below>
  static std::string sale(std::size_t i, Below below) {
    const auto maybe = [&](std::uint64_t one_in, const std::string& text) {
      return below(one_in) == 0 ? std::string() : text;
    };
    const auto day = [&] {
      const auto number = below(28) + 1;
      return "2026-02-" + std::string(number < 10 ? "0" : "") + std::to_string(number);
    };
    std::string line = std::to_string(i);
    line += "," + maybe(12, std::to_string(7 * below(60) + 3));
    line += "," + maybe(15, "p-" + std::to_string(below(40)));
    line += "," + day() + "," + maybe(6, day());
    line += "," + maybe(20, std::to_string(below(50)));
    line += "," + maybe(20, std::to_string(below(10000)) + "." + std::to_string(10 + below(90)));
    line += "," + maybe(9, std::to_string(below(1000)) + ".5");
    line += "," + maybe(7, below(2) == 0 ? "web" : "shop");
    line += "," + maybe(11, below(2) == 0 ? "true" : "false");
    line += "," + std::to_string(below(std::uint64_t{1} << 40));
    return line;
  }
};

struct MartInDram {
  std::unique_ptr<Region> region;
  std::unique_ptr<MartStore> store;
};

inline MartInDram empty_mart(std::uint64_t bytes = 64 * MiB) {
  MartInDram mart;
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.size_bytes = options.unit_bytes = options.reserve_bytes = bytes;
  mart.region = std::make_unique<Region>(Region::open("dram", options).value());
  mart.store = MartStore::create(*mart.region).value();
  return mart;
}

inline Status read_lines(Load& load, std::uint32_t table, const Lines& lines, bool header = false) {
  const TemporaryDirectory directory;
  directory.write("t.csv", text_of_lines(lines));
  CsvFormat format;
  auto reader = CsvReader::open(directory.path() + "/t.csv", format).value();
  return load.read(table, reader, header);
}

inline Result<LoadReport> load_data(MartStore& store, const SalesData& data,
                                    UnknownKeys unknown = UnknownKeys::kRefuse) {
  HF_ASSIGN_OR_RETURN(auto load, Load::replace(store, sales_schema(), unknown));
  for (const std::uint32_t table : {1u, 2u, 3u, 0u})
    HF_RETURN_IF_ERROR(read_lines(load, table, data.tables[table]));
  return load.finish("sales");
}

inline Result<LoadReport> append_lines(MartStore& store, std::uint32_t table, const Lines& lines,
                                       UnknownKeys unknown = UnknownKeys::kRefuse) {
  HF_ASSIGN_OR_RETURN(auto load, Load::append(store, unknown));
  HF_RETURN_IF_ERROR(read_lines(load, table, lines));
  return load.finish("");
}

}  // namespace holdfast::olap::mart
