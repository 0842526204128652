// Texts that are refused: where, and in which words. And bounds that no text passes.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include <holdfast/sql/lexer.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>

namespace holdfast::sql {
namespace {

std::string refusal(const std::string& text) {
  const auto statements = parse(text);
  if (!statements) return statements.error().detail;
  Catalog catalog;
  for (const auto& statement : *statements) {
    Status status;
    if (const auto* table = std::get_if<syntax::CreateTable>(&statement)) {
      status = catalog.add(*table);
    } else if (const auto* view = std::get_if<syntax::CreateView>(&statement)) {
      status = catalog.add(*view);
    } else if (const auto* query = std::get_if<syntax::QueryStatement>(&statement)) {
      if (const auto plan = plan_of(*query, catalog); !plan) status = plan.error();
    }
    if (!status) return status.error().detail;
  }
  return "";
}

const std::string kTable =
    "CREATE TABLE t (ts TIMESTAMP(3), k STRING, v INT, WATERMARK FOR ts AS ts) "
    "WITH ('connector' = 'none');\n";

TEST(Parser, NamesThePlace) {
  EXPECT_EQ(refusal("SELECT\n  a b c FROM t"),
            "line 2, column 7: expected ';' or the end, found 'c'");
  EXPECT_EQ(refusal("SELECT 'ö' + 'x FROM t"),
            "line 1, column 14: this ' has no partner; a quote within is written twice");
  EXPECT_EQ(refusal("SELECT v FROM t INTERSECT ALL SELECT v FROM t"),
            "line 1, column 17: INTERSECT ALL is not supported; INTERSECT is");
  EXPECT_EQ(refusal("EXECUTE STATEMENT SET BEGIN SELECT 1; END"),
            "line 1, column 29: expected INSERT INTO or END, found 'SELECT'");
  EXPECT_NE(
      refusal("BEGIN STATEMENT SET; INSERT INTO t SELECT 1;").find("END of the STATEMENT SET"),
      std::string::npos);
  EXPECT_EQ(refusal(kTable + "SELECT k, SUM(v) FROM t GROUP BY v"),
            "line 2, column 8: k is neither in GROUP BY nor in an aggregate");
  EXPECT_EQ(refusal(kTable + "SELECT v FROM t WHERE SUM(v) > 1"),
            "line 2, column 23: an aggregate cannot stand here; a condition on aggregates stands "
            "in HAVING");
  EXPECT_EQ(refusal(kTable + "SELECT SUM(k) FROM t"),
            "line 2, column 8: there is no SUM of STRING");
}

// Words of Flink that would else be taken for an alias, or for a mistake.
TEST(Parser, WhatIsNotSupportedIsNamed) {
  EXPECT_EQ(refusal("SELECT v FROM t TABLESAMPLE SYSTEM (10)"),
            "line 1, column 17: TABLESAMPLE is not supported");
  EXPECT_EQ(refusal("CREATE TABLE u LIKE t"),
            "line 1, column 16: CREATE TABLE … LIKE is not supported; write its columns in "
            "parentheses");
  EXPECT_EQ(refusal("CREATE TABLE u AS SELECT 1"),
            "line 1, column 16: CREATE TABLE … AS is not supported; write its columns in "
            "parentheses");
  EXPECT_EQ(refusal("CREATE TABLE u (v INT) WITH ('connector' = 'none') LIKE t"),
            "line 1, column 52: LIKE is not supported");
  EXPECT_EQ(refusal(kTable + "SELECT v FROM t WHERE v > ALL (SELECT v FROM t)"),
            "line 2, column 27: ALL (query) is not supported; IN (query), or a comparison with "
            "(SELECT MAX(…) …)");
  EXPECT_EQ(refusal(kTable + "SELECT v FROM t WHERE (k, v) IN (('a', 1))"),
            "line 2, column 23: (a, b) as a value is not supported; ROW(a, b) is one");
  EXPECT_EQ(refusal(kTable + "SELECT LISTAGG(k) WITHIN GROUP (ORDER BY v) FROM t"),
            "line 2, column 19: WITHIN GROUP is not supported; the order is that of the rows");
  EXPECT_EQ(refusal("SELECT CURRENT_TIME"),
            "line 1, column 8: CURRENT_TIME is not supported; CURRENT_TIMESTAMP is a date and a "
            "time");
  EXPECT_EQ(refusal("INSERT OVERWRITE t SELECT 1"),
            "line 1, column 8: INSERT OVERWRITE is not supported; INSERT INTO is");
}

TEST(Parser, NamesOfCatalogsAndDatabasesAreRefused) {
  const std::string said =
      "the catalog or database of default_catalog.db.t is not supported; all "
      "tables are in one: write t alone";
  EXPECT_EQ(refusal(kTable + "SELECT v FROM default_catalog.db.t"), "line 2, column 15: " + said);
  EXPECT_EQ(refusal(kTable + "INSERT INTO default_catalog.db.t SELECT 1"),
            "line 2, column 13: " + said);
  EXPECT_EQ(refusal("CREATE TABLE default_catalog.db.t (v INT) WITH ('connector' = 'none')"),
            "line 1, column 14: " + said);
  EXPECT_EQ(refusal("CREATE VIEW default_catalog.db.t AS SELECT 1"), "line 1, column 13: " + said);
  EXPECT_NE(
      refusal(kTable + "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE db.t, DESCRIPTOR(ts), INTERVAL "
                       "'1' SECOND)) GROUP BY window_start, window_end")
          .find("database of db.t is not supported"),
      std::string::npos);
}

TEST(Parser, WhatMakesJsonIsRefusedBeforeItsArguments) {
  const std::string said =
      " is not supported; JSON_VALUE, JSON_QUERY and JSON_EXISTS read JSON; a sink of 'format' = "
      "'json' writes ROW(…), ARRAY[…] and MAP[…] as JSON";
  EXPECT_EQ(refusal("SELECT JSON_OBJECT('K' VALUE 1)"), "line 1, column 8: JSON_OBJECT" + said);
  EXPECT_EQ(refusal("SELECT JSON_OBJECT(KEY 'K' VALUE 1 ABSENT ON NULL)"),
            "line 1, column 8: JSON_OBJECT" + said);
  EXPECT_EQ(refusal("SELECT JSON_ARRAYAGG(v ABSENT ON NULL)"),
            "line 1, column 8: JSON_ARRAYAGG" + said);
}

TEST(Parser, CommentsOfTablesAndColumnsSayNothing) {
  EXPECT_EQ(refusal("CREATE TABLE t (v INT COMMENT 'x', w AS v + 1 COMMENT 'it''s', comment INT) "
                    "COMMENT 'y' WITH ('connector' = 'none');\n"
                    "CREATE VIEW u COMMENT 'z' AS SELECT v, w, comment FROM t; SELECT * FROM u"),
            "");
  EXPECT_EQ(refusal("CREATE TABLE t (v INT COMMENT x)"),
            "line 1, column 31: expected a text behind COMMENT, found 'x'");
}

// Flink's hints stand in comments: a query without them would be another one.
TEST(Parser, HintsAreRefusedByNameAndCommentsStay) {
  EXPECT_EQ(refusal("SELECT\n  /*+ STATE_TTL('t' = '1 h') */ v FROM t"),
            "line 2, column 7: the hint STATE_TTL is not supported; SET 'table.exec.state.ttl' = "
            "'…' holds for the whole query");
  EXPECT_EQ(refusal(kTable + "SELECT v FROM t /*+ options('a' = 'b') */"),
            "line 2, column 21: the hint OPTIONS is not supported; write the options behind WITH "
            "of CREATE TABLE");
  EXPECT_EQ(refusal("SELECT /*+\n BROADCAST(t) */ v FROM t"),
            "line 2, column 2: the hint BROADCAST is not supported; remove it: the answer is the "
            "same without it");
  EXPECT_EQ(refusal("SELECT /*+ FAST */ v FROM t"),
            "line 1, column 12: there is no hint FAST; hints are not supported; an ordinary "
            "comment begins with /* alone");
  for (const std::string nameless : {"SELECT /*+*/ 1", "SELECT /*+ */ 1", "SELECT /*+", "/*+ "})
    EXPECT_NE(refusal(nameless).find("a hint has no name"), std::string::npos) << nameless;
  EXPECT_EQ(refusal(kTable + "SELECT /* + */ /**/ /* STATE_TTL */ v -- /*+ FAST */\n FROM t"), "");
  EXPECT_EQ(refusal("SELECT '/*+ FAST */' AS `/*+ FAST */`"), "");
}

TEST(Parser, WindowsWantTheirTimeAndTheirGroups) {
  const std::string of = kTable + "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(";
  EXPECT_EQ(refusal(of + "ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end"), "");
  EXPECT_NE(refusal(of + "v), INTERVAL '1' SECOND)) GROUP BY window_start, window_end")
                .find("no time attribute"),
            std::string::npos);
  EXPECT_NE(refusal(of + "ts), INTERVAL '1' SECOND)) GROUP BY window_start")
                .find("grouping a window's rows without the window"),
            std::string::npos);
  EXPECT_NE(refusal(of + "ts), INTERVAL '0' SECOND)) GROUP BY window_start, window_end")
                .find("longer than nothing"),
            std::string::npos);
  // Windows that begin each slide are moved by what is left of the offset, as in Flink.
  const auto moved = [&](const std::string& call) {
    return refusal(kTable + "SELECT COUNT(*) FROM TABLE(" + call +
                   ")) GROUP BY window_start, window_end");
  };
  const std::string second = "INTERVAL '1' SECOND", seven = "INTERVAL '7' SECOND";
  EXPECT_EQ(moved("HOP(TABLE t, DESCRIPTOR(ts), " + second + ", " + second + ", " + seven), "");
  EXPECT_EQ(moved("CUMULATE(TABLE t, DESCRIPTOR(ts), " + second + ", " + second + ", " + seven),
            "");
  EXPECT_NE(moved("TUMBLE(TABLE t, DESCRIPTOR(ts), " + second + ", " + seven)
                .find("the offset of TUMBLE is shorter than its size"),
            std::string::npos);
  EXPECT_EQ(refusal(kTable + "SELECT HOP_START(ts, INTERVAL '1' SECOND, INTERVAL '5' SECOND) FROM "
                             "t GROUP BY HOP(ts, INTERVAL '1' SECOND, INTERVAL '5' SECOND)"),
            "");
}

TEST(Parser, AStatementSetIsQueriesSideBySide) {
  for (const std::string begin : {"EXECUTE STATEMENT SET BEGIN ", "BEGIN STATEMENT SET;\n"}) {
    const auto parsed = parse(kTable + begin +
                              "INSERT INTO t SELECT * FROM t; INSERT INTO t SELECT * FROM t; END;");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    ASSERT_EQ(parsed->size(), 4u);
    const auto& set = std::get<syntax::SetOption>((*parsed)[1]).option;
    EXPECT_EQ(set.key + "=" + set.value, "table.dml-sync=false");
  }
}

TEST(Parser, AByteOrderMarkIsNoPartOfTheText) {
  EXPECT_TRUE(parse("\xEF\xBB\xBFSELECT 1"));
  EXPECT_FALSE(parse("SELECT \xEF\xBB\xBF 1"));
}

TEST(Parser, NoTextIsTooDeepOrTooLong) {
  const std::string deep(100'000, '(');
  EXPECT_NE(refusal("SELECT " + deep).find("nested deeper"), std::string::npos);
  std::string chain = "SELECT 1";
  for (int i = 0; i < 100'000; ++i)
    chain += "+1";
  EXPECT_NE(refusal(chain + " FROM t").find("deeper than"), std::string::npos);
  std::string nots = "SELECT ";
  for (int i = 0; i < 100'000; ++i)
    nots += "NOT ";
  EXPECT_NE(refusal(nots + "TRUE FROM t").find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal(std::string(kMaxDepth, ' ') + std::string(2 << 20, ' ')).find("bytes"),
            std::string::npos);
  EXPECT_NE(refusal("SELECT \xff").find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::sql
