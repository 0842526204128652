// What a query says, as C++ text: whatever its bytes are, they stay in their literal, name or
// comment.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/compile/source_text.hpp>
#include <holdfast/stream/script.hpp>

namespace holdfast::stream::compile {
namespace {

const sql::Type kText = sql::kStringType;

std::string random_bytes(Random& random) {
  static constexpr std::string_view kHard = "\"'\\*/?\n\r{}()<>#%$`;\t";
  std::string text;
  for (auto left = random.below(40); left > 0; --left) {
    const bool hard = random.below(2) == 0;
    text += hard ? kHard[random.below(kHard.size())] : static_cast<char>(random.below(256));
  }
  return text;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// The bytes that a C++ compiler would see between the quotes; empty and false: it is no literal.
bool read_literal(std::string_view source, std::string& bytes, std::uint64_t& size) {
  constexpr std::string_view kHead = "some(Text{\"";
  if (!source.starts_with(kHead)) return false;
  source.remove_prefix(kHead.size());
  bytes.clear();
  while (!source.empty() && source[0] != '"') {
    if (source[0] != '\\') {
      bytes += source[0];
      source.remove_prefix(1);
      continue;
    }
    int value = 0;
    for (int i = 1; i <= 3; ++i) {
      if (source.size() < 4 || source[i] < '0' || source[i] > '7') return false;
      value = value * 8 + (source[i] - '0');
    }
    if (value > 255) return false;
    bytes += static_cast<char>(value);
    source.remove_prefix(4);
  }
  return source.starts_with("\", ") && source.ends_with("})") &&
         (size = std::stoull(std::string(source.substr(3))), true);
}

TEST(SourceText, ALiteralHoldsTheBytesOfItsText) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto text = random_bytes(random);
    const auto source = literal(sql::Value::of_text(text), kText);
    std::string bytes;
    std::uint64_t size = 0;
    ASSERT_TRUE(is_printable(source)) << source;
    ASSERT_EQ(source.find('?'), std::string::npos) << "no trigraph: " << source;
    ASSERT_TRUE(read_literal(source, bytes, size)) << source;
    ASSERT_EQ(bytes, text);
    ASSERT_EQ(size, text.size());
  }
  const std::string nul("a\0b", 3);
  EXPECT_EQ(literal(sql::Value::of_text(nul), kText), "some(Text{\"a\\000b\", 3})");
}

TEST(SourceText, ANameIsAnIdentifier) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto name = identifier('c', 7, random_bytes(random));
    ASSERT_TRUE(name.starts_with("c7")) << name;
    ASSERT_LE(name.size(), 50u);
    ASSERT_EQ(
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
        std::string::npos)
        << name;
    ASSERT_EQ(name.find("__"), std::string::npos) << name;
  }
  EXPECT_EQ(identifier('c', 3, "price"), "c3_price");
}

TEST(SourceText, ACommentEndsWithItsLine) {
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = comment(random_bytes(random));
    ASSERT_TRUE(text.ends_with('\n'));
    while (!text.empty()) {
      const auto end = text.find('\n');
      const auto line = text.substr(0, end);
      ASSERT_TRUE(line.starts_with("// ") && is_printable(line)) << line;
      ASSERT_EQ(line.find_first_of("\\?"), std::string::npos) << "the next line would be in it";
      text.erase(0, end + 1);
    }
  }
}

TEST(SourceText, NumbersAtTheEndsOfTheirRange) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(literal(sql::Value::of(-5), sql::kBigIntType), "some<std::int64_t>(-5)");
  EXPECT_EQ(literal(sql::Value::of(kLeast), sql::kBigIntType),
            "some<std::int64_t>(static_cast<std::int64_t>(Uint128{18446744073709551615u} << 64 | "
            "9223372036854775808u))");
  EXPECT_EQ(literal(sql::Value(), sql::kIntType), "Maybe<std::int32_t>{}");
  EXPECT_EQ(literal(sql::Value::of_real(0.1), sql::kDoubleType), "some(0x1.999999999999ap-4)");
  EXPECT_EQ(
      literal(sql::Value::of_real(-std::numeric_limits<double>::infinity()), sql::kDoubleType),
      "some(-__builtin_inf())");
}

TEST(SourceText, LongLinesBreakAtTheirCommas) {
  const std::string line =
      "  return " +
      call("f", {std::string(60, 'a'), "g(b, c)", "\"x, (y\"", std::string(30, 'd')}) + ";";
  const auto broken = with_short_lines(line + "\n");
  EXPECT_EQ(broken, "  return f(\n      " + std::string(60, 'a') +
                        ",\n      g(b, c),\n      \"x, (y\",\n      " + std::string(30, 'd') +
                        ");\n");
}

Result<QuerySource> source_of(const std::string& query, const RunShape& shape = {}) {
  static const std::string kTable =
      "CREATE TABLE e (ts TIMESTAMP(3), k STRING, v BIGINT, d DOUBLE, WATERMARK FOR ts AS ts) "
      "WITH ('connector' = 'datagen');\n";
  static std::vector<Script> kept;  // A source points into its plan.
  kept.push_back(Script::prepare(kTable + query).value());
  return query_source(kept.back().plans().front(), shape);
}

TEST(QuerySource, TheSamePlanGivesTheSameSource) {
  const std::string query = "SELECT k, v * 2 FROM e WHERE REPLACE(k, 'a', 'b') LIKE 'b%'";
  const auto first = source_of(query).value(), second = source_of(query).value();
  EXPECT_EQ(first.text, second.text);
  ASSERT_EQ(first.parts.interpreted.size(), 1u);
  EXPECT_EQ(first.parts.interpreted[0].text, "REPLACE(k, 'a', 'b')");
  EXPECT_NE(first.text,
            source_of("SELECT k, v * 3 FROM e WHERE REPLACE(k, 'a', 'b') LIKE 'b%'").value().text);
}

// A function without arguments was read as one of a text, which ended the process.
TEST(QuerySource, AFunctionWithoutArgumentsIsInterpreted) {
  const auto source = source_of("SELECT PI() * v, PROCTIME(), CHAR_LENGTH(k) FROM e").value();
  EXPECT_EQ(source.parts.interpreted.size(), 2u);
}

int times(std::string_view part, std::string_view text) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// A text that stands there again is made once; what may fail, and what costs nothing, is not shared.
TEST(QuerySource, ATextThatStandsThereTwiceIsMadeOnce) {
  const auto text = source_of(
                        "SELECT LOWER(k), UPPER(LOWER(k)), CASE WHEN v = 1 THEN LOWER(k) END, "
                        "k || 'a', k || 'a', UPPER(k) FROM e WHERE LOWER(k) <> 'b'")
                        .value()
                        .text;
  EXPECT_EQ(times("once<Text>", text), 1) << text;
  EXPECT_EQ(times("in_case<false>", text), 1) << text;
  EXPECT_EQ(times("shared0()", text), 4) << text;
  EXPECT_EQ(times("concatenated<", text), 2) << text;
  EXPECT_EQ(times("once<", source_of("SELECT LOWER(k), v + 1, v + 1 FROM e").value().text), 0);
}

TEST(QuerySource, ASharedTextMayBeMadeOfAnother) {
  const auto text =
      source_of("SELECT UPPER(LOWER(k)), UPPER(LOWER(k)), LOWER(k) FROM e").value().text;
  EXPECT_LT(text.find("in_case<false>"), text.find("in_case<true>")) << text;
  EXPECT_EQ(times("in_case<", text), 2) << text;
}

// What may be an error is asked for where it stands.
TEST(QuerySource, AConditionThatMayFailIsAskedForInItsPlace) {
  const auto text =
      source_of("SELECT v FROM e WHERE JSON_VALUE(k, '$.a') = 'x' OR k = 'y'").value().text;
  ASSERT_NE(text.find("interpreted<"), text.npos);
  EXPECT_LT(text.find("interpreted<"), text.find("c1_k, some")) << text;
}

// A compiler takes nearly half of its time for what a run without a state store has no use for.
TEST(QuerySource, WhatARunHasNoUseForIsNotInItsSource) {
  for (const std::string query :
       {"SELECT window_start, SUM(v) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' "
        "MINUTE)) GROUP BY window_start, window_end",
        "SELECT a.k, b.v FROM e a JOIN e b ON a.k = b.k",
        "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v) AS n FROM e) WHERE n <= 3"}) {
    const auto any = source_of(query).value(), one = source_of(query, {false, false}).value();
    EXPECT_TRUE(any.shape.stored && any.shape.forgets);
    EXPECT_FALSE(one.shape.stored || one.shape.forgets);
    EXPECT_GT(times("kStored = true", any.text), 0) << any.text;
    EXPECT_EQ(times("kStored = true", one.text) + times("kForgets = true", one.text), 0);
    EXPECT_EQ(times("_.put_state()", one.text) + times("_.adopt_stored(", one.text), 0);
  }
}

TEST(QuerySource, WhatHasNoCompiledFormIsNamed) {
  const auto windows = source_of(
      "SELECT window_start, v FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MINUTE))");
  ASSERT_FALSE(windows);
  EXPECT_EQ(windows.code(), Errc::kUnsupported);
  EXPECT_NE(windows.error().detail.find("a window without a GROUP BY"), std::string::npos);
  const auto arrays = source_of("SELECT ARRAY_AGG(k) FROM e");
  ASSERT_FALSE(arrays);
  EXPECT_NE(arrays.error().detail.find("ARRAY_AGG is not compiled"), std::string::npos);
  EXPECT_TRUE(source_of("SELECT STDDEV_POP(DISTINCT v), MEDIAN(DISTINCT d) FROM e"));
}

}  // namespace
}  // namespace holdfast::stream::compile
