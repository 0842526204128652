// Which operators of a plan run in shards, and which columns of its tables say where a row goes.
#include <gtest/gtest.h>

#include <string>

#include <holdfast/stream/workers/shard_keys.hpp>

#include "planned.hpp"

namespace holdfast::stream::shard_keys_test {
namespace {

std::string table(const std::string& name) {
  return "CREATE TABLE " + name +
         " (ts TIMESTAMP(3), k STRING, m STRING, v BIGINT, w INT, WATERMARK FOR ts AS ts) WITH "
         "('connector' = 'x');\n";
}
const std::string kTables =
    table("a") + table("b") + table("c") +
    "CREATE TABLE clocked (k STRING, p AS PROCTIME()) WITH ('connector' = 'x');\n"
    "CREATE TABLE drawn (k AS CAST(PROCTIME() AS STRING), v BIGINT) WITH ('connector' = 'x');\n"
    "CREATE TABLE names (k STRING, n STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = "
    "'x');\n";

// Tables with the columns that share their rows out, and operators with state that are in shards;
// behind a line the operators that are there once. Or why there are no shards.
std::string shards_of(const std::string& query) {
  const auto planned = planned_of(kTables + query);
  if (!planned) return planned.error().message();
  const auto& plan = planned->plan;
  const auto keys = shard_keys(plan);
  if (!keys) return keys.error().detail;
  std::string in, out;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    auto name = sql::text_of(node, plan.nodes);
    name = name.substr(0, name.find_first_of(" ("));
    const auto* scan = std::get_if<sql::Scan>(&node.what);
    if (scan != nullptr) {
      name = scan->table->name + "(";
      for (const auto column : keys->columns[i])
        name += scan->table->columns[column].name;
      name += ")";
    }
    const bool shown = scan != nullptr || state_keys_of(node) != nullptr;
    if (!keys->sharded[i] || shown) (keys->sharded[i] ? in : out) += name + " ";
    for (const auto input : node.inputs)
      EXPECT_TRUE(keys->sharded[input] || !keys->sharded[i]) << query;
  }
  return in + "| " + out;
}

const std::string kNone =
    "its joins, groups and rankings have no columns of the tables as common keys";

TEST(ShardKeys, JoinsAndTheGroupsBehindThem) {
  EXPECT_EQ(shards_of("SELECT a.k, b.v FROM a JOIN b ON a.k = b.k"), "a(k) b(k) Join | ");
  EXPECT_EQ(shards_of("SELECT a.v, b.k FROM a JOIN b ON a.k = b.m"), "a(k) b(m) Join | ");
  EXPECT_EQ(shards_of("SELECT a.k, COUNT(*) FROM a JOIN b ON a.k = b.m GROUP BY a.k"),
            "a(k) b(m) Join Group | ");
  // Of either side, and beside other keys.
  EXPECT_EQ(shards_of("SELECT b.m, COUNT(*) FROM a JOIN b ON a.k = b.m GROUP BY b.m, a.v"),
            "a(k) b(m) Join Group | ");
  EXPECT_EQ(shards_of("SELECT COUNT(*) FROM a JOIN b ON a.k = b.k AND a.v = b.v GROUP BY a.v"),
            "a(v) b(v) Join Group | ");
  EXPECT_EQ(shards_of("SELECT a.k FROM a JOIN b ON a.k = b.k AND a.v = b.v"),
            "a(kv) b(kv) Join | ");
  // The average per category of the highest bids (NEXMark's q4).
  EXPECT_EQ(shards_of("SELECT m, AVG(x) FROM (SELECT a.k, a.m, MAX(b.v) AS x FROM a JOIN b ON a.k "
                      "= b.k GROUP BY a.k, a.m) q GROUP BY m"),
            "a(k) b(k) Join Group | Group Project ");
  EXPECT_EQ(shards_of("SELECT a.k FROM a JOIN b ON a.v = b.w"), kNone);  // One is cast.
  EXPECT_EQ(shards_of("SELECT a.k FROM a, b WHERE a.v < b.v"), kNone);
}

TEST(ShardKeys, ASideThatNullsStandForSaysNothing) {
  const std::string group = " ON a.k = b.m GROUP BY ";
  EXPECT_EQ(shards_of("SELECT COUNT(*) FROM a LEFT JOIN b" + group + "a.k"),
            "a(k) b(m) Join Group | ");
  EXPECT_EQ(shards_of("SELECT COUNT(*) FROM a LEFT JOIN b" + group + "b.m"),
            "a(k) b(m) Join | Group Project ");
  EXPECT_EQ(shards_of("SELECT COUNT(*) FROM a RIGHT JOIN b" + group + "b.m"),
            "a(k) b(m) Join Group | ");
  EXPECT_EQ(shards_of("SELECT COUNT(*) FROM a RIGHT JOIN b" + group + "a.k"),
            "a(k) b(m) Join | Group Project ");
  EXPECT_EQ(shards_of("SELECT COUNT(*) FROM a FULL JOIN b" + group + "a.k"),
            "a(k) b(m) Join | Group Project ");
  EXPECT_EQ(shards_of("SELECT k, COUNT(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.m = a.k) "
                      "GROUP BY k"),
            "a(k) b(m) Join Group | ");
}

TEST(ShardKeys, GroupsRankingsAndUnions) {
  EXPECT_EQ(shards_of("SELECT k, SUM(v) FROM a GROUP BY k"), "a(k) Group | ");
  EXPECT_EQ(shards_of("SELECT DISTINCT k, v FROM a"), "a(kv) Group | ");
  EXPECT_EQ(shards_of("SELECT SUM(v) FROM a"), kNone);
  EXPECT_EQ(shards_of("SELECT s, COUNT(*) FROM (SELECT k, SUM(v) AS s FROM a GROUP BY k) x GROUP "
                      "BY s"),
            "a(k) Group | Group Project ");
  // Both by what they have in common.
  EXPECT_EQ(shards_of("SELECT k, COUNT(*) FROM (SELECT k, m, SUM(v) AS s FROM a GROUP BY k, m) x "
                      "GROUP BY k"),
            "a(k) Group Group | ");
  const std::string ranked =
      "SELECT k, v FROM (SELECT k, m, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM ";
  EXPECT_EQ(shards_of(ranked + "a) x WHERE n <= 2"), "a(k) Rank | ");
  const std::string both = "(SELECT k, m, v FROM a UNION ALL SELECT m, k, v FROM b) y";
  EXPECT_EQ(shards_of(ranked + both + ") x WHERE n <= 2"), "a(k) b(m) Rank | ");
  // One of two columns that are equal in one table only.
  EXPECT_EQ(
      shards_of("SELECT d, COUNT(*) FROM (SELECT c, d, ROW_NUMBER() OVER (PARTITION BY c ORDER "
                "BY v) AS n FROM (SELECT k AS c, k AS d, v FROM a UNION ALL SELECT k AS c, m "
                "AS d, v FROM b) u) x WHERE n <= 2 GROUP BY d"),
      "a(k) b(k) Rank | Group Project ");
  // Of one table in two ways.
  EXPECT_EQ(shards_of("SELECT k, COUNT(*) FROM (SELECT k FROM a UNION ALL SELECT k || 'x' AS k "
                      "FROM b) y GROUP BY k"),
            kNone);
  EXPECT_EQ(shards_of(ranked + "a) x WHERE n <= 2 LIMIT 3"), "a(k) Rank | Sort Project ");
  EXPECT_EQ(shards_of("SELECT CAST(v AS STRING), COUNT(*) FROM a GROUP BY CAST(v AS STRING)"),
            kNone);
}

// What shares rows out is computed once more where it is compiled.
TEST(ShardKeys, AColumnThatVariesIsNoKey) {
  EXPECT_EQ(shards_of("SELECT k, v, COUNT(*) FROM drawn GROUP BY k, v"), "drawn(v) Group | ");
  EXPECT_EQ(shards_of("SELECT k, COUNT(*) FROM drawn GROUP BY k"), kNone);
}

TEST(ShardKeys, TablesAreSharedOutEachByColumnsOfItsOwn) {
  EXPECT_EQ(shards_of("SELECT x.n, y.n FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) x JOIN "
                      "(SELECT m, COUNT(*) AS n FROM b GROUP BY m) y ON x.n = y.n"),
            "a(k) Group b(m) Group | Join Project ");
  // A row of the third table goes to any shard.
  EXPECT_EQ(shards_of("SELECT x.v, c.v FROM (SELECT a.v FROM a JOIN b ON a.k = b.k) x JOIN c ON "
                      "x.v = c.v"),
            "a(k) b(k) Join c() | Join Project ");
}

TEST(ShardKeys, WindowsAndTimes) {
  const auto window = [](const std::string& of) {
    return "TABLE(TUMBLE(TABLE " + of + ", DESCRIPTOR(ts), INTERVAL '1' MINUTE))";
  };
  const std::string joined = "(SELECT * FROM " + window("a") + ") x JOIN (SELECT * FROM " +
                             window("b") +
                             ") y ON x.k = y.k AND x.window_start = y.window_start AND "
                             "x.window_end = y.window_end";
  EXPECT_EQ(shards_of("SELECT x.v, y.v FROM " + joined), "a(k) b(k) WindowJoin | ");
  EXPECT_EQ(shards_of("SELECT a.v FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '5' "
                      "SECOND AND b.ts"),
            "a(k) b(k) IntervalJoin | ");
  // What a watermark brings out comes shard by shard: nothing behind it may depend on the order.
  const std::string latest = "SELECT LAST_VALUE(v) FROM (SELECT x.m, x.v FROM " + joined + ") z";
  EXPECT_EQ(shards_of(latest), kNone);
  EXPECT_EQ(shards_of("SELECT LAST_VALUE(v) FROM (SELECT a.v FROM a JOIN b ON a.k = b.k) z"),
            "a(k) b(k) Join | Group Project ");
}

// Of two versions of a key with one time the later one counts: windows do not bring them out in the
// order of one worker.
TEST(ShardKeys, VersionsOfWindowsAreNotInShards) {
  const std::string counts =
      "WITH counts AS (SELECT k, v, n, t FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER "
      "BY t DESC) AS r FROM (SELECT k, v, COUNT(*) AS n, window_time AS t FROM TABLE(TUMBLE(TABLE "
      "a, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, v, window_start, window_end, "
      "window_time) x) y WHERE r = 1) ";
  EXPECT_EQ(shards_of(counts + "SELECT b.v, counts.n FROM b LEFT JOIN counts FOR SYSTEM_TIME AS OF "
                               "b.ts ON b.k = counts.k"),
            kNone);
}

// Each query reads the one before it twice: the paths from the last to the table double with each.
TEST(ShardKeys, PlansWhoseNodesAreReadOftenTakeNoLonger) {
  std::string views = "WITH v0 AS (SELECT k FROM a)";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "v" + std::to_string(i - 1);
    views += ", v" + std::to_string(i) + " AS (SELECT k FROM " + before +
             " UNION ALL SELECT k FROM " + before + " WHERE k > 'm')";
  }
  EXPECT_EQ(shards_of(views + " SELECT k, COUNT(*) FROM v40 GROUP BY k").substr(0, 5), "a(k) ");
}

TEST(ShardKeys, WhatFollowsTheClockOrReadsMoreThanTables) {
  EXPECT_EQ(shards_of("SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE clocked, DESCRIPTOR(p), INTERVAL "
                      "'1' SECOND)) GROUP BY k, window_start, window_end"),
            "it follows the clock");
  EXPECT_EQ(shards_of("SELECT a.v, n FROM (SELECT *, PROCTIME() AS p FROM a) a JOIN names FOR "
                      "SYSTEM_TIME AS OF a.p ON a.k = names.k"),
            "it looks a table up");
  EXPECT_EQ(shards_of("SELECT k, COUNT(*) FROM (SELECT k FROM a UNION ALL SELECT x.k FROM (VALUES "
                      "('x')) AS x (k)) y GROUP BY k"),
            "some of its rows stand in its text");
}

}  // namespace
}  // namespace holdfast::stream::shard_keys_test
