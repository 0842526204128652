// Queries to a star of a user's own: by a grammar against an evaluation row by row, and the cases
// that have names.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/olap/mart/star_answer.hpp>
#include <holdfast/olap/mart/star_scan.hpp>

#include "dull_star.hpp"
#include "mart_support.hpp"
#include "random_query.hpp"

namespace holdfast::olap::mart {
namespace {

std::vector<std::string> rows_of(const StarAnswer& answer) {
  std::vector<std::string> rows;
  for (const auto& row : answer.rows) {
    auto& text = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      text += DullStar::text_of(row[i], answer.types[i]) + "|";
  }
  return rows;
}

Result<StarAnswer> ask(const MartStore& store, const std::string& text, unsigned threads = 1,
                       VectorWidth width = VectorWidth::kAvx512) {
  Team team(threads);
  return answer(text, *store.version(), team, width);
}

std::vector<std::string> rows(const MartStore& store, const std::string& text) {
  auto found = ask(store, text);
  EXPECT_TRUE(found) << (found ? "" : found.error().detail);
  return found ? rows_of(*found) : std::vector<std::string>();
}

// What a plan with a limit leaves.
std::vector<std::string> cut(std::vector<std::string> rows, const StarPlan& plan) {
  const auto first = std::min<std::uint64_t>(plan.offset, rows.size());
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first));
  if (rows.size() > plan.limit) rows.resize(plan.limit);
  return rows;
}

// Rows of an answer that is as the dull one; `seed` says with how many threads, and which vectors.
std::size_t compare(const MartStore& store, const DullStar& dull, const std::string& text,
                    std::uint64_t seed) {
  const auto version = store.version();
  auto plan = plan_star(text, version->schema());
  EXPECT_TRUE(plan) << "seed " << seed << ": " << text << "\n" << plan.error().detail;
  if (!plan) return 0;
  auto expected = dull.answer(*plan);
  const bool whole = plan->order.size() == plan->keys.size() || !plan->grouped;
  expected = cut(std::move(expected), *plan);
  Team team(1 + static_cast<unsigned>(seed % 4));
  const auto width = seed % 2 == 0 ? VectorWidth::kAvx512 : VectorWidth::kPortable;
  auto found = answer(*plan, *version, team, width);
  EXPECT_TRUE(found) << "seed " << seed << ": " << text << "\n" << found.error().detail;
  if (!found) return 0;
  auto seen = rows_of(*found);
  if (plan->order.empty() || !whole)
    std::sort(seen.begin(), seen.end()), std::sort(expected.begin(), expected.end());
  EXPECT_EQ(seen, expected) << "seed " << seed << ": " << text;
  return seen.size();
}

void compare_all(const MartStore& store, const SalesData& data, std::uint64_t first,
                 std::uint64_t count) {
  const auto version = store.version();
  const DullStar dull(version->schema(), data);
  std::size_t with_rows = 0;
  for (auto seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed)
    with_rows += compare(store, dull, RandomQuery(seed).text(), seed) > 1 ? 1 : 0;
  EXPECT_GT(with_rows, count / 3);  // Most queries find something.
}

// Of every form: words, doubles, 128 bits, texts; with NULLs, in groups and in one, and what
// several workers gathered.
TEST(MartQuery, AggregatesOfDistinctValuesAndOfAllForms) {
  auto mart = empty_mart(256 * MiB);
  const SalesData data(9, 66'000);
  load_data(*mart.store, data).value();
  const auto version = mart.store->version();
  const DullStar dull(version->schema(), data);
  for (const std::string of :
       {"quantity", "id", "price", "CAST(price AS DECIMAL(30, 4))", "weight", "sold", "gift"}) {
    std::string text = "SELECT COUNT(DISTINCT " + of + "), MIN(" + of + "), MAX(DISTINCT " + of +
                       "), MAX(" + of + ") FILTER (WHERE quantity > 3)";
    if (of != "sold" && of != "gift" && of != "weight")
      text += ", SUM(DISTINCT " + of + "), AVG(DISTINCT " + of + ")";
    for (const char* rest : {" FROM sales", " FROM sales GROUP BY customer, gift"})
      EXPECT_GT(compare(*mart.store, dull, text + rest, 3), 0u);
  }
  for (const std::string of : {"channel", "product", "channel || product"}) {
    const auto text = "SELECT COUNT(DISTINCT " + of + "), MIN(" + of + "), MAX(" + of + ")";
    EXPECT_GT(compare(*mart.store, dull, text + " FROM sales", 2), 0u);
    EXPECT_GT(compare(*mart.store, dull, text + " FROM sales GROUP BY sold", 7), 1u);
  }
  // Texts that an index leads to count by their numbers.
  for (const std::string of : {"region", "NULLIF(region, 'ASIA')", "UPPER(channel)", "nation"}) {
    const auto text = "SELECT COUNT(DISTINCT " + of + "), COUNT(DISTINCT " + of +
                      ") FILTER (WHERE id > 9) FROM sales LEFT JOIN customers ON customer = ckey";
    EXPECT_GT(compare(*mart.store, dull, text, 3), 0u);
    EXPECT_GT(compare(*mart.store, dull, text + " GROUP BY sold", 2), 1u);
  }
  EXPECT_GT(compare(*mart.store, dull,
                    "SELECT MAX(CAST(price AS DOUBLE)), "
                    "MIN(CAST(id AS DOUBLE)), MIN(TRY_CAST(price AS DOUBLE)) "
                    "FROM sales GROUP BY channel",
                    3),
            1u);
}

TEST(MartQuery, RandomQueriesAreThoseOfAnEvaluationRowByRow) {
  auto mart = empty_mart();
  const SalesData data(1, 3000);
  load_data(*mart.store, data).value();
  compare_all(*mart.store, data, 1, 400);
}

TEST(MartQuery, AfterAppendsOfAllTablesAndAfterAMerge) {
  auto mart = empty_mart();
  SalesData data(2, 500);
  load_data(*mart.store, data).value();
  Random random(3);
  for (int part = 0; part < 5; ++part) {
    Lines lines;
    for (std::size_t i = 0; i < 100; ++i)
      lines.push_back(SalesData::sale(1000 * static_cast<std::size_t>(part) + i,
                                      [&](std::uint64_t bound) { return random.below(bound); }));
    const auto key = std::to_string(9000 + part);
    const Lines customer{key + ",OCEANIA,nation " + key + ",7.00"};
    append_lines(*mart.store, 1, customer).value();
    lines.push_back("77," + key + ",p-1,2026-02-03,,5,10.00,,web,true,9");
    append_lines(*mart.store, 0, lines).value();
    data.tables[0].insert(data.tables[0].end(), lines.begin(), lines.end());
    data.tables[1].push_back(customer[0]);
  }
  EXPECT_EQ(rows(*mart.store,
                 "SELECT COUNT(*) FROM sales JOIN customers ON customer = ckey "
                 "WHERE region = 'OCEANIA'"),
            std::vector<std::string>{"5|"});
  compare_all(*mart.store, data, 1000, 60);
  EXPECT_GT(small_blocks(mart.store->version()->catalogue()), 5u);
  merge(*mart.store).value();
  EXPECT_EQ(small_blocks(mart.store->version()->catalogue()), 0u);
  EXPECT_TRUE(mart.store->version()->verify().empty());
  compare_all(*mart.store, data, 2000, 60);
}

TEST(MartQuery, ManyBlocksAndMoreGroupsThanAnArrayHolds) {
  auto mart = empty_mart(256 * MiB);
  const SalesData data(4, 200'000);
  load_data(*mart.store, data).value();
  EXPECT_GT(mart.store->version()->catalogue().tables[0].blocks.size(), 3u);
  EXPECT_EQ(rows(*mart.store, "SELECT COUNT(*) FROM sales"), std::vector<std::string>{"200000|"});
  const std::string by_id = "SELECT id, COUNT(*) AS n, SUM(quantity) FROM sales GROUP BY id";
  for (const unsigned threads : {1u, 2u, 8u}) {
    const auto found = ask(*mart.store, by_id, threads).value();
    ASSERT_EQ(found.rows.size(), 200'000u);
    sql::Int128 ids = 0;
    for (const auto& row : found.rows) {
      ids += row[0].number;
      ASSERT_TRUE(row[1].number == 1);
    }
    EXPECT_TRUE(ids == sql::Int128{199'999} * 100'000);
  }
  // Rows of the first blocks, however many threads there are.
  for (const unsigned threads : {1u, 8u}) {
    const auto first = ask(*mart.store, "SELECT id FROM sales LIMIT 3 OFFSET 5", threads).value();
    EXPECT_EQ(rows_of(first), (std::vector<std::string>{"5|", "6|", "7|"}));
  }
  const auto last = ask(*mart.store, "SELECT id FROM sales ORDER BY id DESC LIMIT 2", 8).value();
  EXPECT_EQ(rows_of(last), (std::vector<std::string>{"199999|", "199998|"}));
  // Blocks whose bounds rule them out are not read.
  const auto few = ask(*mart.store, "SELECT SUM(quantity) FROM sales WHERE id < 10").value();
  EXPECT_EQ(few.counts.passed, 10u);
}

// Many rows share a place in the order; the first ones are those that are stored first, whichever
// worker came to them. The scan keeps some more than are wanted, not all.
TEST(MartQuery, AnOrderWithALimitKeepsNoRowsThatTheAnswerCannotHave) {
  auto mart = empty_mart(256 * MiB);
  SalesData data(11, 20'000);
  load_data(*mart.store, data).value();
  const auto more = data.tables[0];  // A block for the second worker.
  append_lines(*mart.store, 0, more).value();
  data.tables[0].insert(data.tables[0].end(), more.begin(), more.end());
  const auto version = mart.store->version();
  const DullStar dull(version->schema(), data);
  std::uint64_t seed = 0;
  for (const std::string order : {"quantity", "gift DESC NULLS LAST, channel", "id DESC"}) {
    const auto text = "SELECT id, channel FROM sales ORDER BY " + order + " LIMIT ";
    for (const char* limit : {"0", "7 OFFSET 3", "40 OFFSET 9000"})
      compare(*mart.store, dull, text + limit, ++seed);
    const auto plan = plan_star(text + "7", version->schema());
    Team team(2);
    const auto scanned = scan(*version, *plan, team, VectorWidth::kAvx512);
    EXPECT_LT(scanned->rows.size(), 30'000u) << order;
    EXPECT_EQ(scanned->counts.passed, 40'000u);
  }
  EXPECT_EQ(rows(*mart.store, "SELECT id FROM sales ORDER BY id DESC LIMIT 3"),
            (std::vector<std::string>{"19999|", "19999|", "19998|"}));
}

// Also where the rows that are dropped are the ones that make it.
TEST(MartQuery, AnOrderWithALimitHidesNoError) {
  auto mart = empty_mart(256 * MiB);
  load_data(*mart.store, SalesData(11, 30'000)).value();
  for (const char* direction : {"", " DESC"})
    EXPECT_EQ(ask(*mart.store, std::string("SELECT 1 / (id - 20000) FROM sales ORDER BY id") +
                                   direction + " LIMIT 1")
                  .error()
                  .detail,
              "line 1, column 10: division by zero");
}

TEST(MartQuery, SumsHave128BitsAndWhatDoesNotFitIsAnError) {
  auto mart = empty_mart();
  SalesData data(5, 0);
  for (int i = 0; i < 8; ++i)
    data.tables[0].push_back(std::to_string(i) + ",,,2026-02-01,,1,1.00,,,,9000000000000000000");
  load_data(*mart.store, data).value();
  EXPECT_EQ(rows(*mart.store, "SELECT SUM(CAST(serial AS DECIMAL(38, 0))) FROM sales"),
            std::vector<std::string>{"72000000000000000000|"});
  EXPECT_EQ(rows(*mart.store, "SELECT AVG(serial) FROM sales"),
            std::vector<std::string>{"9000000000000000000|"});
  const auto sum = ask(*mart.store, "SELECT SUM(serial) FROM sales");
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().detail,
            "line 1, column 8: the sum does not fit BIGINT; SUM(CAST(… AS DECIMAL(38, 0))) holds "
            "more");
  const auto product = ask(*mart.store, "SELECT MAX(serial * (quantity + 1)) FROM sales");
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().detail,
            "line 1, column 19: the result does not fit BIGINT; CAST an operand to DECIMAL(38, 0)");
}

std::string message_of(const MartStore& store, const std::string& text) {
  const auto found = ask(store, text);
  return found ? "" : found.error().detail;
}

// The type of a literal was INT, and so was that of its sum: a count by CASE ended at 2^31.
TEST(MartQuery, SumsOfLiteralsAndOfLengthsHaveTheRoomOfABigint) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(5, 30)).value();
  EXPECT_EQ(
      rows(*mart.store,
           "SELECT SUM(2000000000), SUM(CASE WHEN id >= 0 THEN 2000000000 ELSE 0 END), "
           "SUM(CHAR_LENGTH('abc') * 1000000000), SUM(CAST(100 AS TINYINT)), "
           "AVG(2147483647 + 1), MAX(2147483647) + 1 FROM sales"),
      std::vector<std::string>{"60000000000|60000000000|90000000000|3000|2147483648|2147483648|"});
  EXPECT_EQ(rows(*mart.store,
                 "SELECT 2000000000 * 2, COUNT(*) FROM sales "
                 "WHERE id < 1000000 * 1000000 GROUP BY 2000000000 * 2 "
                 "HAVING COUNT(*) * 2000000000 > 0 ORDER BY 2000000000 * 2"),
            std::vector<std::string>{"4000000000|30|"});
  EXPECT_EQ(message_of(*mart.store, "SELECT SUM(CAST(200 AS TINYINT)) FROM sales"),
            "line 1, column 12: '200' is no TINYINT; TRY_CAST gives NULL");
}

TEST(MartQuery, WhatNoRowReachesIsNoError) {
  auto mart = empty_mart();
  SalesData data(6, 100);
  data.tables[1].push_back("90001,ZERO,none,0.00");
  load_data(*mart.store, data).value();
  // The customer whose credit is 0 has bought nothing; nobody divides by it.
  EXPECT_EQ(rows(*mart.store,
                 "SELECT COUNT(*) FROM sales JOIN customers ON customer = ckey WHERE credit <> 0 "
                 "AND 100 / credit < 0"),
            std::vector<std::string>{"0|"});
  EXPECT_EQ(rows(*mart.store,
                 "SELECT SUM(CASE WHEN quantity = 0 THEN 0 ELSE 10 / quantity END) > 0 FROM sales"),
            std::vector<std::string>{"true|"});
  const auto failed = ask(*mart.store, "SELECT SUM(10 / (quantity - quantity)) FROM sales");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().detail, "line 1, column 15: division by zero");
}

TEST(MartQuery, ErrorsSayWhereAndWhatToDo) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(7, 10)).value();
  const auto error = [&](const std::string& text) {
    const auto found = ask(*mart.store, text);
    return found ? std::string("no error") : found.error().detail;
  };
  EXPECT_EQ(error("SELECT 1 FROM orders"),
            "line 1, column 15: there is no table orders; the star has sales, customers, "
            "products, days");
  EXPECT_EQ(error("SELECT COUNT(*) FROM sales, customers"),
            "line 1, column 29: customers without a join by its key is not supported; write ON "
            "sales.customer = customers.ckey");
  EXPECT_EQ(error("SELECT region, COUNT(*) FROM sales JOIN customers ON customer = ckey"),
            "line 1, column 8: region is neither in GROUP BY nor in an aggregate");
  EXPECT_NE(error("SELECT regoin FROM customers").find("column 8"), std::string::npos);
  EXPECT_NE(error("SELECT COUNT(*) FROM sales RIGHT JOIN customers ON customer = ckey")
                .find("is not supported"),
            std::string::npos);
  EXPECT_NE(error("SELECT").find("line 1"), std::string::npos);
  EXPECT_EQ(error("SELECT COUNT(*) FROM sales LEFT JOIN customers ON customer = ckey "
                  "AND region = 'ASIA'"),
            "line 1, column 28: a condition of a LEFT JOIN beside its key is not supported; write "
            "CASE WHEN … THEN … END where its columns are read; WHERE drops rows of the fact");
  EXPECT_EQ(error("SELECT COUNT(*) FROM sales WHERE id = (SELECT MAX(ckey) FROM customers)"),
            "line 1, column 39: a sub-query as a value here is not supported; over streams it can "
            "stand in SELECT, WHERE and HAVING, outside of aggregates");
  EXPECT_EQ(error("SELECT region, COUNT(*) FROM customers GROUP BY ROLLUP(region)"),
            "line 1, column 56: GROUPING SETS, ROLLUP or CUBE in a query to a star is not "
            "supported; ask once for each set");
  EXPECT_EQ(error("SELECT GROUPING(region) FROM customers GROUP BY region"),
            "line 1, column 8: GROUPING in a query to a star is not supported");
  EXPECT_EQ(
      error("SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM sales"),
      "line 1, column 12: OVER in a query to a star is not supported; ORDER BY and LIMIT rank "
      "the rows of an answer");
  EXPECT_EQ(error("SELECT 1 + SUM(price) OVER w FROM sales"),
            "line 1, column 23: there is no WINDOW w");
  EXPECT_EQ(error("SELECT id FROM sales WHERE COUNT(*) OVER (ORDER BY id) > 1"),
            "line 1, column 28: OVER belongs to the columns of a SELECT");
  EXPECT_EQ(error("SELECT SUM(a.price) FROM sales a JOIN sales b ON a.id = b.id"),
            "line 1, column 39: sales, the fact, twice in FROM is not supported");
  EXPECT_EQ(error("SELECT COUNT(*) FROM sales JOIN days d ON sold = d.day AND shipped = d.day"),
            "line 1, column 68: a second key, shipped, of d, which is joined by sold, is not "
            "supported; write JOIN days AS d_shipped ON shipped = d_shipped.day; or AND sold = "
            "shipped where both lead to one row");
  EXPECT_EQ(error("SELECT region FROM customers JOIN days ON ckey = year"),
            "line 1, column 35: days without a join by its key is not supported; dimensions are "
            "joined by keys of the fact, sales: name it in FROM, too");
  EXPECT_EQ(
      error("SELECT region FROM customers AS c (a, b)"),
      "line 1, column 20: an alias with names of columns is not supported; write AS in SELECT");
  EXPECT_EQ(error("SELECT region FROM customers CROSS JOIN UNNEST(ARRAY[1]) AS t (a)"),
            "line 1, column 41: anything but a table in FROM is not supported");
  EXPECT_EQ(error("SELECT none.* FROM customers"),
            "line 1, column 8: there is no table none in this query");
  EXPECT_EQ(error("SELECT COUNT(*) FROM customers GROUP BY 1"),
            "line 1, column 41: an aggregate cannot stand in GROUP BY");
  EXPECT_EQ(error("SELECT COUNT(*) FROM customers GROUP BY 2"),
            "line 1, column 41: there is no column 2 to group by");
  EXPECT_EQ(error("SELECT region FROM customers ORDER BY 2"),
            "line 1, column 39: there is no column 2 to order by");
}

// What the query says is wrong; nothing: no error.
TEST(MartQuery, NumbersOverGroupsAndOfLiteralsDoNotWrap) {
  auto mart = empty_mart();
  SalesData data(5, 0);
  data.tables[0] = {"1,,,2026-02-01,,1,1.00,,,,3000000000000000000"};
  load_data(*mart.store, data).value();
  const std::string hint = "; CAST an operand to DECIMAL(38, 0)";
  EXPECT_EQ(message_of(*mart.store, "SELECT SUM(serial) * 10 FROM sales"),
            "line 1, column 20: the result does not fit BIGINT" + hint);
  EXPECT_EQ(message_of(*mart.store, "SELECT serial * 10 FROM sales GROUP BY serial"),
            "line 1, column 15: the result does not fit BIGINT" + hint);
  EXPECT_EQ(message_of(*mart.store, "SELECT id FROM sales GROUP BY id HAVING SUM(serial) * 10 > 0"),
            "line 1, column 53: the result does not fit BIGINT" + hint);
  EXPECT_EQ(message_of(*mart.store, "SELECT id FROM sales GROUP BY id ORDER BY SUM(serial) * 10"),
            "line 1, column 55: the result does not fit BIGINT" + hint);
  EXPECT_EQ(message_of(*mart.store, "SELECT 9223372036854775807 + 1 FROM sales"),
            "line 1, column 28: the result does not fit BIGINT" + hint);
  EXPECT_EQ(message_of(*mart.store, "SELECT -(-9223372036854775807 - quantity) FROM sales"),
            "line 1, column 8: the result does not fit BIGINT" + hint);
  EXPECT_EQ(message_of(*mart.store, "SELECT ABS(-9223372036854775807 - quantity) FROM sales"),
            "line 1, column 8: the result does not fit BIGINT" + hint);
  // What no row needs is no error.
  EXPECT_EQ(rows(*mart.store,
                 "SELECT CASE WHEN id = 2 THEN 9223372036854775807 + 1 ELSE SUM(quantity) * 7 END "
                 "FROM sales GROUP BY id"),
            std::vector<std::string>{"7|"});
}

TEST(MartQuery, ACastToANarrowerTypeDoesNotWrap) {
  auto mart = empty_mart();
  SalesData data(5, 0);
  data.tables[0] = {"1,,,2026-02-01,,1,1.00,1e300,,,3000000000000000000"};
  load_data(*mart.store, data).value();
  EXPECT_EQ(message_of(*mart.store, "SELECT CAST(serial AS INT) FROM sales"),
            "line 1, column 8: '3000000000000000000' is no INT; TRY_CAST gives NULL");
  EXPECT_EQ(message_of(*mart.store, "SELECT CAST(weight AS BIGINT) FROM sales"),
            "line 1, column 8: '1e+300' is no BIGINT; TRY_CAST gives NULL");
  EXPECT_EQ(message_of(*mart.store, "SELECT CAST(300 AS TINYINT) FROM sales"),
            "line 1, column 8: '300' is no TINYINT; TRY_CAST gives NULL");
  EXPECT_EQ(rows(*mart.store,
                 "SELECT TRY_CAST(serial AS INT), TRY_CAST(weight AS BIGINT), CAST(id AS INT), "
                 "TRY_CAST(SUM(serial) AS INT) FROM sales GROUP BY id, serial, weight"),
            std::vector<std::string>{"NULL|NULL|1|NULL|"});
}

// It wrapped as the INT of streams does.
TEST(MartQuery, TimesFarApartDifferByABigint) {
  auto mart = empty_mart();
  SalesData data(5, 0);
  data.tables[0] = {"1,,,2026-02-01,,1,1.00,,web,,1"};
  load_data(*mart.store, data).value();
  const std::string seconds = "TIMESTAMPDIFF(SECOND, TIMESTAMP '1900-01-01 00:00:00', sold)";
  EXPECT_EQ(
      rows(*mart.store,
           "SELECT " + seconds + ", SUM(" + seconds +
               "), TIMESTAMPDIFF(SECOND, TIMESTAMP "
               "'0001-01-01 00:00:00', TIMESTAMP '9999-12-31 23:59:59') FROM sales GROUP BY sold"),
      std::vector<std::string>{"3978892800|3978892800|315537897599|"});
}

// They were cut to the bytes of the type.
TEST(MartQuery, WholeNumbersInArraysRowsAndMapsDoNotWrap) {
  auto mart = empty_mart();
  SalesData data(5, 0);
  data.tables[0] = {"1,,,2026-02-01,,1,1.00,,web,,1"};
  load_data(*mart.store, data).value();
  for (const char* const of :
       {"ARRAY[100000 * 100000, 1][1]", "ROW(100000 * 100000, 1)", "MAP['a', 100000 * 100000]['a']",
        "ARRAY_CONTAINS(ARRAY[1410065408], 100000 * 100000)"})
    EXPECT_NE(message_of(*mart.store, std::string("SELECT ") + of + " FROM sales")
                  .find("'10000000000' is no INT"),
              std::string::npos)
        << of << message_of(*mart.store, std::string("SELECT ") + of + " FROM sales");
  EXPECT_EQ(message_of(*mart.store, "SELECT CAST(ARRAY[id, 300] AS ARRAY<TINYINT>)[2] FROM sales"),
            "line 1, column 8: '[1, 300]' is no ARRAY<TINYINT>; TRY_CAST gives NULL");
  EXPECT_EQ(rows(*mart.store,
                 "SELECT TRY_CAST(ARRAY[id, 300] AS ARRAY<TINYINT>), CAST(ARRAY[id, 30] AS "
                 "ARRAY<TINYINT>), "
                 "TRY_CAST(ARRAY[ARRAY[weight, 1e300]] AS ARRAY<ARRAY<INT>>), "
                 "ARRAY[2 * 3, 1][1], ARRAY[CAST(100000 * 100000 AS BIGINT), 1][1], ARRAY[id * "
                 "3000000000, 1][1] FROM sales"),
            std::vector<std::string>{"NULL|[1, 30]|NULL|6|10000000000|3000000000|"});
}

// They crashed: the path into the JSON was not there when a row came.
TEST(MartQuery, FunctionsThatAreMadeReadyWhenTheyAreBound) {
  auto mart = empty_mart();
  SalesData data(5, 0);
  data.tables[0] = {"1,,,2026-02-01,,1,1.00,,[7],,1"};
  load_data(*mart.store, data).value();
  EXPECT_EQ(rows(*mart.store, "SELECT JSON_VALUE(channel, '$[0]'), channel IS JSON FROM sales"),
            std::vector<std::string>{"7|true|"});
  EXPECT_EQ(rows(*mart.store, "SELECT JSON_VALUE(MAX(channel), '$[0]') FROM sales"),
            std::vector<std::string>{"7|"});
}

TEST(MartQuery, TheClockStandsStillWhileAQueryRuns) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(9, 66'000)).value();
  EXPECT_EQ(rows(*mart.store,
                 "SELECT COUNT(DISTINCT NOW()), COUNT(*) FILTER (WHERE NOW() > "
                 "TIMESTAMP '2020-01-01 00:00:00') FROM sales"),
            std::vector<std::string>{"1|66000|"});
}

TEST(MartQuery, ArraysRowsAndMapsAreValues) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(7, 10)).value();
  EXPECT_EQ(rows(*mart.store,
                 "SELECT ARRAY[id, 5], CARDINALITY(ARRAY[id, id]), MAP['a', id]['a'] FROM sales "
                 "WHERE id = 3"),
            std::vector<std::string>{"[3, 5]|2|3|"});
  EXPECT_EQ(rows(*mart.store,
                 "SELECT ARRAY[id - id] AS a, COUNT(*), COUNT(DISTINCT ARRAY[id]) FROM sales "
                 "GROUP BY ARRAY[id - id]"),
            std::vector<std::string>{"[0]|10|10|"});
  EXPECT_EQ(message_of(*mart.store, "SELECT id FROM sales ORDER BY ARRAY[id]"),
            "line 1, column 31: ORDER BY ARRAY<BIGINT> is not supported; name a field or an "
            "element of it");
}

// Rows of the dimension that nobody's key leads to would be missing.
TEST(MartQuery, ALeftJoinOfTheFactIsRefused) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(8, 5)).value();
  EXPECT_EQ(
      message_of(*mart.store, "SELECT COUNT(*) FROM customers LEFT JOIN sales ON customer = ckey"),
      "line 1, column 42: a LEFT JOIN of sales, the fact, is not supported; write FROM sales "
      "LEFT JOIN …, which keeps the rows of the fact");
}

TEST(MartQuery, ADimensionAloneIsATable) {
  auto mart = empty_mart();
  load_data(*mart.store, SalesData(8, 0)).value();
  EXPECT_EQ(rows(*mart.store, "SELECT COUNT(*), MIN(day), MAX(year) FROM days"),
            std::vector<std::string>{"28|2026-02-01|2026|"});
  EXPECT_EQ(rows(*mart.store, "SELECT DISTINCT category FROM products ORDER BY 1 DESC LIMIT 1"),
            std::vector<std::string>{"cat, 4|"});
}

}  // namespace
}  // namespace holdfast::olap::mart
