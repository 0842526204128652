// TIMESTAMP_LTZ(3) in a zone: the types of what is made of instants, and what plans say of them.
// The answers of all functions: tests/stream/time_zones_test.py.
#include <gtest/gtest.h>

#include <string>

#include <holdfast/sql/nested.hpp>

#include "answers.hpp"

namespace holdfast::sql {
namespace {

std::string table_in(const std::string& zone) {
  return "SET 'table.local-time-zone' = '" + zone +
         "';CREATE TABLE t (i TIMESTAMP_LTZ(3), w TIMESTAMP(3), d DATE) WITH ('connector' = "
         "'none');";
}

// 2024-10-27 01:30 UTC, the second 02:30 in Berlin; the wall clock and the day of it.
Row row_of_autumn() {
  const std::int64_t second = 1'729'992'600'000;
  return {Value::of(second), Value::of(second + 3'600'000), Value::of(second / 86'400'000)};
}

TEST(Instants, WhatIsMadeOfThem) {
  check(
      table_in("Europe/Berlin"), row_of_autumn(),
      {{"i", "TIMESTAMP_LTZ(3) in Europe/Berlin 2024-10-27 02:30:00.000"},
       {"w", "TIMESTAMP(3) 2024-10-27 02:30:00.000"},
       {"CAST(i AS TIMESTAMP(3)) = w", "BOOLEAN true"},
       {"i = w", "BOOLEAN false"},
       {"i > w", "BOOLEAN true"},
       {"TIMESTAMPDIFF(MINUTE, CAST(w AS TIMESTAMP_LTZ(3)), i)", "INT 60"},
       {"CAST(d AS TIMESTAMP_LTZ(3))", "TIMESTAMP_LTZ(3) in Europe/Berlin 2024-10-27 00:00:00.000"},
       {"FLOOR(i TO HOUR) = i", "BOOLEAN false"},
       {"TIMESTAMPDIFF(MINUTE, FLOOR(i TO HOUR), i)", "INT 30"},
       {"i + INTERVAL '1' HOUR", "TIMESTAMP_LTZ(3) in Europe/Berlin 2024-10-27 03:30:00.000"},
       {"EXTRACT(HOUR FROM i)", "BIGINT 2"},
       {"ARRAY[i]", "ARRAY<TIMESTAMP_LTZ(3) in Europe/Berlin> [2024-10-27 02:30:00.000]"},
       {"COALESCE(i, w)", "TIMESTAMP_LTZ(3) in Europe/Berlin 2024-10-27 02:30:00.000"},
       {"CAST('2024-10-27 01:30:00Z' AS TIMESTAMP_LTZ(3)) = i", "BOOLEAN true"},
       {"CAST('2024-10-27 02:30:00' AS TIMESTAMP_LTZ(3)) = i", "BOOLEAN false"}});
}

TEST(Instants, InUtcTheyAreTimestamps) {
  for (const char* zone : {"UTC", "GMT", "+00:00"}) {
    check(table_in(zone), row_of_autumn(),
          {{"i", "TIMESTAMP(3) 2024-10-27 01:30:00.000"}, {"i < w", "BOOLEAN true"}});
  }
}

TEST(Instants, Refused) {
  const auto refused = [](const std::string& expression) {
    return answer(table_in("Europe/Berlin"), row_of_autumn(), expression);
  };
  EXPECT_NE(refused("i = d").find("cannot be compared"), std::string::npos);
  EXPECT_NE(refused("TIMESTAMPDIFF(DAY, i, w)").find("write a CAST"), std::string::npos);
  EXPECT_NE(refused("TIMESTAMPDIFF(DAY, d, i)").find("write a CAST"), std::string::npos);
  EXPECT_NE(refused("CAST(i AS BIGINT)").find("there is no cast"), std::string::npos);
  EXPECT_NE(parse(table_in("Nowhere/At")).error().detail.find("'Europe/Berlin'"),
            std::string::npos);
  EXPECT_NE(parse(table_in("Europe/Berlin") + table_in("Europe/Paris"))
                .error()
                .detail.find("one time zone"),
            std::string::npos);
  EXPECT_TRUE(parse(table_in("Europe/Berlin") + table_in("Europe/Berlin")));
}

// Lord Howe's clocks go back by half an hour: 02:00 is 01:30 then. The distance to UTC of that 01:30
// is none of 01:00. Havana's go back at 01:00 to midnight: the day begins with the first one.
TEST(Instants, FloorGivesAWallClockThatIsShown) {
  const auto floored = [](const char* zone, std::int64_t instant, const char* unit) {
    const Row row = {Value::of(instant), Value(), Value()};
    return answer(table_in(zone), row, "FLOOR(i TO " + std::string(unit) + ")") + ", " +
           answer(table_in(zone), row,
                  "TIMESTAMPDIFF(MINUTE, FLOOR(i TO " + std::string(unit) + "), i)");
  };
  EXPECT_EQ(floored("Australia/Lord_Howe", 1'712'415'600'000, "HOUR"),
            "TIMESTAMP_LTZ(3) in Australia/Lord_Howe 2024-04-07 01:00:00.000, INT 60");
  EXPECT_EQ(floored("America/Havana", 1'730'611'800'000, "DAY"),
            "TIMESTAMP_LTZ(3) in America/Havana 2024-11-03 00:00:00.000, INT 90");
  EXPECT_EQ(floored("America/Havana", 1'730'611'800'000, "HOUR"),
            "TIMESTAMP_LTZ(3) in America/Havana 2024-11-03 00:00:00.000, INT 30");
}

// A checkpoint is told by them whether it is one of the query.
TEST(Instants, PlansOfTwoZonesHaveDifferentTexts) {
  const auto text = [](const char* zone, const std::string& query) {
    const auto columns = "CREATE TABLE t (n BIGINT) WITH ('connector' = 'none');";
    return text_of(
        plan_of_text("SET 'table.local-time-zone' = '" + std::string(zone) + "';" + columns, query)
            .value());
  };
  for (const char* expression :
       {"EXTRACT(HOUR FROM TO_TIMESTAMP_LTZ(n, 3))", "CAST(TO_TIMESTAMP_LTZ(n, 3) AS STRING)",
        "CAST(TO_TIMESTAMP_LTZ(n, 3) AS DATE)", "FROM_UNIXTIME(n)",
        "DATE_FORMAT(FLOOR(TO_TIMESTAMP_LTZ(n, 3) TO DAY), 'dd')"}) {
    const auto query = "SELECT 1 FROM t GROUP BY " + std::string(expression);
    EXPECT_NE(text("Europe/Berlin", query), text("Asia/Tokyo", query)) << expression;
    EXPECT_NE(text("Europe/Berlin", query), text("UTC", query)) << expression;
  }
  EXPECT_EQ(text("Europe/Berlin", "SELECT n FROM t"), text("UTC", "SELECT n FROM t"));
}

}  // namespace
}  // namespace holdfast::sql
