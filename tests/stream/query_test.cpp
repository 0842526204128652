// Queries that a program puts together: their text, their rows in a function, what is wrong.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/query.hpp>

namespace holdfast::stream {
namespace {

using std::chrono::milliseconds;

class QueryTest : public testing::Test {
 protected:
  QueryTest() {
    directory_ = ::mkdtemp(name_);
    std::ofstream(directory_ / "in.csv")
        << "2026-01-01 00:00:01,a,1\n2026-01-01 00:00:02,b,5\n2026-01-01 00:00:03,a,7\n";
    queries_
        .define(
            "CREATE TABLE t (at TIMESTAMP(3), k STRING, v BIGINT, WATERMARK FOR at AS at) "
            "WITH ('connector' = 'filesystem', 'path' = '" +
            (directory_ / "in.csv").string() + "', 'format' = 'csv')")
        .value();
  }
  ~QueryTest() override { std::filesystem::remove_all(directory_); }

  char name_[64] = "/tmp/holdfast-query-test-XXXXXX";
  std::filesystem::path directory_;
  Queries queries_;
};

// Text and number of each row: "+I a 8".
std::vector<std::string> rows_of(const Query& query) {
  std::vector<std::string> rows;
  query
      .for_each([&](RowKind kind, const sql::Row& row) {
        rows.push_back(std::string(text_of(kind)) + " " + row[0].text + " " +
                       std::to_string(static_cast<int>(row[1].number)));
        return Status();
      })
      .value();
  return rows;
}

TEST_F(QueryTest, WindowsGroupsAndConditionsAreThoseOfTheText) {
  const auto query = queries_.from("t")
                         .where("v < 9")
                         .where("v > 0 OR k = 'b'")
                         .tumble("at", milliseconds(2'500))
                         .group_by({"k"})
                         .having("SUM(v) > 1")
                         .select({"k", "SUM(v) AS s"});
  EXPECT_EQ(query.sql(),
            "SELECT k, SUM(v) AS s\n"
            "FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '2.500' SECOND))\n"
            "WHERE (v < 9) AND (v > 0 OR k = 'b')\n"
            "GROUP BY window_start, window_end, k\n"
            "HAVING (SUM(v) > 1)");
  EXPECT_EQ(rows_of(query), (std::vector<std::string>{"+I b 5", "+I a 7"}));
  const auto hop =
      queries_.from("t").hop("at", milliseconds(1'000), milliseconds(2'000)).group_by({});
  EXPECT_EQ(rows_of(hop.select({"'all'", "SUM(v)"})),
            (std::vector<std::string>{"+I all 1", "+I all 6", "+I all 12", "+I all 7"}));
}

TEST_F(QueryTest, EachWindowOfSqlHasACall) {
  const auto t = queries_.from("t");
  const auto step = t.cumulate("at", milliseconds(2'000), milliseconds(4'000));
  EXPECT_EQ(rows_of(step.group_by({}).select({"'all'", "SUM(v)"})),
            (std::vector<std::string>{"+I all 1", "+I all 13"}));
  const auto session = t.session("at", milliseconds(2'000));
  EXPECT_EQ(rows_of(session.group_by({"k"}).select({"k", "SUM(v)"})),
            (std::vector<std::string>{"+I b 5", "+I a 8"}));
  EXPECT_EQ(rows_of(session.group_by({}).select({"'all'", "SUM(v)"})),
            (std::vector<std::string>{"+I all 13"}));
  const auto rows = t.tumble_rows(2);
  EXPECT_EQ(rows_of(rows.group_by({"k"}).select({"k", "SUM(v)"})),
            (std::vector<std::string>{"+I a 8"}));
  EXPECT_EQ(rows.where("v < 6").select({"'all'", "SUM(v)"}).sql(),
            "SELECT 'all', SUM(v)\nFROM t\nWHERE (v < 6)\nGROUP BY TUMBLE_ROWS(2)");
  EXPECT_EQ(rows_of(t.hop_rows(1, 2).select({"'all'", "SUM(v)"})),
            (std::vector<std::string>{"+I all 6", "+I all 12"}));
}

TEST_F(QueryTest, RowsThatChangeComeWithTheirKind) {
  EXPECT_EQ(rows_of(queries_.from("t").group_by({"k"}).select({"k", "SUM(v)"})),
            (std::vector<std::string>{"+I a 1", "+I b 5", "-U a 1", "+U a 8"}));
}

TEST_F(QueryTest, AnErrorOfTheFunctionEndsTheQuery) {
  int rows = 0;
  const Status status = queries_.from("t").select({"v"}).for_each([&](RowKind, const sql::Row&) {
    return ++rows == 2 ? Status(Error{Errc::kNoSpace, "enough"}) : Status();
  });
  EXPECT_EQ(status.code(), Errc::kNoSpace);
  EXPECT_EQ(rows, 2);
}

TEST_F(QueryTest, AQueryIsNoDefinitionAndAnUnknownNameIsSaid) {
  EXPECT_EQ(queries_.define("SELECT v FROM t").code(), Errc::kInvalidOption);
  const auto nothing = [](RowKind, const sql::Row&) { return Status(); };
  const Status status = queries_.from("t").select({"w"}).for_each(nothing);
  EXPECT_EQ(status.code(), Errc::kInvalidOption);
  EXPECT_NE(status.error().detail.find("w"), std::string::npos);
}

TEST_F(QueryTest, RowsGoToATable) {
  queries_
      .define("CREATE TABLE out (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '" +
              (directory_ / "out").string() + "', 'format' = 'csv')")
      .value();
  queries_.from("t").where("v > 1").select({"k", "v"}).insert_into("out").value();
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "out"))
    std::getline(std::ifstream(entry.path()), text, '\0');
  EXPECT_EQ(text, "b,5\na,7\n");
}

// An interval beyond the clock's range was one in the past: a checkpoint for each few rows.
TEST(Durations, ThoseThatNoClockHoldsAreRefused) {
  EXPECT_EQ(duration_of("36500d", "t").value(), std::chrono::days(36'500));
  for (const auto* text : {"36501d", "86400000d", "876001h", "9223372036854775807ms", "0s", "-1s"})
    EXPECT_EQ(duration_of(text, "t").code(), Errc::kInvalidOption) << text;
}

}  // namespace
}  // namespace holdfast::stream
