// A graph on several workers gives what it gives on one: random rows that are late or without a
// key, checkpoints between any two rounds, restarts with other numbers of workers, rows that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream/workers/sharded_graph.hpp>

#include "kept_stores.hpp"
#include "planned.hpp"

namespace holdfast::stream::sharded_graph_test {
namespace {

using std::chrono::milliseconds;

const std::string kTables = [] {
  std::string tables;
  for (const char* name : {"a", "b"})
    tables += "CREATE TABLE " + std::string(name) +
              " (ts TIMESTAMP(3), k BIGINT, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL '1' "
              "SECOND) WITH ('connector' = 'memory');\n";
  return tables;
}();

std::string window(const std::string& table) {
  return "TABLE(TUMBLE(TABLE " + table + ", DESCRIPTOR(ts), INTERVAL '2' SECOND))";
}

// Rows that a row causes only: they come in the order of one worker.
const std::string kJoinAndGroups =
    "SELECT s, COUNT(*) FROM (SELECT a.k, b.v % 7 AS s, SUM(100 / a.v) AS t FROM a JOIN b ON a.k = "
    "b.k GROUP BY a.k, b.v % 7) x GROUP BY s";
const std::vector<std::string> kByRows = {
    "SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.k, a.v, b.v FROM a FULL JOIN b ON a.k = b.k AND a.v < b.v",
    kJoinAndGroups,
    "SELECT k, COUNT(DISTINCT v), MIN(v), LAST_VALUE(v) FROM (SELECT k, v FROM a UNION ALL SELECT "
    "k, v FROM b) x GROUP BY k",
    "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n "
    "FROM "
    "(SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k AND b.v < 5) x) y WHERE n <= 3",
    "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v > a.v)",
    "SELECT a.v, b.v FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND "
    "b.ts + INTERVAL '1' SECOND",
    "SELECT x.n, y.n, x.k FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) x JOIN (SELECT v, "
    "COUNT(*) AS n FROM b GROUP BY v) y ON x.n = y.n",
};
// With rows that a watermark causes: they come shard by shard.
const std::vector<std::string> kByWatermarks = {
    "SELECT x.k, x.v, y.v FROM (SELECT * FROM " + window("a") + ") x JOIN (SELECT * FROM " +
        window("b") +
        ") y ON x.k = y.k AND x.window_start = y.window_start AND x.window_end = y.window_end",
    "SELECT a.v, b.v FROM a FULL JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND "
    "AND b.ts + INTERVAL '1' SECOND",
    "SELECT window_end, k, COUNT(*), SUM(v) FROM (SELECT * FROM " + window("a") +
        ") x GROUP BY window_start, window_end, k",
    "SELECT k, COUNT(*), SUM(n) FROM (SELECT window_end, k, COUNT(*) AS n FROM " + window("a") +
        " GROUP BY window_start, window_end, k) x GROUP BY k",
    "SELECT k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k "
    "ORDER BY v) AS n FROM " +
        window("a") + ") x WHERE n <= 2",
    "SELECT k, COUNT(*), window_end FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), "
    "INTERVAL '1' SECOND)) GROUP BY window_start, window_end, k",
};

std::vector<sql::Row> random_rows(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<sql::Row> rows;
  std::int64_t now = 1'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    now += static_cast<std::int64_t>(random.below(20));
    const auto late = static_cast<std::int64_t>(random.below(random.below(10) == 0 ? 4'000 : 900));
    rows.push_back({sql::Value::of(now - late),
                    random.below(30) == 0
                        ? sql::Value()
                        : sql::Value::of(static_cast<std::int64_t>(random.below(200))),
                    sql::Value::of(static_cast<std::int64_t>(1 + random.below(50)))});
  }
  return rows;
}

class VectorSource final : public Source {
 public:
  explicit VectorSource(const std::vector<sql::Row>& rows) : rows_(rows) {}
  Result<bool> next(sql::Row& row) override {
    if (at_ == rows_.size()) return false;
    row = rows_[at_++];
    return true;
  }
  std::string position() const override { return std::to_string(at_); }
  Status seek(std::string_view position) override {
    at_ = std::stoul(std::string(position));
    return {};
  }
  std::string place() const override { return "row " + std::to_string(at_); }

 private:
  const std::vector<sql::Row>& rows_;
  std::size_t at_ = 0;
};

// Raises `stop` behind so many checkpoints.
struct Stop {
  std::uint64_t behind = UINT64_MAX;
  std::atomic<bool> raised{false};
};

class VectorSink final : public Sink {
 public:
  VectorSink(std::vector<std::string>& rows, bool full, Stop& stop)
      : rows_(rows), full_(full), stop_(stop) {}
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override { return write_change(RowKind::kInsert, row); }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind kind, const sql::Row& row) override {
    std::string text(text_of(kind));
    for (const auto& value : row)
      text += " " + (value.null ? "-" : std::to_string(static_cast<std::int64_t>(value.number)));
    rows_.push_back(std::move(text));
    return {};
  }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override {
    if (++commits_ >= stop_.behind) stop_.raised = true;
    return {};
  }
  bool full() const override { return full_; }

 private:
  std::vector<std::string>& rows_;
  const bool full_;
  std::uint64_t commits_ = 0;
  Stop& stop_;
};

struct Tables {
  std::vector<sql::Row> a, b;
};

struct Outcome {
  std::vector<std::string> rows;
  std::uint64_t late = 0, without_time = 0;
  std::string error;
  bool finished = false;
};

// With a store: a checkpoint behind each round.
void run(const Planned& planned, const Tables& tables, unsigned workers, Outcome& outcome,
         StateStore* store = nullptr, std::uint64_t checkpoints = UINT64_MAX) {
  const auto& plan = planned.plan;
  std::vector<graph::GraphSource::Part> parts;
  for (const auto& node : plan.nodes) {
    const auto* scan = std::get_if<sql::Scan>(&node.what);
    if (scan == nullptr) continue;
    const auto& rows = scan->table->name == "a" ? tables.a : tables.b;
    parts.push_back({std::make_unique<VectorSource>(rows), false});
  }
  auto source = std::make_unique<graph::GraphSource>(std::move(parts));
  Stop stop{checkpoints};
  auto sink = std::make_unique<VectorSink>(outcome.rows, store != nullptr, stop);
  std::unique_ptr<Operators> operators;
  if (workers > 1) {
    auto keys = shard_keys(plan);
    ASSERT_TRUE(keys) << keys.error().detail;
    operators = ShardedGraph::start(plan, *std::move(keys), *source, *sink, store,
                                    {workers, {}, milliseconds(store == nullptr ? 20 : 0)})
                    .value();
  } else {
    operators = std::make_unique<graph::GraphOperators>(plan, *source, *sink, store);
  }
  Pipeline pipeline(plan, std::move(source), std::move(sink), store, std::move(operators));
  pipeline.resume(store == nullptr ? std::nullopt : store->open().value()).value();
  const Status status = pipeline.run(milliseconds(0), stop.raised);
  if (!status) outcome.error = status.error().detail;
  outcome.late = pipeline.report().late_rows;
  outcome.without_time = pipeline.report().rows_without_time;
  outcome.finished = pipeline.report().finished;
}

std::vector<std::string> sorted(std::vector<std::string> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

// What is left of a changelog.
std::map<std::string, int> left_of(const std::vector<std::string>& rows) {
  std::map<std::string, int> left;
  for (const auto& row : rows) {
    auto& count = left[row.substr(3)];
    count += row[0] == '+' ? 1 : -1;
    EXPECT_GE(count, 0) << "a row goes that is not there: " << row;
    if (count == 0) left.erase(row.substr(3));
  }
  return left;
}

Tables random_tables(std::uint64_t seed, std::size_t count) {
  return {random_rows(seed, count), random_rows(seed + 100, count)};
}

TEST(ShardedGraph, RowsThatRowsCauseComeInTheOrderOfOneWorker) {
  for (const auto& query : kByRows) {
    const auto planned = planned_of(kTables + query).value();
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const auto tables = random_tables(seed, 1'500);
      Outcome one;
      run(planned, tables, 1, one);
      EXPECT_GT(one.rows.size(), 400u) << query;
      for (const unsigned workers : {2u, 3u, 5u}) {
        Outcome several;
        run(planned, tables, workers, several);
        EXPECT_EQ(several.rows, one.rows) << query << " seed=" << seed << " workers=" << workers;
        EXPECT_EQ(several.late, one.late);
        EXPECT_EQ(several.without_time, one.without_time);
      }
    }
  }
}

TEST(ShardedGraph, RowsThatAWatermarkCausesAreTheSame) {
  for (const auto& query : kByWatermarks) {
    const auto planned = planned_of(kTables + query).value();
    const bool updating = planned.plan.updating;
    const auto tables = random_tables(3, 3'000);
    Outcome one;
    run(planned, tables, 1, one);
    EXPECT_GT(one.rows.size(), 100u) << query;
    for (const unsigned workers : {2u, 4u}) {
      Outcome several, again;
      run(planned, tables, workers, several);
      run(planned, tables, workers, again);
      EXPECT_EQ(several.rows, again.rows) << "in one defined order";
      if (updating)
        EXPECT_EQ(left_of(several.rows), left_of(one.rows)) << query;
      else
        EXPECT_EQ(sorted(several.rows), sorted(one.rows)) << query;
      EXPECT_EQ(several.late, one.late) << query;
      EXPECT_EQ(several.without_time, one.without_time);
    }
  }
}

// Each run has another number of workers than the one before; runs of one worker are among them.
using Open = std::function<std::unique_ptr<StateStore>()>;
void expect_same_with_restarts(const std::string& query, const Tables& tables, bool in_order,
                               const Open& open,
                               const std::vector<unsigned>& numbers = {2, 1, 3, 2, 4, 1, 5}) {
  const auto planned = planned_of(kTables + query).value();
  Outcome one, several;
  run(planned, tables, 1, one);
  std::size_t runs = 0;
  while (!several.finished) {
    const auto store = open();
    const auto number = numbers[runs % numbers.size()];
    run(planned, tables, number, several, store.get(), number == 1 ? 5 : 2);
    ASSERT_EQ(several.error, "") << query;
    ASSERT_LT(++runs, 1'000u);
  }
  EXPECT_GT(runs, 3u) << query;
  if (in_order)
    EXPECT_EQ(several.rows, one.rows) << query;
  else if (planned.plan.updating)
    EXPECT_EQ(left_of(several.rows), left_of(one.rows)) << query;
  else
    EXPECT_EQ(sorted(several.rows), sorted(one.rows)) << query;
  EXPECT_EQ(several.late, one.late) << query;
  EXPECT_EQ(several.without_time, one.without_time) << query;
}

TEST(ShardedGraph, ARunGoesOnWithAnotherNumberOfWorkers) {
  for (const bool in_order : {true, false}) {
    for (const auto& query : in_order ? kByRows : kByWatermarks) {
      const Place place;
      expect_same_with_restarts(query, random_tables(5, 2'000), in_order,
                                [&]() -> std::unique_ptr<StateStore> {
                                  return std::make_unique<SnapshotStore>(place / "checkpoint");
                                });
    }
  }
}

// With room for all of the state, and with none: then it is fetched by several workers at a time.
TEST(ShardedGraph, ARunGoesOnInKvWithAnotherNumberOfWorkers) {
  for (const std::uint64_t memory_bytes : {std::uint64_t{1} << 30, std::uint64_t{200}}) {
    for (const bool in_order : {true, false}) {
      for (const auto& query : in_order ? kByRows : kByWatermarks) {
        const Place place;
        expect_same_with_restarts(
            query, random_tables(5, 2'000), in_order, [&]() -> std::unique_ptr<StateStore> {
              auto region = KvStateStore::open_region(place / "region?granularity=line");
              return std::make_unique<KvStateStore>(*std::move(region), 1, memory_bytes);
            });
      }
    }
  }
}

// Rows of one key: the numbers by which its shard tells them apart are kept, whichever it is. They
// began anew with a restart where the first shard had no rows, and took the places of others.
TEST(ShardedGraph, NumbersGoOnWhereTheFirstShardHasNoRows) {
  for (std::int64_t key = 0; key < 4; ++key) {
    Tables tables;
    for (std::int64_t i = 0; i < 2'000; ++i)
      tables.a.push_back({sql::Value::of(1'000'000 + i % 1'000), sql::Value::of(key),
                          sql::Value::of(1 + i * 7 % 50)});
    const Place place;
    expect_same_with_restarts(
        "SELECT v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k "
        "ORDER BY v) AS n FROM " +
            window("a") + ") x WHERE n <= 9000",
        tables, false,
        [&]() -> std::unique_ptr<StateStore> {
          auto region = KvStateStore::open_region(place / "region?granularity=line");
          return std::make_unique<KvStateStore>(*std::move(region), 1, 200);
        },
        {2});
  }
}

TEST(ShardedGraph, TheFirstRowThatFailsIsNamedBehindWhatCameBefore) {
  const auto planned = planned_of(kTables + kJoinAndGroups).value();
  auto tables = random_tables(9, 3'000);
  tables.b.resize(20);
  for (std::size_t i = 0; i < 20; ++i)  // Each key has a partner.
    tables.b[i][1] = sql::Value::of(static_cast<std::int64_t>(i));
  for (const std::size_t bad : {2'900u, 1'501u, 1'502u, 2'000u})
    tables.a[bad][1] = sql::Value::of(3), tables.a[bad][2] = sql::Value::of(0);
  Outcome one;
  run(planned, tables, 1, one);
  EXPECT_NE(one.error.find("(table a, row 1502)"), std::string::npos) << one.error;
  EXPECT_GT(one.rows.size(), 50u);
  for (const unsigned workers : {2u, 4u}) {
    Outcome several;
    run(planned, tables, workers, several);
    EXPECT_EQ(several.error, one.error);
    EXPECT_EQ(several.rows, one.rows);
  }
}

TEST(ShardedGraph, WhatOperatorsHaveDoneIsThatOfAllShards) {
  const auto planned = planned_of(kTables + kJoinAndGroups).value();
  const auto& plan = planned.plan;
  const auto tables = random_tables(4, 500);
  std::vector<std::vector<OperatorProgress>> of;
  for (const unsigned workers : {1u, 3u}) {
    std::vector<graph::GraphSource::Part> parts;
    for (const auto* rows : {&tables.a, &tables.b})
      parts.push_back({std::make_unique<VectorSource>(*rows), false});
    graph::GraphSource source(std::move(parts));
    std::vector<std::string> rows;
    Stop stop;
    VectorSink sink(rows, false, stop);
    std::unique_ptr<Operators> operators;
    if (workers == 1)
      operators = std::make_unique<graph::GraphOperators>(plan, source, sink, nullptr);
    else
      operators = ShardedGraph::start(plan, shard_keys(plan).value(), source, sink, nullptr,
                                      {.workers = workers})
                      .value();
    operators->watch();
    while (!operators->take(source).value().ended) {
    }
    EXPECT_EQ(operators->workers(), workers);
    EXPECT_EQ(operators->counts().watermark, kEndOfTime);
    of.push_back(operators->operators());
  }
  ASSERT_EQ(of[0].size(), of[1].size());
  for (std::size_t i = 0; i < of[0].size(); ++i) {
    EXPECT_EQ(of[0][i].what, of[1][i].what);
    EXPECT_EQ(of[0][i].rows_in, of[1][i].rows_in) << of[0][i].what;
    EXPECT_EQ(of[0][i].rows_out, of[1][i].rows_out) << of[0][i].what;
    EXPECT_EQ(of[0][i].entries, of[1][i].entries) << of[0][i].what;
    EXPECT_EQ(of[0][i].watermark_ms, of[1][i].watermark_ms) << of[0][i].what;
    EXPECT_TRUE(of[1][i].seconds.has_value());
  }
}

}  // namespace
}  // namespace holdfast::stream::sharded_graph_test
