// Rows that are made: of the widest ranges, and from any place on.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {
namespace {

struct MadeRows {
  MadeRows(const std::string& column, const std::string& options) {
    const auto statements =
        sql::parse("CREATE TABLE t (" + column + ") WITH ('connector' = 'datagen', " +
                   "'rows-per-second' = '0', " + options + ")")
            .value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
    auto opened = open_source(*catalog.find("t", {}).value());
    if (!opened)
      wrong = opened.error().detail;
    else
      source = std::move(opened).value();
  }
  // Of its one column, as text; NULL as <>.
  std::vector<std::string> values() {
    const auto& type = catalog.find("t", {}).value()->columns[0].type;
    std::vector<std::string> all;
    sql::Row row(1);
    while (source->next(row).value())
      all.push_back(row[0].null ? "<>" : sql::text_of(row[0], type));
    return all;
  }
  sql::Catalog catalog;
  std::unique_ptr<Source> source;
  std::string wrong;  // Why there is none.
};

// The width of the range was a number of 64 bits with a sign.
TEST(Datagen, ARealMayBeAnywhereInTheWidestRange) {
  MadeRows made("d DOUBLE",
                "'number-of-rows' = '100', 'fields.d.min' = '-9223372036854775808', "
                "'fields.d.max' = '9223372036854775807'");
  sql::Row row(1);
  int below = 0, above = 0;
  while (made.source->next(row).value())
    ++(row[0].real < 0 ? below : above);
  EXPECT_GT(below, 20);
  EXPECT_GT(above, 20);
}

// It went on without end.
TEST(Datagen, ARunThatGoesOnBehindItsLastRowEnds) {
  MadeRows made("n BIGINT", "'number-of-rows' = '100'");
  ByteWriter position;
  position.number(150);  // Of a run with more rows.
  made.source->seek(position.take()).value();
  sql::Row row(1);
  EXPECT_FALSE(made.source->next(row).value());
  EXPECT_TRUE(made.source->ended());
}

// Decimals, times and rows were refused, so the first table of Flink's documentation did not run.
TEST(Datagen, TheFirstTableOfFlinksDocumentationIsMade) {
  MadeRows made(
      "order_number BIGINT, price DECIMAL(32, 2), buyer ROW<first_name STRING, last_name STRING>, "
      "order_time TIMESTAMP(3)",
      "'number-of-rows' = '20', 'fields.buyer.last_name.length' = '2'");
  ASSERT_EQ(made.wrong, "");
  const auto& columns = made.catalog.find("t", {}).value()->columns;
  std::set<std::string> prices, buyers;
  sql::Row row(4);
  while (made.source->next(row).value()) {
    prices.insert(sql::text_of(row[1], columns[1].type));
    buyers.insert(sql::text_of(row[2], columns[2].type));
    EXPECT_TRUE(sql::is_nested_value(row[2].text, columns[2].type));
    EXPECT_GT(row[3].number, sql::Int128{1'700'000'000'000});
  }
  EXPECT_EQ(prices.size(), 20u);
  EXPECT_GT(prices.rbegin()->size(), 20u) << "more digits than 64 bits have";
  ASSERT_EQ(buyers.size(), 20u);
  EXPECT_EQ(buyers.begin()->size(), 1 + 16 + 2 + 2 + 1u) << *buyers.begin();
}

TEST(Datagen, BoundsAreValuesOfTheColumn) {
  for (const auto& text : MadeRows("d DECIMAL(38, 2)",
                                   "'number-of-rows' = '50', 'fields.d.min' = '-0.01', "
                                   "'fields.d.max' = '0.01'")
                              .values())
    EXPECT_TRUE(text == "-0.01" || text == "0.00" || text == "0.01") << text;
  for (const auto& text : MadeRows("d DOUBLE",
                                   "'number-of-rows' = '50', 'fields.d.min' = '0.25', "
                                   "'fields.d.max' = '0.5'")
                              .values())
    EXPECT_TRUE(text >= "0.25" && text <= "0.5") << text;
  EXPECT_NE(MadeRows("n TINYINT", "'fields.n.max' = '128'").wrong, "");
  EXPECT_NE(MadeRows("b BOOLEAN", "'fields.b.max' = '2'").wrong, "");
  EXPECT_NE(MadeRows("d DECIMAL(4, 2)", "'fields.d.max' = '100'").wrong, "");
  EXPECT_NE(MadeRows("d DOUBLE", "'fields.d.max' = 'NaN'").wrong, "");
  EXPECT_NE(MadeRows("d DOUBLE", "'fields.d.min' = '2'").wrong, "") << "above the largest";
}

// What is added to a float has the float's digits, as in compiled code.
TEST(Datagen, AFloatHasNoMoreDigitsThanAFloat) {
  MadeRows made("f FLOAT", "'number-of-rows' = '20'");
  sql::Row row(1);
  while (made.source->next(row).value())
    EXPECT_EQ(row[0].real, static_cast<float>(row[0].real));
}

TEST(Datagen, SomeAreNull) {
  const auto values =
      MadeRows("n INT", "'number-of-rows' = '400', 'fields.n.null-rate' = '0.25'").values();
  const auto nulls = std::count(values.begin(), values.end(), "<>");
  EXPECT_GT(nulls, 50);
  EXPECT_LT(nulls, 150);
  EXPECT_NE(MadeRows("n INT", "'fields.n.null-rate' = '1.5'").wrong, "");
  EXPECT_NE(MadeRows("m MAP<INT, INT>", "'fields.m.key.null-rate' = '0.5'").wrong, "");
}

TEST(Datagen, LengthsMayDiffer) {
  std::set<std::size_t> lengths;
  for (const auto& text : MadeRows("s STRING",
                                   "'number-of-rows' = '100', 'fields.s.length' = '3', "
                                   "'fields.s.var-len' = 'true'")
                              .values())
    lengths.insert(text.size());
  EXPECT_EQ(lengths, (std::set<std::size_t>{1, 2, 3}));
  EXPECT_EQ(MadeRows("s VARCHAR(4)", "'number-of-rows' = '1'").values().front().size(), 4u);
}

TEST(Datagen, ArraysAndMapsHaveElements) {
  const auto arrays = MadeRows("a ARRAY<INT>",
                               "'number-of-rows' = '2', 'fields.a.length' = '2', "
                               "'fields.a.element.min' = '7', 'fields.a.element.max' = '7'")
                          .values();
  EXPECT_EQ(arrays, (std::vector<std::string>{"[7, 7]", "[7, 7]"}));
  const auto maps = MadeRows("m MAP<STRING, BOOLEAN>",
                             "'number-of-rows' = '1', 'fields.m.key.length' = '0', "
                             "'fields.m.value.max' = '0'")
                        .values();
  EXPECT_EQ(maps, (std::vector<std::string>{"{=false}"}));
  EXPECT_NE(MadeRows("a ARRAY<INT>", "'fields.a.element.kind' = 'sequence'").wrong, "");
  MadeRows large("a ARRAY<ARRAY<STRING>>",
                 "'number-of-rows' = '1', 'fields.a.length' = '1000', "
                 "'fields.a.element.length' = '1000', 'fields.a.element.element.length' = '30'");
  sql::Row row(1);
  EXPECT_FALSE(large.source->next(row)) << "more than 16 MiB";
}

TEST(Datagen, TimesAreOfTheClockOrBefore) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  MadeRows made("ts TIMESTAMP(3)", "'number-of-rows' = '50', 'fields.ts.max-past' = '10 d'");
  sql::Row row(1);
  sql::Int128 least = now;
  while (made.source->next(row).value()) {
    EXPECT_GE(row[0].number, sql::Int128{now} - 864'000'000);
    least = std::min(least, row[0].number);
  }
  EXPECT_LT(least, sql::Int128{now} - 86'400'000);
  EXPECT_NE(MadeRows("ts TIMESTAMP(3)", "'fields.ts.max-past' = 'long'").wrong, "");
  MadeRows dates("d DATE", "'number-of-rows' = '1'");
  ASSERT_TRUE(dates.source->next(row).value());
  EXPECT_GE(row[0].number, sql::Int128{now} / 86'400'000);
}

}  // namespace
}  // namespace holdfast::stream
