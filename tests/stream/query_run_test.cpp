// Queries of several tables that a program puts together: their rows, interpreted and compiled; rows
// to several tables; views, settings, and messages with their line.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/stream/query.hpp>

namespace holdfast::stream {
namespace {

using std::chrono::milliseconds;
using Lines = std::vector<std::string>;

class QueryRun : public testing::Test {
 protected:
  QueryRun() {
    directory_ = ::mkdtemp(name_);
    add("orders", "at TIMESTAMP(3), id BIGINT, item STRING, price BIGINT, p AS PROCTIME(), ",
        "2026-01-01 09:00:01,1,tea,3\n2026-01-01 09:00:02,2,cake,5\n2026-01-01 09:00:03,3,tea,4\n"
        "2026-01-01 09:01:10,4,tea,1\n2026-01-01 09:01:20,5,pie,7\n");
    add("items", "name STRING, stock BIGINT, at TIMESTAMP(3), PRIMARY KEY (name) NOT ENFORCED, ",
        "tea,10,2026-01-01 09:00:00\ncake,2,2026-01-01 09:00:02\ntea,20,2026-01-01 09:01:00\n"
        "jam,9,2026-01-01 09:01:30\n");
    add("shops", "name STRING, city STRING, at TIMESTAMP(3), ",
        "tea,rome,2026-01-01 09:00:00\ncake,oslo,2026-01-01 09:00:00\n");
  }
  ~QueryRun() override { std::filesystem::remove_all(directory_); }

  void add(const std::string& table, const std::string& columns, const std::string& rows) {
    std::ofstream(directory_ / (table + ".csv")) << rows;
    define(table + " (" + columns + "WATERMARK FOR at AS at)", table + ".csv");
  }
  void define(const std::string& table, const std::string& file) {
    queries_
        .define("CREATE TABLE " + table + " WITH ('connector' = 'filesystem', 'path' = '" +
                (directory_ / file).string() + "', 'format' = 'csv')")
        .value();
  }
  // The rows of a sink.
  std::string written(const std::string& file) const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / file)) {
      std::string text;
      std::getline(std::ifstream(entry.path()), text, '\0');
      all += text;
    }
    return all;
  }

  // The rows at the end, sorted: "1 tea".
  Lines rows(const Query& query) const { return rows(query, compile::CompileMode::kNever); }
  // The same, which compiled code has, too.
  Lines rows_of_both(const Query& query) const {
    const auto interpreted = rows(query);
#ifndef HF_SANITIZED  // A compiled query has no sanitizer in it.
    EXPECT_EQ(rows(query, compile::CompileMode::kWait), interpreted) << query.sql();
#endif
    return interpreted;
  }

  static void SetUpTestSuite() { cache_ = ::mkdtemp(cache_name_); }
  static void TearDownTestSuite() { std::filesystem::remove_all(cache_); }

  static inline char cache_name_[64] = "/tmp/holdfast-query-cache-XXXXXX";
  static inline std::string cache_;  // Of compiled queries; made once for all tests.
  char name_[64] = "/tmp/holdfast-query-run-XXXXXX";
  std::filesystem::path directory_;
  Queries queries_;

 private:
  Lines rows(const Query& query, compile::CompileMode mode) const {
    ScriptOptions options;
    options.final_state = true;
    options.compile = mode;
    options.compile_settings.directory = cache_;
    options.not_compiled = [&](std::size_t, const Error& error) {
      ADD_FAILURE() << error.detail << "\n" << query.sql();
    };
    Lines all;
    const auto done = query.for_each(
        [&](RowKind kind, const sql::Row& row) {
          EXPECT_EQ(kind, RowKind::kInsert);
          std::string line;
          for (const auto& value : row)
            line += (line.empty() ? "" : " ") +
                    (value.null           ? "NULL"
                     : value.text.empty() ? std::to_string(static_cast<std::int64_t>(value.number))
                                          : value.text);
          all.push_back(line);
          return Status();
        },
        options);
    EXPECT_TRUE(done) << done.error().detail;
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST_F(QueryRun, JoinsOfEachForm) {
  const auto o = queries_.from("orders").as("o"), i = queries_.from("items").as("i");
  const auto shops = queries_.from("shops");
  const std::string same = "o.item = i.name";
  const auto pair = [](const Query& query) { return query.select({"o.id", "stock"}); };
  EXPECT_EQ(rows_of_both(pair(o.full_outer_join(i, same))),
            (Lines{"1 10", "1 20", "2 2", "3 10", "3 20", "4 10", "4 20", "5 NULL", "NULL 9"}));
  EXPECT_EQ(
      rows_of_both(pair(o.join(i, same + " AND o.at BETWEEN i.at AND i.at + INTERVAL '5' SECOND"))),
      (Lines{"1 10", "2 2", "3 10"}));
  const milliseconds minute(60'000);
  EXPECT_EQ(
      rows_of_both(pair(o.tumble("at", minute)
                            .left_outer_join(i.tumble("at", minute),
                                             same + " AND o.window_start = i.window_start AND "
                                                    "o.window_end = i.window_end"))),
      (Lines{"1 10", "2 2", "3 10", "4 20", "5 NULL"}));
  EXPECT_EQ(rows_of_both(pair(o.join(i.as_of("o.at"), same))),
            (Lines{"1 10", "2 2", "3 10", "4 20"}));
  EXPECT_EQ(
      rows_of_both(o.left_outer_join(shops.as_of("o.p"), "item = name").select({"id", "city"})),
      (Lines{"1 rome", "2 oslo", "3 rome", "4 rome", "5 NULL"}));
  EXPECT_EQ(
      rows(o.semi_join(i, same).anti_join(shops, "city = 'oslo' AND item = name").select({"id"})),
      (Lines{"1", "3", "4"}));
}

TEST_F(QueryRun, JoinsOfQueriesWithThemselves) {
  const auto sums = queries_.from("orders").group_by({"item"}).select({"item", "SUM(price) AS s"});
  EXPECT_EQ(rows(sums.as("a").join(sums.as("b"), "a.s < b.s").select({"a.item", "b.item"})),
            (Lines{"cake pie", "cake tea", "pie tea"}));
}

TEST_F(QueryRun, UnionsRankingsAndWindowsOfOver) {
  const auto orders = queries_.from("orders"), items = queries_.from("items");
  const auto sold = orders.select({"item"}), held = items.select({"name"});
  EXPECT_EQ(rows(sold.union_all(held)),
            (Lines{"cake", "cake", "jam", "pie", "tea", "tea", "tea", "tea", "tea"}));
  EXPECT_EQ(rows_of_both(sold.minus(held).union_distinct(sold.intersect(held))),
            (Lines{"cake", "pie", "tea"}));
  EXPECT_EQ(rows(sold.distinct()), (Lines{"cake", "pie", "tea"}));
  const auto top = orders.select(
      {"id", "item", "ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS n"});
  EXPECT_EQ(rows_of_both(top.where("n = 1").select({"id", "item"})),
            (Lines{"2 cake", "3 tea", "5 pie"}));
  const std::string in_window =
      "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS n";
  EXPECT_EQ(
      rows(orders.tumble("at", milliseconds(60'000)).select({"id", in_window}).where("n = 1")),
      (Lines{"2 1", "5 1"}));
  EXPECT_EQ(rows_of_both(orders
                             .over("w",
                                   "PARTITION BY item ORDER BY at ROWS BETWEEN 1 PRECEDING AND "
                                   "CURRENT ROW")
                             .select({"id", "SUM(price) OVER w"})),
            (Lines{"1 3", "2 5", "3 7", "4 5", "5 7"}));
  EXPECT_EQ(rows(orders.order_by({"price DESC"}).limit(2).select({"id", "price"})),
            (Lines{"2 5", "5 7"}));
}

TEST_F(QueryRun, AViewIsAQueryByAName) {
  const auto dear = queries_.from("orders").where("price > 3").select({"id", "item"});
  queries_.define("dear", dear).value();
  EXPECT_EQ(rows(queries_.from("dear")
                     .as("d")
                     .join(queries_.from("shops"), "d.item = name")
                     .select({"d.id", "city"})),
            (Lines{"2 oslo", "3 rome"}));
  EXPECT_EQ(
      rows(queries_.from("items").where("name NOT IN (SELECT item FROM dear)").select({"name"})),
      (Lines{"jam"}));
  // A query that was made before is as it was.
  EXPECT_EQ(dear.union_all(queries_.from("dear")).explain().has_value(), true);
  EXPECT_EQ(queries_.define("dear", dear).code(), Errc::kInvalidOption);
  EXPECT_EQ(queries_.define("odd", Queries().from("orders")).code(), Errc::kInvalidOption);
  EXPECT_EQ(queries_.define("wrong", dear.select({"price"})).code(), Errc::kInvalidOption);
  EXPECT_FALSE(queries_.from("wrong").explain());
}

TEST_F(QueryRun, SeveralTablesTakeTheRowsOfOneQuery) {
  define("dear (id BIGINT, price BIGINT)", "dear");
  define("sums (total BIGINT, item STRING)", "sums");
  const auto orders = queries_.from("orders");
  const auto all = orders.select({"id", "price"});
  insert_all({{"dear", all.where("price > 4")},
              {"sums (item, total)", orders.tumble("at", milliseconds(60'000))
                                         .group_by({"item"})
                                         .select({"item", "SUM(price)"})
                                         .where("item = 'tea'")}})
      .value();
  EXPECT_EQ(written("dear"), "2,5\n5,7\n");
  EXPECT_EQ(written("sums"), "7,tea\n1,tea\n");
  EXPECT_TRUE(insert_all({}));
  const auto wrong = insert_all({{"dear", all}, {"sums", all}});
  EXPECT_NE(wrong.error().detail.find("; in: INSERT INTO sums"), std::string::npos)
      << wrong.error().detail;
  EXPECT_EQ(insert_all({{"dear", all}, {"dear", Queries().from("t")}}).code(),
            Errc::kInvalidOption);
  EXPECT_EQ(insert_all({{"dear", all}, {"dear", all.where(")")}}).code(), Errc::kInvalidOption);
}

TEST_F(QueryRun, AUnionOfUnionsGoesToATable) {
  define("names (name STRING)", "names");
  const auto a = queries_.from("shops").select({"name"});
  a.union_all(a).union_all(a.where("name = 'tea'")).insert_into("names").value();
  const auto text = written("names");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
}

TEST_F(QueryRun, SettingsHoldForTheQueriesBehindThem) {
  add("events", "v BIGINT, at TIMESTAMP(3), ", "1,2026-01-01 09:00:10\n2,2026-01-01 09:00:01\n");
  define("late (record STRING)", "late");
  const auto counted = [](const Query& query) {
    return query.tumble("at", milliseconds(5'000)).group_by({}).select({"COUNT(*)"});
  };
  const auto before = counted(queries_.from("events"));
  queries_.define("SET 'late-rows.table' = 'late' -- of what follows").value();
  const auto nothing = [](RowKind, const sql::Row&) { return Status(); };
  before.for_each(nothing).value();
  EXPECT_FALSE(std::filesystem::exists(directory_ / "late"));
  counted(queries_.from("events")).for_each(nothing).value();
  EXPECT_NE(written("late").find("09:00:01"), std::string::npos) << written("late");
  queries_.define("SET 'late-rows.table' = ''").value();
  queries_.define("SET 'table.exec.emit.late-fire.enabled' = 'true'").value();
  queries_.define("SET 'table.exec.emit.allow-lateness' = '10 s'").value();
  EXPECT_NE(counted(queries_.from("events")).explain().value().find("changed for 10000 ms"),
            std::string::npos);
  EXPECT_EQ(rows(counted(queries_.from("events"))), (Lines{"1", "1"}));
}

// The line was counted behind all definitions, and was not shown.
TEST_F(QueryRun, AMessageHasTheLineThatItMeans) {
  const auto query =
      queries_.from("orders").where("price > 1").group_by({"itm"}).select({"COUNT(*)"});
  const auto said = query.explain();
  EXPECT_EQ(said.code(), Errc::kInvalidOption);
  EXPECT_TRUE(said.error().detail.starts_with("line 4, column 10: ")) << said.error().detail;
  EXPECT_TRUE(said.error().detail.ends_with("; in: GROUP BY itm")) << said.error().detail;
  const auto inserted = query.insert_into("shops");
  EXPECT_TRUE(inserted.error().detail.starts_with("line 5, column 10: "))
      << inserted.error().detail;
  // A view is looked at where it is used.
  queries_.define("CREATE VIEW v AS\nSELECT nothing\nFROM orders").value();
  const auto of_view = queries_.from("v").explain();
  EXPECT_TRUE(of_view.error().detail.starts_with("definitions, line ")) << of_view.error().detail;
  EXPECT_TRUE(of_view.error().detail.ends_with("; in: SELECT nothing")) << of_view.error().detail;
  const auto wrong = queries_.define("CREATE VIEW w AS\nSELEC 1");
  EXPECT_TRUE(wrong.error().detail.starts_with("line 2, column 1: ")) << wrong.error().detail;
  EXPECT_TRUE(wrong.error().detail.ends_with("; in: SELEC 1")) << wrong.error().detail;
}

TEST_F(QueryRun, AStopEndsAnInsert) {
  queries_
      .define(
          "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', "
          "'rows-per-second' = '1000')")
      .value();
  queries_.define("CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole')").value();
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(queries_.from("numbers").insert_into("hole", {}, stop));
  EXPECT_TRUE(insert_all({{"hole", queries_.from("numbers")}}, {}, stop));
}

}  // namespace
}  // namespace holdfast::stream
