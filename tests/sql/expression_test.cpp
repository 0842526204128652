// What expressions are: each answer stands beside its text. The row is named in kTable.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "answers.hpp"

namespace holdfast::sql {
namespace {

constexpr const char* kTable =
    "CREATE TABLE t (i INT, big BIGINT, tiny TINYINT, d DECIMAL(12, 2), r DOUBLE, s STRING, "
    "n INT, b BOOLEAN, ts TIMESTAMP(3)) WITH ('connector' = 'none');";

Row row() {
  return {Value::of(7),   Value::of(-5),       Value::of(127),
          Value::of(250), Value::of_real(0.1), Value::of_text("größe %"),
          Value(),        Value::of(1),        Value::of(1'700'000'000'123)};
}

std::string answer(const std::string& expression) { return sql::answer(kTable, row(), expression); }
void check(const Cases& cases) { sql::check(kTable, row(), cases); }

TEST(Expression, Numbers) {
  check({{"i + 1", "INT 8"},
         {"i / 2", "INT 3"},
         {"-i / 2", "INT -3"},
         {"MOD(-i, 3)", "INT -1"},
         {"i % -3", "INT 1"},
         {"i + 2147483647", "INT -2147483642"},
         {"big + 9223372036854775807 + 9", "BIGINT -9223372036854775805"},
         {"tiny + tiny", "TINYINT -2"},
         {"d * d", "DECIMAL(25, 4) 6.2500"},
         {"d / 3", "DECIMAL(23, 13) 0.8333333333333"},
         {"d + i", "DECIMAL(13, 2) 9.50"},
         {"r + d", "DOUBLE 2.6"},
         {"r / 0", "DOUBLE Infinity"},
         {"99999999999999999999", "DECIMAL(20, 0) 99999999999999999999"},
         {"ROUND(2.345, 2)", "DECIMAL(4, 2) 2.35"},
         {"CEIL(-0.5)", "DECIMAL(1, 0) 0"},
         {"FLOOR(-0.5)", "DECIMAL(1, 0) -1"},
         {"ABS(-i)", "INT 7"}});
}

TEST(Expression, ErrorsInsteadOfWrongValues) {
  EXPECT_NE(answer("i / 0").find("division by zero"), std::string::npos);
  EXPECT_NE(answer("CAST(s AS INT)").find("is no INT"), std::string::npos);
  EXPECT_NE(answer("CAST(d AS DECIMAL(2, 2))").find("is no DECIMAL(2, 2)"), std::string::npos);
  EXPECT_NE(answer("ts + INTERVAL '9000' DAY * 2").find("error"), std::string::npos);
  EXPECT_NE(answer("ts + INTERVAL '3000000' DAY").find("years 1 to 9999"), std::string::npos);
  EXPECT_NE(answer("s + 1").find("there is no STRING + INT"), std::string::npos);
  EXPECT_NE(answer("i = s").find("cannot be compared"), std::string::npos);
  EXPECT_NE(answer("biig").find("did you mean big?"), std::string::npos);
}

// They were no numbers. Java's are 0, and so are those of JSON.
TEST(Expression, NumbersThatAreTooSmallForTheirTypeAreZero) {
  check({{"1e-400", "DOUBLE 0.0"},
         {"CAST('-1e-400' AS DOUBLE)", "DOUBLE -0.0"},
         {"CAST('2.4e-324' AS DOUBLE)", "DOUBLE 0.0"},
         {"CAST('3e-324' AS DOUBLE)", "DOUBLE 5e-324"},
         {"CAST('1e-46' AS FLOAT)", "FLOAT 0.0"},
         {"CAST('0.0000001e-40' AS FLOAT)", "FLOAT 0.0"},
         {"CAST('1000000e-60' AS FLOAT)", "FLOAT 0.0"},
         {"CAST('1E-99999999999999999999' AS DOUBLE)", "DOUBLE 0.0"},
         {"TRY_CAST('1e400' AS DOUBLE)", "DOUBLE NULL"},
         {"TRY_CAST('-1e39' AS FLOAT)", "FLOAT NULL"},
         {"TRY_CAST('0.0000001e+48' AS FLOAT)", "FLOAT NULL"},
         {"TRY_CAST('1e99999999999999999999' AS DOUBLE)", "DOUBLE NULL"},
         {"TRY_CAST('1e-400x' AS DOUBLE)", "DOUBLE NULL"}});
  EXPECT_EQ(value_of(std::string("0.") + std::string(400, '0') + "1", kDoubleType)->real, 0);
  EXPECT_EQ(value_of(std::string(400, '9'), kDoubleType), std::nullopt);
}

TEST(Expression, Casts) {
  check({{"CAST(1.5 AS INT)", "INT 1"},
         {"CAST(-1.5 AS INT)", "INT -1"},
         {"CAST(2.675 AS DECIMAL(5, 2))", "DECIMAL(5, 2) 2.68"},
         {"CAST(300 AS TINYINT)", "TINYINT 44"},
         {"CAST(1e99 AS INT)", "INT 2147483647"},
         {"TRY_CAST(s AS INT)", "INT NULL"},
         {"TRY_CAST('1e39' AS FLOAT)", "FLOAT NULL"},
         {"CAST('3.4e38' AS FLOAT)", "FLOAT 3.4e+38"},
         {"CAST(' 12 ' AS BIGINT)", "BIGINT 12"},
         {"CAST(b AS STRING)", "STRING TRUE"},
         {"CAST(ts AS DATE)", "DATE 2023-11-14"},
         {"CAST('2026-11-23' AS TIMESTAMP(3))", "TIMESTAMP(3) 2026-11-23 00:00:00.000"},
         {"CAST(s AS VARCHAR(3))", "VARCHAR(3) grö"}});
}

TEST(Expression, ThreeValuedLogic) {
  check({{"n = 1", "BOOLEAN NULL"},
         {"n = 1 AND FALSE", "BOOLEAN false"},
         {"FALSE AND n = 1", "BOOLEAN false"},
         {"n = 1 OR TRUE", "BOOLEAN true"},
         {"n = 1 OR FALSE", "BOOLEAN NULL"},
         {"NOT (n = 1)", "BOOLEAN NULL"},
         {"n IS NULL", "BOOLEAN true"},
         {"(n = 1) IS NOT TRUE", "BOOLEAN true"},
         {"(n = 1) IS UNKNOWN", "BOOLEAN true"},
         {"i IN (1, NULL)", "BOOLEAN NULL"},
         {"i IN (7, NULL)", "BOOLEAN true"},
         {"i NOT IN (1, 2)", "BOOLEAN true"},
         {"n BETWEEN 1 AND 2", "BOOLEAN NULL"},
         {"CASE WHEN n = 1 THEN 1 END", "INT NULL"},
         {"CASE WHEN MOD(n, 2) = 0 THEN 'a' ELSE 'b' END", "STRING b"},
         {"CASE WHEN b THEN 1 ELSE 2.5 END", "DECIMAL(11, 1) 1.0"},
         {"COALESCE(n, i)", "INT 7"},
         {"NULLIF(i, 7)", "INT NULL"},
         {"FALSE AND 1 / (i - i) = 0", "BOOLEAN false"}});
}

TEST(Expression, FunctionsOfNumbers) {
  check({{"POWER(i, 2)", "DOUBLE 49.0"},
         {"SQRT(i + 2)", "DOUBLE 3.0"},
         {"LN(-1)", "DOUBLE NaN"},
         {"LOG(2, 8)", "DOUBLE 3.0"},
         {"LOG10(d)", "DOUBLE 0.3979400086720376"},
         {"SIGN(-d)", "DECIMAL(12, 2) -1.00"},
         {"SIGN(big)", "BIGINT -1"},
         {"GREATEST(i, 2.5, big)", "DECIMAL(20, 1) 7.0"},
         {"LEAST(s, 'a', 'b')", "STRING a"},
         {"GREATEST(i, n)", "INT NULL"},
         {"IF(i > 3, 'x', NULL)", "STRING x"},
         {"IF(n > 3, 1, 2.5)", "DECIMAL(11, 1) 2.5"}});
}

TEST(Expression, FunctionsOfTexts) {
  check({{"CONCAT(s, '-', s)", "STRING größe %-größe %"},
         {"CONCAT(s, NULL)", "STRING NULL"},
         {"CONCAT_WS('-', 'a', NULL, 'b')", "STRING a-b"},
         {"CONCAT_WS(NULL, 'a')", "STRING NULL"},
         {"REPLACE('banana', 'an', 'x')", "STRING bxxa"},
         {"REPLACE('ab', '', 'x')", "STRING xaxbx"},
         {"REPLACE('', '', 'x')", "STRING x"},
         {"REPLACE(s, '', '-')", "STRING -g-r-ö-ß-e- -%-"},
         {"REVERSE(s)", "STRING % eßörg"},
         {"REPEAT('ab', 2)", "STRING abab"},
         {"LPAD('hi', 5, 'ö?')", "STRING ö?öhi"},
         {"RPAD('hi', 1, 'x')", "STRING h"},
         {"LPAD('hi', 5, '')", "STRING NULL"},
         {"LEFT(s, 2)", "STRING gr"},
         {"RIGHT(s, 3)", "STRING e %"},
         {"RIGHT(s, -1)", "STRING "},
         {"INITCAP('aB cD-e1f')", "STRING Ab Cd-E1f"},
         {"INITCAP('äöüßéñ')", "STRING äöüßéñ"},
         {"INITCAP('ÀÉ xY 1aB aéb.x')", "STRING ÀÉ Xy 1ab AéB.X"},
         {"POSITION('ö' IN s)", "INT 3"},
         {"LOCATE('a', 'banana', 3)", "INT 4"},
         {"INSTR(s, 'z')", "INT 0"},
         {"TRIM(BOTH 'xy' FROM 'xyaxy')", "STRING a"},
         {"TRIM(LEADING FROM '  a ')", "STRING a "},
         {"LTRIM('  a ')", "STRING a "},
         {"RTRIM('  a ')", "STRING   a"},
         {"SUBSTRING(s FROM 3 FOR 2)", "STRING öß"},
         {"STARTSWITH(s, 'gr')", "BOOLEAN true"},
         {"ASCII('a')", "INT 97"}});
  EXPECT_NE(answer("REPEAT('abc', 99999999)").find("longer than 16 MiB"), std::string::npos);
  EXPECT_NE(answer("REPLCE(s, 'a', 'b')").find("did you mean REPLACE?"), std::string::npos);
  // Names of other dialects; POW was taken for NOW.
  EXPECT_NE(answer("POW(2, 3)").find("did you mean POWER?"), std::string::npos);
  EXPECT_NE(answer("LENGTH(s)").find("did you mean CHAR_LENGTH?"), std::string::npos);
  EXPECT_NE(answer("LEFT(s)").find("LEFT wants 2 arguments"), std::string::npos);
}

// As Java has them: a letter may become several, and a capital sigma at the end of a word another one.
TEST(Expression, LettersOfUnicodeInTheOtherCase) {
  check({{"UPPER('äöüßéñ')", "STRING ÄÖÜSSÉÑ"},
         {"LOWER('ΑΣ Σ ΣΑΣ. Σ''Α')", "STRING ας σ σας. σ'α"},
         {"UPPER('İIı')", "STRING İII"},
         {"LOWER('İIı')", "STRING i̇iı"},
         {"UPPER('ŉẖ')", "STRING ʼNH\u0331"},
         {"UPPER('ﬁﬂﬃ')", "STRING FIFLFFI"},
         {"UPPER('ԱԲև')", "STRING ԱԲԵՒ"},
         {"LOWER('ႠᲐ')", "STRING ⴀა"},
         {"UPPER('𐐨𐐀')", "STRING 𐐀𐐀"},
         {"LOWER('ǅǄ')", "STRING ǆǆ"},
         {"UPPER('ⓐꭰ')", "STRING ⒶᎠ"},
         {"UPPER(s)", "STRING GRÖSSE %"}});
}

// As in Flink.
TEST(Expression, AnEmptyTextHasNoParts) {
  check({{"SPLIT_INDEX('', ',', 0)", "STRING NULL"},
         {"SPLIT_INDEX(',', ',', 0)", "STRING "},
         {"SPLIT_INDEX(',', ',', 1)", "STRING "},
         {"SPLIT_INDEX(',', ',', 2)", "STRING NULL"}});
}

// Each is what Flink 2.3 says.
TEST(Expression, AnEmptySeparatorIsAnyWhiteSpace) {
  check({{"SPLIT_INDEX('a b', '', 0)", "STRING a"},
         {"SPLIT_INDEX('a b', '', 1)", "STRING b"},
         {"SPLIT_INDEX('a b', '', 2)", "STRING NULL"},
         {"SPLIT_INDEX('a  b', '', 1)", "STRING "},
         {"SPLIT_INDEX('a\tb\037c', '', 2)", "STRING c"},
         {"SPLIT_INDEX(' ', '', 1)", "STRING "},
         {"SPLIT_INDEX('ab', '', 0)", "STRING ab"},
         {"SPLIT_INDEX('', '', 0)", "STRING NULL"},
         {"SPLIT_INDEX('é\u2003x\u3000y', '', 2)", "STRING y"},
         {"SPLIT_INDEX('é\u1680x', '', 1)", "STRING x"},
         // Spaces that do not break, and characters that begin alike.
         {"SPLIT_INDEX('a\u00A0b\u2007c\u202Fd\u200Be\u4001', '', 1)", "STRING NULL"}});
}

// Flink cuts towards 1970 instead, and has hours below 0 then.
TEST(Expression, FieldsOfTimesBefore1970AreThoseOfTheCalendar) {
  check({{"EXTRACT(YEAR FROM TIMESTAMP '1969-12-31 23:59:58.500')", "BIGINT 1969"},
         {"EXTRACT(DAY FROM TIMESTAMP '1969-12-31 23:59:58.500')", "BIGINT 31"},
         {"EXTRACT(HOUR FROM TIMESTAMP '1969-12-31 23:59:58.500')", "BIGINT 23"},
         {"EXTRACT(SECOND FROM TIMESTAMP '1969-12-31 23:59:58.500')", "BIGINT 58"},
         {"EXTRACT(MILLISECOND FROM TIMESTAMP '1969-12-31 23:59:58.500')", "BIGINT 500"},
         {"EXTRACT(EPOCH FROM TIMESTAMP '1969-12-31 23:59:58.500')", "BIGINT -2"}});
}

// Each is what Flink 2.3 says.
TEST(Expression, IntervalsMoveDatesAndTimes) {
  check({{"DATE '2024-01-31' + INTERVAL '1' MONTH", "DATE 2024-02-29"},
         {"DATE '2024-01-31' + INTERVAL '1' DAY", "DATE 2024-02-01"},
         {"DATE '2024-01-31' - INTERVAL '1' DAY", "DATE 2024-01-30"},
         {"DATE '2024-03-31' - INTERVAL '1' MONTH", "DATE 2024-02-29"},
         {"DATE '2024-03-31' - INTERVAL '25' HOUR", "DATE 2024-03-30"},
         {"DATE '1960-02-29' + INTERVAL '23' HOUR", "DATE 1960-02-29"},
         {"DATE '1960-02-29' - INTERVAL '49' HOUR", "DATE 1960-02-27"},
         {"DATE '1960-02-29' - INTERVAL '1' YEAR", "DATE 1959-02-28"},
         {"INTERVAL '1' DAY + DATE '2024-01-31'", "DATE 2024-02-01"},
         {"INTERVAL '1' MONTH + DATE '2024-01-31'", "DATE 2024-02-29"},
         {"INTERVAL '1' DAY + ts", "TIMESTAMP(3) 2023-11-15 22:13:20.123"},
         {"TIMESTAMP '2024-03-31 10:11:12.345' + INTERVAL '1' MONTH",
          "TIMESTAMP(3) 2024-04-30 10:11:12.345"},
         {"TIMESTAMP '2024-03-31 10:11:12.345' - INTERVAL '13' MONTH",
          "TIMESTAMP(3) 2023-02-28 10:11:12.345"},
         {"TIMESTAMP '2024-03-31 10:11:12.345' + INTERVAL '-1' MONTH",
          "TIMESTAMP(3) 2024-02-29 10:11:12.345"},
         {"ts + INTERVAL -'1' DAY", "TIMESTAMP(3) 2023-11-13 22:13:20.123"},
         {"ts + INTERVAL -'-1' DAY", "TIMESTAMP(3) 2023-11-15 22:13:20.123"},
         {"TIMESTAMP '2024-02-29 10:00:00' - INTERVAL '1' YEAR",
          "TIMESTAMP(3) 2023-02-28 10:00:00.000"},
         {"ts + INTERVAL '1' DAY + INTERVAL '1' MONTH", "TIMESTAMP(3) 2023-12-15 22:13:20.123"},
         {"CAST(NULL AS DATE) + INTERVAL '1' DAY", "DATE NULL"},
         {"CAST(NULL AS DATE) + INTERVAL '1' MONTH", "DATE NULL"}});
  for (const auto& [text, words] :
       Cases{{"DATE '9999-12-31' + INTERVAL '1' DAY", "years 1 to 9999"},
             {"i + INTERVAL '1' MONTH", "there is no INT + INTERVAL"},
             {"INTERVAL '1' MONTH - DATE '2024-01-31'", "INTERVAL … MONTH here is not supported"},
             {"ts + INTERVAL '1.5' MONTH", "is no number of MONTH"},
             {"ts + INTERVAL 'x' YEAR", "is no number of YEAR"},
             {"ts + INTERVAL '999999' MONTH", "longer than 9999 years"},
             {"ts + INTERVAL '1-2' YEAR TO MONTH", "write one after the other"}})
    EXPECT_NE(answer(text).find(words), std::string::npos) << text << ": " << answer(text);
}

// Digits before the point are kept, and inside a sum nothing is rounded. All as in Flink 2.3.
TEST(Expression, DecimalsWhoseCommonScaleHasNoRoom) {
  const std::string a = "CAST(12345678901234567890123456789012 AS DECIMAL(38, 0))";
  const std::string b = "CAST(1.0000000001 AS DECIMAL(38, 30))";
  const auto is = [&](const std::string& text, const std::string& wanted) {
    EXPECT_EQ(answer(text), wanted) << text;
  };
  is(a + " + " + b, "DECIMAL(38, 6) 12345678901234567890123456789013.000000");
  is(a + " - " + b, "DECIMAL(38, 6) 12345678901234567890123456789011.000000");
  is(b + " - " + a, "DECIMAL(38, 6) -12345678901234567890123456789011.000000");
  is(a + " * " + b, "DECIMAL(38, 6) 12345678902469135780246913578024.345679");
  is(a + " / " + b, "DECIMAL(38, 6) 12345678900000000000123456788999.654321");
  is("MOD(" + a + ", " + b + ")", "DECIMAL(38, 30) 0.654321100100000000000000000000");
  is("CASE WHEN i > 0 THEN " + b + " ELSE " + a + " END", "DECIMAL(38, 0) 1");
  is("COALESCE(" + b + ", " + a + ")", "DECIMAL(38, 0) 1");
  is(a + " > " + b, "BOOLEAN true");
  const std::string c = "CAST(12345678901234567890123456 AS DECIMAL(38, 2))";
  const std::string d = "CAST(1.55555555555 AS DECIMAL(20, 15))";
  is(c + " + " + d, "DECIMAL(38, 6) 12345678901234567890123457.555556");
  is(c + " - " + d, "DECIMAL(38, 6) 12345678901234567890123454.444444");
  is("CASE WHEN i > 0 THEN " + d + " ELSE " + c + " END", "DECIMAL(38, 2) 1.56");
  EXPECT_NE(answer(a + " + CAST(99999999999999999999999999999999999999 AS DECIMAL(38, 0)) + " + b)
                .find("does not fit DECIMAL(38, 0)"),
            std::string::npos);
}

TEST(Expression, BetweenInEitherOrder) {
  check({{"5 BETWEEN SYMMETRIC 7 AND 3", "BOOLEAN true"},
         {"5 BETWEEN ASYMMETRIC 7 AND 3", "BOOLEAN false"},
         {"5 NOT BETWEEN SYMMETRIC 7 AND 3", "BOOLEAN false"},
         {"5 BETWEEN SYMMETRIC n AND 7", "BOOLEAN NULL"},
         {"n BETWEEN SYMMETRIC 1 AND 7", "BOOLEAN NULL"},
         {"9 BETWEEN SYMMETRIC n AND 7", "BOOLEAN NULL"}});
  std::string nested = "i";
  for (int i = 0; i < 40; ++i)
    nested = "CASE WHEN i BETWEEN SYMMETRIC 1 AND " + nested + " THEN 1 ELSE 2 END";
  EXPECT_NE(answer(nested).find("more than 20000 parts"), std::string::npos);
}

// Any grouping of AND and OR has the same value, so there is no bound on how many there are.
TEST(Expression, AThousandConditionsAreNotTooDeep) {
  for (const std::string word : {"OR", "AND"}) {
    std::string text = "i = 0";
    for (int i = 1; i < 1000; ++i)
      text += " " + word + (word == "OR" ? " i = " : " i <> ") + std::to_string(i + 7000);
    EXPECT_EQ(answer(text + (word == "OR" ? " OR i = 7" : "")),
              word == "OR" ? "BOOLEAN true" : "BOOLEAN false");
    EXPECT_EQ(answer("CASE WHEN " + text + " THEN 1 ELSE 2 END"), "INT 2");
  }
}

TEST(Expression, FunctionsOfTimes) {
  check({{"TIMESTAMPDIFF(SECOND, TIMESTAMP '2026-01-01 00:00:01.900', TIMESTAMP '2026-01-01')",
          "INT -1"},
         {"TIMESTAMPDIFF(MONTH, DATE '2026-01-31', DATE '2026-02-28')", "INT 1"},
         {"TIMESTAMPDIFF(MONTH, DATE '2026-01-15', DATE '2026-03-14')", "INT 1"},
         {"TIMESTAMPADD(MONTH, 1, TIMESTAMP '2024-01-31 01:02:03')",
          "TIMESTAMP(3) 2024-02-29 01:02:03.000"},
         {"TIMESTAMPADD(DAY, -1, DATE '2026-01-01')", "DATE 2025-12-31"},
         {"TIMESTAMPADD(MONTH, 1, DATE '2026-01-31')", "DATE 2026-02-28"},
         {"TIMESTAMPADD(HOUR, -1, DATE '2026-01-01')", "TIMESTAMP(3) 2025-12-31 23:00:00.000"},
         {"FLOOR(DATE '2026-02-03' TO MONTH)", "DATE 2026-02-01"},
         {"CEIL(DATE '2026-02-03' TO YEAR)", "DATE 2027-01-01"},
         {"FLOOR(DATE '2026-11-28' TO WEEK)", "DATE 2026-11-22"},  // A Saturday, and a Sunday.
         {"FLOOR(TIMESTAMP '2026-11-29 10:00:00' TO WEEK)", "TIMESTAMP(3) 2026-11-29 00:00:00.000"},
         {"CEIL(TIMESTAMP '2026-11-29 10:00:00' TO WEEK)", "TIMESTAMP(3) 2026-12-06 00:00:00.000"},
         {"CEIL(DATE '1969-12-28' TO WEEK)", "DATE 1969-12-28"},
         {"FLOOR(ts TO HOUR)", "TIMESTAMP(3) 2023-11-14 22:00:00.000"},
         {"FLOOR(ts TO QUARTER)", "TIMESTAMP(3) 2023-10-01 00:00:00.000"},
         {"CEIL(ts TO MONTH)", "TIMESTAMP(3) 2023-12-01 00:00:00.000"},
         {"CEIL(TIMESTAMP '2026-01-01' TO DAY)", "TIMESTAMP(3) 2026-01-01 00:00:00.000"},
         {"DAYOFWEEK(DATE '1994-09-27')", "BIGINT 3"},
         {"WEEK(DATE '1994-09-27')", "BIGINT 39"},
         {"WEEK(DATE '2027-01-01')", "BIGINT 53"},
         {"DAYOFYEAR(DATE '1994-09-27')", "BIGINT 270"},
         {"QUARTER(DATE '1994-09-27')", "BIGINT 3"},
         {"EXTRACT(EPOCH FROM ts)", "BIGINT 1700000000"},
         {"EXTRACT(MILLISECOND FROM ts)", "BIGINT 123"},
         {"UNIX_TIMESTAMP('1970-01-02 00:00:01')", "BIGINT 86401"},
         {"FROM_UNIXTIME(86401)", "STRING 1970-01-02 00:00:01"},
         {"FROM_UNIXTIME(0, 'dd.MM.yyyy')", "STRING 01.01.1970"},
         {"CURRENT_TIMESTAMP > ts AND CURRENT_DATE > DATE '2026-01-01'", "BOOLEAN true"}});
  EXPECT_NE(answer("TIMESTAMPADD(YEAR, 9000, ts)").find("years 1 to 9999"), std::string::npos);
  EXPECT_NE(answer("TIMESTAMPADD(EON, 1, ts)").find("wants a unit of time"), std::string::npos);
}

TEST(Expression, StringsAndTimes) {
  check({{"CHAR_LENGTH(s)", "INT 7"},
         {"SUBSTRING(s, 3, 2)", "STRING öß"},
         {"SUBSTRING(s, -1)", "STRING %"},
         {"SUBSTRING(s, 0, 2)", "STRING gr"},
         {"SUBSTRING(s, 2, -1)", "STRING NULL"},
         {"SUBSTRING(s, -99, 4)", "STRING "},
         {"TO_TIMESTAMP('no time')", "TIMESTAMP(3) NULL"},
         {"TRY_CAST('Yes' AS BOOLEAN)", "BOOLEAN true"},
         {"TRY_CAST(' Yes ' AS BOOLEAN)", "BOOLEAN true"},
         {"CAST('0' AS BOOLEAN)", "BOOLEAN false"},
         {"TRY_CAST('maybe' AS BOOLEAN)", "BOOLEAN NULL"},
         {"CAST('12.7' AS INT)", "INT 12"},
         {"CAST('-12.7' AS BIGINT)", "BIGINT -12"},
         {"TRY_CAST('12.7x' AS INT)", "INT NULL"},
         {"SUBSTRING(s, 99)", "STRING "},
         {"s LIKE 'gr__e%'", "BOOLEAN true"},
         {"s LIKE '%!%' ESCAPE '!'", "BOOLEAN true"},
         {"s LIKE 'GR%'", "BOOLEAN false"},
         {"TRIM('  a b ') || 'c'", "STRING a bc"},
         {"EXTRACT(MINUTE FROM ts)", "BIGINT 13"},
         {"ts - INTERVAL '0.123' SECOND", "TIMESTAMP(3) 2023-11-14 22:13:20.000"},
         {"ts > '2023-11-14'", "BOOLEAN true"}});
}

TEST(Expression, ConcatenationIsBoundedAsOtherMadeTextsAre) {
  EXPECT_NE(answer("REPEAT('a', 16777216) || 'b'").find("longer than 16 MiB"), std::string::npos);
  EXPECT_EQ(answer("CHAR_LENGTH(REPEAT('a', 16777215) || 'b')"), "INT 16777216");
}

std::string nested(const std::string& before, const std::string& behind, int levels,
                   std::string text = "i") {
  for (int level = 0; level < levels; ++level)
    text = before + text + behind;
  return text;
}

// Each reads its operand twice: within one another they had 2 to the power of the levels parts.
TEST(Expression, WhatReadsItsOperandTwiceDoesNotGrowWithoutBound) {
  EXPECT_EQ(answer(nested("COALESCE(", ", 1)", 10)), "INT 7");
  EXPECT_EQ(answer(nested("NULLIF(", ", 1)", 10)), "INT 7");
  for (const auto& text : {nested("COALESCE(", ", 1)", 60), nested("NULLIF(", ", 1)", 60),
                           nested("(", " IS NOT DISTINCT FROM b)", 40, "b"),
                           nested("(", " BETWEEN b AND b)", 40, "b")})
    EXPECT_NE(answer(text).find("read twice has more than"), std::string::npos) << answer(text);
}

TEST(Expression, ValueOfACaseMayBeAnyExpression) {
  EXPECT_EQ(answer("CASE MOD(CAST(-(i + 1) AS BIGINT) * 2, 5) WHEN -1 THEN 'a' ELSE 'b' END"),
            "STRING a");
  EXPECT_EQ(answer("CASE CASE CASE i WHEN 7 THEN 1 END WHEN 1 THEN 2 END WHEN 2 THEN 3 END"),
            "INT 3");
  std::string deep = "i";
  for (int level = 0; level < 60; ++level)
    deep = "CASE " + deep + " WHEN 1 THEN 1 WHEN 2 THEN 2 END";
  EXPECT_NE(answer(deep).find("too long"), std::string::npos);
}

// The text behind the last one was not counted.
TEST(Expression, ReplaceMakesNoTextLongerThan16MiB) {
  const auto replaced = [](const std::string& text) {
    return answer("CHAR_LENGTH(REPLACE(" + text + "))");
  };
  EXPECT_EQ(replaced("'b' || REPEAT('a', 16777214), 'b', 'cc'"), "INT 16777216");
  EXPECT_NE(
      replaced("'b' || REPEAT('a', 16777215), 'b', 'cc'").find("a text is longer than 16 MiB"),
      std::string::npos);
  EXPECT_NE(replaced("'b' || REPEAT('a', 16777215), 'b', REPEAT('c', 16777215)")
                .find("a text is longer than 16 MiB"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::sql
