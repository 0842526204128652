// Plans are told apart by their texts: by them an operator is made once, and a checkpoint knows its
// query.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/sql/secrets.hpp>

#include "answers.hpp"

namespace holdfast::sql {
namespace {

const std::string kPlanTable =
    "SET 'table.local-time-zone' = 'Europe/Berlin'; "
    "CREATE TABLE t (i INT, big BIGINT, d DECIMAL(10, 2), r DOUBLE, f FLOAT, s STRING, c BOOLEAN, "
    "ts TIMESTAMP(3), dt DATE, a ARRAY<BIGINT>) WITH ('connector' = 'none');";

std::string text_of_query(const std::string& query) {
  const auto plan = plan_of_text(kPlanTable, query);
  return plan ? text_of(*plan) : "error: " + plan.error().detail;
}

std::string long_text(char last) { return "'" + std::string(5'000, 'x') + last + "'"; }

// They were in checkpoints, in `explain` and on the page of running streams.
TEST(PlanText, HasNoPasswords) {
  const auto text = [](const std::string& password) {
    const auto plan = plan_of_text(
        "CREATE TABLE t (i INT) WITH ('connector' = 'none', 'properties.sasl.password' = '" +
            password + "', 'path' = 'p', 'properties.ssl.key.pem' = '" + password + "');",
        "SELECT i FROM t");
    return text_of(*plan);
  };
  const auto shown = text("hunter2");
  EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
  EXPECT_NE(shown.find("'properties.sasl.password' = '…', 'path' = 'p'"), std::string::npos)
      << shown;
  EXPECT_EQ(text("another"), shown) << "a checkpoint goes on with a new password";
  // As earlier builds wrote it.
  auto earlier = shown;
  for (auto at = earlier.find(kSecret); at != std::string::npos; at = earlier.find(kSecret))
    earlier.replace(at, kSecret.size(), "hun' = 'ter2");
  EXPECT_EQ(without_secrets(earlier), shown);
  EXPECT_EQ(without_secrets(shown), shown);
  for (const std::string odd : {"", "' = '", "password' = '", "'password' = '", "'password' = 'x"})
    EXPECT_EQ(without_secrets(odd), odd);
}

// Of each pair a UNION ALL had rows of one of the two twice, and none of the other.
TEST(PlanText, OperatorsThatDifferAreNotOne) {
  const auto values = [](const std::string& rows) {
    return "SELECT x FROM (VALUES " + rows + ") AS v(x)";
  };
  const auto where = [](const std::string& condition) {
    return "SELECT i FROM t WHERE " + condition;
  };
  const auto sum = [](const std::string& of) {
    return "SELECT CAST(MAX(" + of + ") AS DOUBLE) FROM t";
  };
  const std::string early = "TO_TIMESTAMP_LTZ(1729989000000, 3)";
  const std::string late = "TO_TIMESTAMP_LTZ(1729992600000, 3)";
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {values("('a'), ('b')"), values("('a''), (''b')")},
      {values("(" + long_text('1') + ")"), values("(" + long_text('2') + ")")},
      {values("(ARRAY['a, b'])"), values("(ARRAY['a', 'b'])")},
      {values("(" + early + ")"), values("(" + late + ")")},
      {values("(1)"), values("('1')")},
      {values("(1)"), values("(CAST(1 AS BIGINT))")},
      {values("(1.5), (2.5)"), values("(CAST(1.5 AS DECIMAL(9, 1))), (2.5)")},
      {values("(TRUE)"), values("('true')")},
      {values("(0.5)"), values("(CAST(0.5 AS DOUBLE))")},
      {where("TO_TIMESTAMP_LTZ(big, 3) = " + early), where("TO_TIMESTAMP_LTZ(big, 3) = " + late)},
      {where("d / 3 = 0.333333"), where("d / CAST(3 AS DECIMAL(1, 0)) = 0.333333")},
      {where("d / 3 = 0.333333"), where("d / 3. = 0.333333")},
      {where("d * 2.0 = r"), where("d * CAST(2 AS DECIMAL(20, 1)) = r")},
      {sum("CASE WHEN c THEN 2147483647 ELSE 1 END + CASE WHEN c THEN 1 ELSE 0 END"),
       sum("CASE WHEN c THEN CAST(2147483647 AS BIGINT) ELSE 1 END + CASE WHEN c THEN 1 ELSE 0 "
           "END")},
      {"SELECT LISTAGG(s, " + long_text('1') + ") FROM t",
       "SELECT LISTAGG(s, " + long_text('2') + ") FROM t"},
      {"SELECT COUNT(DISTINCT CASE WHEN c THEN DATE '2026-01-01' ELSE DATE '2026-01-02' END) FROM "
       "t",
       "SELECT COUNT(DISTINCT CASE WHEN c THEN '2026-01-01' ELSE '2026-01-02' END) FROM t"}};
  for (const auto& [one, other] : pairs) {
    EXPECT_TRUE(text_of_query(one).starts_with("Sink")) << one << text_of_query(one);
    EXPECT_TRUE(text_of_query(other).starts_with("Sink")) << other << text_of_query(other);
    EXPECT_NE(text_of_query(one), text_of_query(other)) << one.substr(0, 300);
  }
}

// A checkpoint of an earlier build is taken where the query has no literal that the text left open.
TEST(PlanText, StaysAsItWasWhereItSaidAll) {
  const auto filter = [](const std::string& condition) {
    const auto text = text_of_query("SELECT COUNT(*) FROM t WHERE " + condition);
    const auto from = text.find("Filter ");
    return from == std::string::npos ? text
                                     : text.substr(from + 7, text.find('\n', from) - from - 7);
  };
  const std::vector<std::pair<std::string, std::string>> conditions = {
      {"big > 1", "(big > 1)"},
      {"big + 1 > 2", "((big + 1) > 2)"},
      {"big % 2 = 0", "((big % 2) = 0)"},
      {"d / 3 < 1.5", "((d / 3) < 1.5)"},
      {"d * 1.50 > 3", "((d * 1.50) > 3)"},
      {"i IN (1, 2)", "IN(i, 1, 2)"},
      {"s = 'it''s'", "(s = 'it''s')"},
      {"ts < TIMESTAMP '2026-01-01 00:00:00'", "(ts < '2026-01-01 00:00:00.000')"},
      {"dt = DATE '2026-01-01'", "(dt = '2026-01-01')"},
      {"f * 2 > 1", "((f * 2.0e0) > 1.0e0)"},
      {"SUBSTRING(s, 1, 2) = 'x'", "(SUBSTRING(s, 1, 2) = 'x')"},
      {"-5 < i", "(-5 < i)"},
      {"GREATEST(big, 1) > 2", "(GREATEST(big, 1) > 2)"},
      {"POWER(r, 2) > 3", "(POWER(r, 2.0e0) > 3.0e0)"},
      {"ROUND(d, 1) > 0", "(ROUND(d, 1) > 0)"},
      {"a[1] = 2", "(ITEM(a, 1) = 2)"},
      {"ARRAY_CONTAINS(a, 1)", "ARRAY_CONTAINS(a, 1)"},
      {"TIMESTAMPDIFF(DAY, TIMESTAMP '2026-01-01 00:00:00', ts) > 3",
       "(TIMESTAMPDIFF('DAY', '2026-01-01 00:00:00.000', ts) > 3)"},
      {"s LIKE 'a%'", "LIKE(s, 'a%', NULL)"},
      {"COALESCE(big, 0) > 1", "(CASE(NOT(IS NULL(big)), big, 0) > 1)"},
      {"NULLIF(big, 0) > 1", "(CASE((big = 0), NULL, big) > 1)"},
      {"LPAD(s, 5, '0') <> ''", "(LPAD(s, 5, '0') <> '')"}};
  for (const auto& [condition, wanted] : conditions)
    EXPECT_EQ(filter(condition), wanted) << condition;
  const auto text = text_of_query(
      "SELECT s, SUM(CASE WHEN c THEN 1 ELSE 0 END), SUM(CASE WHEN c THEN big ELSE 0 END), "
      "SUM(CASE WHEN c THEN 1 END), LISTAGG(s, '; '), CAST(7 AS BIGINT), "
      "CAST(1.5 AS DECIMAL(10, 4)), DATE '2026-01-01', "
      "CASE WHEN COUNT(*) > 1 THEN CAST(1 AS BIGINT) ELSE 0 END FROM t GROUP BY s");
  EXPECT_NE(text.find("  Project s AS s STRING, SUM(CASE(c, 1, 0)) AS EXPR$1 INT, SUM(CASE(c, big, "
                      "CAST(0 AS BIGINT))) AS EXPR$2 BIGINT, SUM(CASE(c, 1, NULL)) AS EXPR$3 INT, "
                      "LISTAGG(s, '; ') AS EXPR$4 STRING, 7 AS EXPR$5 BIGINT, 1.5000 AS EXPR$6 "
                      "DECIMAL(10, 4), '2026-01-01' AS EXPR$7 DATE, CASE((COUNT(*) > 1), 1, 0) AS "
                      "EXPR$8 BIGINT\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text_of_query("SELECT x FROM (VALUES (1, 'a'), (2, NULL)) AS v(x, y)")
                .find("Values ('1', 'a'), ('2', NULL)\n"),
            std::string::npos);
}

std::string random_expression(std::mt19937_64& random, int depth) {
  static const std::vector<std::string> leaves = {"i",
                                                  "big",
                                                  "d",
                                                  "r",
                                                  "f",
                                                  "3",
                                                  "3.",
                                                  "3.0",
                                                  "CAST(3 AS BIGINT)",
                                                  "CAST(3 AS DECIMAL(10, 0))",
                                                  "CAST(3 AS DECIMAL(5, 1))",
                                                  "CAST(3 AS DOUBLE)",
                                                  "CAST(3 AS FLOAT)",
                                                  "0.5e0",
                                                  "-3",
                                                  "CAST(NULL AS INT)",
                                                  "CAST(NULL AS DECIMAL(9, 3))",
                                                  "CAST(0.5 AS FLOAT)"};
  if (depth == 0 || random() % 4 == 0) return leaves[random() % leaves.size()];
  const auto part = [&] { return random_expression(random, depth - 1); };
  switch (random() % 8) {
    case 0: return "CASE WHEN c THEN " + part() + " ELSE " + part() + " END";
    case 1:
      return "CASE WHEN c THEN " + part() + " WHEN " + part() + " > 1 THEN " + part() + " END";
    case 2: return "GREATEST(" + part() + ", " + part() + ")";
    case 3: return "CAST(" + part() + " AS BIGINT)";
    case 4: return "ROUND(" + part() + ", 1)";
    case 5: return "ARRAY[" + part() + ", " + part() + "][i]";
    case 6: return "(" + part() + " * " + part() + ")";
    default: return "(" + part() + " / " + part() + ")";
  }
}

TEST(PlanText, ExpressionsOfEqualTextsAreEqual) {
  std::mt19937_64 random(7);
  std::map<std::string, std::pair<ExpressionPointer, std::string>> known;
  std::size_t met = 0;
  for (int i = 0; i < 6'000; ++i) {
    const auto written = random_expression(random, 1 + i % 2);
    const auto plan = plan_of_text(
        kPlanTable, "SELECT COUNT(" + written + ") FROM t WHERE (" + written + ") IS NOT NULL");
    if (!plan) continue;
    for (const auto& node : plan->nodes) {
      const auto* const filter = std::get_if<Filter>(&node.what);
      if (filter == nullptr) continue;
      const auto text = text_of(*filter->predicate, {});
      const auto [at, is_new] = known.try_emplace(text, clone(*filter->predicate), written);
      if (is_new) continue;
      ++met;
      EXPECT_TRUE(equal(*at->second.first, *filter->predicate)) << text << "\n"
                                                                << written << "\n"
                                                                << at->second.second;
    }
  }
  EXPECT_GT(met, 500u);
  EXPECT_GT(known.size(), 500u);
}

}  // namespace
}  // namespace holdfast::sql
