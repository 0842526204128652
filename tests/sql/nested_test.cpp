// Arrays, rows and maps: answers beside their texts, what is refused, and the bounds of their bytes.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/nested.hpp>

#include "answers.hpp"

namespace holdfast::sql {
namespace {

constexpr const char* kTable =
    "CREATE TABLE t (i INT, s STRING, n BIGINT, v ARRAY<BIGINT>, none ARRAY<INT>, "
    "r ROW<f INT, g STRING, h ARRAY<ROW<z INT>>>, m MAP<STRING, INT>) WITH ('connector' = 'none');";

Result<Plan> plan_of_text(const std::string& query) { return sql::plan_of_text(kTable, query); }

Value value_of_text(const std::string& expression) {
  const auto plan = plan_of_text("SELECT " + expression);
  Value value;
  const auto& e = *std::get<Project>(plan.value().nodes.back().what).expressions[0];
  evaluate(e, {}, value).value();
  return value;
}

// i 7, s 'x', n NULL, v [3, NULL, 3, 1], none NULL, r (5, g, [(8)]), m {a=1, b=2}
Row row() {
  return {Value::of(7),
          Value::of_text("x"),
          Value(),
          value_of_text("CAST(ARRAY[3, NULL, 3, 1] AS ARRAY<BIGINT>)"),
          Value(),
          value_of_text("ROW(5, 'g', ARRAY[ROW(8)])"),
          value_of_text("MAP['b', 2, 'a', 1]")};
}

std::string answer(const std::string& expression) { return sql::answer(kTable, row(), expression); }
void check(const Cases& cases) { sql::check(kTable, row(), cases); }

TEST(Nested, AreMadeAndTakenApart) {
  check({{"ARRAY[1, NULL, i]", "ARRAY<INT> [1, NULL, 7]"},
         {"ARRAY[1, 2.5]", "ARRAY<DECIMAL(11, 1)> [1.0, 2.5]"},
         {"ARRAY[NULL]", "ARRAY<STRING> [NULL]"},
         {"ARRAY[ARRAY[1], NULL]", "ARRAY<ARRAY<INT>> [[1], NULL]"},
         {"ROW(1, s, v)",
          "ROW<`EXPR$0` INT, `EXPR$1` STRING, `EXPR$2` ARRAY<BIGINT>> "
          "(1, x, [3, NULL, 3, 1])"},
         {"MAP['b', 1, 'a', n, 'b', 3]", "MAP<STRING, BIGINT> {a=NULL, b=3}"},
         {"v[1]", "BIGINT 3"},
         {"v[2]", "BIGINT NULL"},
         {"v[5]", "BIGINT NULL"},
         {"v[i - 3]", "BIGINT 1"},
         {"v[i - 7]", "BIGINT NULL"},
         {"v[i - 8]", "BIGINT NULL"},
         {"v[n]", "BIGINT NULL"},
         {"none[1]", "INT NULL"},
         {"r.f", "INT 5"},
         {"t.r.f + 1", "INT 6"},
         {"r.h[1].z", "INT 8"},
         {"r.h[2].z", "INT NULL"},
         {"`r`.`g`", "STRING g"},
         {"m['a']", "INT 1"},
         {"m['c']", "INT NULL"},
         {"ARRAY[ARRAY[1, 2], ARRAY[3]][2][1]", "INT 3"}});
}

TEST(Nested, HaveFunctions) {
  check({{"CARDINALITY(v)", "INT 4"},
         {"CARDINALITY(m)", "INT 2"},
         {"CARDINALITY(none)", "INT NULL"},
         {"ARRAY_CONTAINS(v, 3)", "BOOLEAN true"},
         {"ARRAY_CONTAINS(v, NULL)", "BOOLEAN true"},
         {"ARRAY_CONTAINS(ARRAY[1], NULL)", "BOOLEAN false"},
         {"ARRAY_CONTAINS(none, 1)", "BOOLEAN NULL"},
         {"ARRAY_POSITION(v, 1)", "INT 4"},
         {"ARRAY_POSITION(v, 9)", "INT 0"},
         {"ARRAY_POSITION(v, n)", "INT NULL"},
         {"ARRAY_DISTINCT(v)", "ARRAY<BIGINT> [3, NULL, 1]"},
         {"ARRAY_MAX(v)", "BIGINT 3"},
         {"ARRAY_MIN(v)", "BIGINT 1"},
         {"ARRAY_MIN(ARRAY[n])", "BIGINT NULL"},
         {"ARRAY_REVERSE(v)", "ARRAY<BIGINT> [1, 3, NULL, 3]"},
         {"ARRAY_REMOVE(v, 3)", "ARRAY<BIGINT> [NULL, 1]"},
         {"ARRAY_REMOVE(v, NULL)", "ARRAY<BIGINT> [3, 3, 1]"},
         {"ARRAY_APPEND(v, i)", "ARRAY<BIGINT> [3, NULL, 3, 1, 7]"},
         {"ARRAY_PREPEND(ARRAY[1], n)", "ARRAY<BIGINT> [NULL, 1]"},
         {"ARRAY_CONCAT(v, ARRAY[0])", "ARRAY<BIGINT> [3, NULL, 3, 1, 0]"},
         {"ARRAY_UNION(v, ARRAY[0, 1])", "ARRAY<BIGINT> [3, NULL, 1, 0]"},
         {"ARRAY_INTERSECT(v, ARRAY[1, 3])", "ARRAY<BIGINT> [3, 1]"},
         {"ARRAY_EXCEPT(v, ARRAY[3])", "ARRAY<BIGINT> [NULL, 1]"},
         {"ARRAY_JOIN(ARRAY['a', NULL, 'b'], '-')", "STRING a-b"},
         {"ARRAY_JOIN(ARRAY['a', NULL, 'b'], '-', '?')", "STRING a-?-b"},
         {"MAP_KEYS(m)", "ARRAY<STRING> [a, b]"},
         {"MAP_VALUES(m)", "ARRAY<INT> [1, 2]"},
         {"CAST(v AS STRING)", "STRING [3, NULL, 3, 1]"},
         {"CAST(ARRAY['1', '2'] AS ARRAY<INT>)", "ARRAY<INT> [1, 2]"},
         {"TRY_CAST(ARRAY['1', 'x'] AS ARRAY<INT>)", "ARRAY<INT> NULL"},
         {"COALESCE(none, ARRAY[1])", "ARRAY<INT> [1]"},
         {"CASE WHEN i = 7 THEN ARRAY[1] ELSE v END", "ARRAY<BIGINT> [1]"}});
}

TEST(Nested, AreEqualPartByPart) {
  check({{"v = ARRAY[3, NULL, 3, 1]", "BOOLEAN true"},
         {"v = ARRAY[3, NULL, 3]", "BOOLEAN false"},
         {"v <> ARRAY[3]", "BOOLEAN true"},
         {"none = ARRAY[3]", "BOOLEAN NULL"},
         {"ROW(1, 'a') = ROW(1.0, 'a')", "BOOLEAN true"},
         {"MAP['a', 1, 'b', 2] = MAP['b', 2, 'a', 1]", "BOOLEAN true"},
         {"ARRAY[0e0] = ARRAY[-0e0]", "BOOLEAN true"},
         {"ARRAY['a', 'b'] = ARRAY['a, b']", "BOOLEAN false"},
         {"v IN (ARRAY[1], ARRAY[3, NULL, 3, 1])", "BOOLEAN true"},
         {"none IS NOT DISTINCT FROM none", "BOOLEAN true"}});
}

TEST(Nested, RefuseByName) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"ARRAY[]", "an empty ARRAY[]"},
      {"ARRAY[1, 'a']", "ARRAY of INT and STRING"},
      {"v < ARRAY[1]", "ARRAY<BIGINT> < ARRAY<INT>"},
      {"v = 1", "cannot be compared"},
      {"v[0]", "counts from 1"},
      {"v['a']", "an index wants BIGINT"},
      {"i[1]", "wants an ARRAY or a MAP"},
      {"r.q", "has no field q"},
      {"v[1].f", "wants a ROW"},
      {"MAP['a']", "wants 2 or more"},
      {"MAP['a', 1, 'b']", "keys and values in turn"},
      {"MAP[n, 1]", "a key is NULL"},
      {"CARDINALITY(1)", "wants an ARRAY or a MAP"},
      {"ARRAY_MAX(ARRAY[v])", "have no order"},
      {"GREATEST(v, v)", "GREATEST of"},
      {"FIELD(r, 0)", "the function FIELD"},
      {"ARRAY(1)", "the function ARRAY"},
      {"ARRAY[INTERVAL '1' DAY]", "an INTERVAL in"},
      {"CAST('[1]' AS ARRAY<INT>)", "there is no cast of STRING"},
      {"CAST(v AS ROW<a INT>)", "there is no cast"},
      {"CAST(i AS ROW<>)", "'<'"},
      {"CAST(v AS ARRAY<INT NOT NULL>)", "NOT NULL"},
      {"CAST(v AS MAP<INT>)", "MAP wants 2 types"},
      {"CAST(r AS ROW<a INT, a INT>)", "two fields a"},
      {"MIN(v)", "there is no MIN of ARRAY<BIGINT>"},
      {"COLLECT(i)", "COLLECT"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto said = answer(text);
    EXPECT_TRUE(said.starts_with("error: ") && said.find(wanted) != std::string::npos)
        << text << "\n"
        << said;
  }
  for (const auto* query :
       {"SELECT v FROM t ORDER BY v", "SELECT i FROM t RIGHT JOIN UNNEST(v) ON TRUE",
        "SELECT i FROM t JOIN UNNEST(v) AS u(x) ON x = i",
        "SELECT i FROM t CROSS JOIN UNNEST(i) AS u(x)",
        "SELECT i FROM t CROSS JOIN UNNEST(v) AS u(x, y)"})
    EXPECT_FALSE(plan_of_text(query)) << query;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(Nested, TypesAndValuesHaveBounds) {
  const auto cast = [](std::size_t depth) {
    return answer("CAST(NULL AS " + repeated("ARRAY<", depth) + "INT" + repeated(">", depth) + ")");
  };
  EXPECT_TRUE(cast(kMaxTypeDepth).ends_with(" NULL")) << cast(kMaxTypeDepth);
  EXPECT_NE(cast(kMaxTypeDepth + 1).find("deeper than 16"), std::string::npos);
  EXPECT_NE(cast(100'000).find("nested deeper"), std::string::npos);
  const auto array = [](std::size_t depth) {
    return answer(repeated("ARRAY[", depth) + "1" + repeated("]", depth));
  };
  EXPECT_NE(array(kMaxTypeDepth + 1).find("deeper than 16"), std::string::npos);
  EXPECT_NE(array(100'000).find("error"), std::string::npos);
  EXPECT_NE(answer("ARRAY_CONCAT(" + repeated("ARRAY[REPEAT('a', 1000000)],", 17) + "ARRAY['a'])")
                .find("longer than 16 MiB"),
            std::string::npos);
}

// Every cut and every changed byte of a value is told, or is another value: nothing reads beyond it.
TEST(Nested, DamagedBytesAreNoValueOrAnother) {
  const auto plan = plan_of_text("SELECT ROW(v, r, m, ARRAY['ab', NULL]) FROM t");
  const auto& e = *std::get<Project>(plan.value().nodes.back().what).expressions[0];
  Value value;
  evaluate(e, row(), value).value();
  std::string bytes;
  append_bytes(value, e.type, bytes);
  const auto taken = [&](std::string_view from, Value& into) {
    return take_bytes(from, e.type, into) && from.empty();
  };
  Value back;
  ASSERT_TRUE(taken(bytes, back));
  EXPECT_TRUE(same(value, back, e.type));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(taken(std::string_view(bytes).substr(0, cut), back)) << cut;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      if (taken(damaged, back)) text_of(back, e.type);
    }
  }
  // Readers of bytes that nobody checked end, too.
  for (const auto* text : {"", "\1", "\xFF\xFF\xFF\xFF", "\1\0\0\0\2"})
    EXPECT_EQ(parts_of(Value::of_text(text), e.type).size(), 0u);
}

TEST(Nested, PlansTellLiteralsApartAndNameTheLayout) {
  const auto text = [](const std::string& query) { return text_of(plan_of_text(query).value()); };
  EXPECT_NE(text("SELECT i FROM t WHERE v = ARRAY[1]"), text("SELECT i FROM t WHERE v = ARRAY[2]"));
  EXPECT_NE(text("SELECT ARRAY['a', 'b'] FROM t"), text("SELECT ARRAY['a'', ''b'] FROM t"));
  EXPECT_NE(text("SELECT v FROM t").find("in layout 1"), std::string::npos);
  EXPECT_NE(text("SELECT COUNT(DISTINCT ARRAY[i]) FROM (VALUES (1)) AS q(i)").find("in layout 1"),
            std::string::npos);
  EXPECT_EQ(text("SELECT i FROM (VALUES (1)) AS q(i)").find("layout"), std::string::npos);
}

TEST(Nested, PlansTellTextsApartThatBeginAlike) {
  const auto text = [](const std::string& last) {
    return text_of(plan_of_text("SELECT '" + std::string(300, 'a') + last + "' FROM t").value());
  };
  EXPECT_NE(text("b"), text("c"));
  EXPECT_NE(text("b"), text(""));
}

// It was written as NULL beside a count, which the next run took for damage.
TEST(Nested, AnArrayOfMergedElementsIsReadAgain) {
  Aggregate aggregate;
  aggregate.kind = AggregateKind::kArrayAgg;
  aggregate.argument = literal_of(Value(), kIntType, {});
  aggregate.type = *array_of(kIntType);
  Accumulator elements, merged, back;
  elements.add(aggregate, Value::of(3));
  elements.add(aggregate, Value());
  merged.merge(aggregate, elements);
  std::string bytes;
  merged.append_bytes(aggregate, bytes);
  std::string_view rest = bytes;
  ASSERT_TRUE(back.take_bytes(aggregate, rest));
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(text_of(back.result(aggregate).value(), aggregate.type), "[3, NULL]");
}

TEST(Nested, AMapIsNotLongerThanItsBound) {
  const auto type = *nested_type(Kind::kMap, {{"key", kIntType}, {"value", kStringType}});
  const auto map = [&](int entries) {
    std::vector<Value> all;
    for (int i = 0; i < entries; ++i) {
      all.push_back(Value::of(i));
      all.push_back(Value::of_text(std::string(1 << 20, 'x')));
    }
    return map_of(all, type);
  };
  EXPECT_TRUE(map(15));
  EXPECT_FALSE(map(16));
}

TEST(Nested, TypesAreInternedByWhatTheyAre) {
  const auto one = array_of(kIntType), other = array_of(kIntType);
  EXPECT_EQ(*one, *other);
  EXPECT_NE(*one, *array_of(kBigIntType));
  const auto row_a = nested_type(Kind::kRow, {{"a", kIntType}});
  const auto row_b = nested_type(Kind::kRow, {{"b", kIntType}});
  EXPECT_NE(*row_a, *row_b);
  EXPECT_EQ(name_of(*nested_type(Kind::kRow, {{"a`b", *one}})), "ROW<`a``b` ARRAY<INT>>");
  EXPECT_EQ(*common_type(*one, *array_of(kBigIntType)), *array_of(kBigIntType));
  EXPECT_FALSE(common_type(*one, *row_a));
}

}  // namespace
}  // namespace holdfast::sql
