// State that is none of a query, under good sums: refused with kCorrupt, or taken, and never more
// than that.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/snapshot_store.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream::graph {
namespace {

// Rows of any table of this test: a second apart, seven keys.
class SecondApart final : public Source {
 public:
  explicit SecondApart(std::int64_t rows) : rows_(rows) {}
  Result<bool> next(sql::Row& row) override {
    if (at_ == rows_) return false;
    row[0] = sql::Value::of(1'000'000'000'000 + at_ * 1000);
    row[1] = sql::Value::of_text("k" + std::to_string(at_ % 7));
    row[2] = sql::Value::of(at_ * 5 % 11);
    ++at_;
    return true;
  }
  bool ended() const override { return false; }
  std::string position() const override { return std::to_string(at_); }
  Status seek(std::string_view) override { return {}; }
  std::string place() const override { return position(); }

 private:
  const std::int64_t rows_;
  std::int64_t at_ = 0;
};

// Takes any rows, but no more than a query of this test can have.
class FewRows final : public Sink {
 public:
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row&) override {
    return ++rows_ < 10'000 ? Status() : Error{Errc::kNoSpace, "too many rows"};
  }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind, const sql::Row& row) override { return write(row); }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }

 private:
  int rows_ = 0;
};

struct DamagedEntry {
  std::int64_t slice;
  std::string key, state;
};

class DamagedState : public testing::Test {
 protected:
  // The state of the query after some rows.
  std::vector<DamagedEntry> state_of(const std::string& query) {
    SnapshotStore store(path_);
    run(query, store, false).value();
    SnapshotStore again(path_);
    EXPECT_TRUE(again.open().value());
    std::vector<DamagedEntry> entries;
    const auto slices = again.slices().value();
    for (const auto slice : slices) {
      again
          .for_each(slice,
                    [&](std::string_view key, std::string_view state) {
                      entries.push_back({slice, std::string(key), std::string(state)});
                      return Status();
                    })
          .value();
    }
    return entries;
  }
  // What a run says that goes on with these, and comes to its end.
  Status go_on(const std::string& query, const std::vector<DamagedEntry>& entries) {
    SnapshotStore store(path_);
    for (const auto& entry : entries)
      store.put(entry.slice, entry.key, entry.state).value();
    store.complete({1, ""}).value();
    SnapshotStore again(path_);
    EXPECT_TRUE(again.open().value());
    return run(query, again, true);
  }

 private:
  static Status run(const std::string& query, SnapshotStore& store, bool goes_on) {
    sql::Catalog catalog;
    std::string text;
    for (const std::string name : {"a", "b"})
      text += "CREATE TABLE " + name +
              " (ts TIMESTAMP(3), k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED, WATERMARK FOR "
              "ts AS ts - INTERVAL '2' SECOND) WITH ('connector' = 'none');";
    const auto statements = sql::parse(text + query).value();
    for (const std::size_t table : {0, 1})
      catalog.add(std::get<sql::syntax::CreateTable>(statements[table])).value();
    const auto plan =
        sql::plan_of(std::get<sql::syntax::QueryStatement>(statements[2]), catalog).value();
    std::vector<GraphSource::Part> parts;
    for (const auto& node : plan.nodes) {
      if (std::holds_alternative<sql::Scan>(node.what))
        parts.push_back({std::make_unique<SecondApart>(goes_on ? 40 : 20), false});
    }
    GraphSource source(std::move(parts));
    FewRows sink;
    GraphOperators operators(plan, source, sink, &store);
    if (goes_on) HF_RETURN_IF_ERROR(operators.restore({}));
    HF_RETURN_IF_ERROR(operators.take(source));
    HF_RETURN_IF_ERROR(operators.put_state());
    return store.complete({1, ""});
  }

  Place place_;
  const std::string path_ = place_ / "state";
};

const std::string kDamagedQueries[] = {
    "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n "
    "FROM "
    "a) WHERE n <= 3",
    "SELECT a.ts, a.v, b.v FROM a FULL JOIN b ON a.k = b.k AND a.v = b.v",
    "SELECT a.ts, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND "
    "AND b.ts + INTERVAL '3' SECOND",
    "SELECT window_start, k, COUNT(*), MAX(v) FROM TABLE(SESSION(TABLE a PARTITION BY k, "
    "DESCRIPTOR(ts), INTERVAL '9' SECOND)) GROUP BY window_start, window_end, k",
    "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
    "ORDER BY v DESC) AS n FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) "
    "WHERE n <= 3",
    "SELECT x.k, y.v FROM (SELECT * FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' "
    "MINUTE))) x JOIN (SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) "
    "y ON x.k = y.k AND x.window_start = y.window_start AND x.window_end = y.window_end",
    "SELECT ts, k, LAG(v, 2) OVER (PARTITION BY k ORDER BY ts) FROM a",
    "SELECT a.ts, b.v FROM a LEFT JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k",
    "SELECT k, COUNT(*), SUM(v), MAX(v), COUNT(DISTINCT v), MEDIAN(v) FROM a GROUP BY k",
    "SELECT x.k, MIN(x.v), MEDIAN(y.v) FROM a x LEFT JOIN b y ON x.k = y.k AND x.v = y.v GROUP BY "
    "x.k",
    "SELECT k, v FROM a ORDER BY v DESC",
    "SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) ORDER BY n LIMIT 3",
};

// A file sink that began with it removed the files of its last run that were not yet shown.
TEST(DamagedCheckpoint, OneOfARunThatBeganBehindItIsRefused) {
  const Place place;
  replace_file(place / "in", "1\n2\n").value();
  auto script = Script::prepare(
      "CREATE TABLE t (n BIGINT) WITH ('connector' = 'filesystem', "
      "'format' = 'csv', 'path' = '" +
      place / "in" + "'); SELECT n FROM t");
  const auto run = [&] {
    ScriptOptions options;
    options.output = Output([](std::string_view) { return Status(); });
    options.open_state = [&](std::size_t, const std::string&) {
      return Result<std::unique_ptr<StateStore>>(std::make_unique<SnapshotStore>(place / "state"));
    };
    const std::atomic<bool> stop{false};
    return script->run(options, stop);
  };
  run().value();
  SnapshotStore store(place / "state");
  auto checkpoint = *store.open().value();
  const auto with_base = [&](std::uint64_t base) {
    ByteWriter bytes;
    bytes.number(base);  // The last of it.
    checkpoint.metadata.replace(checkpoint.metadata.size() - 8, 8, bytes.take());
    store.complete(checkpoint).value();
    return run();
  };
  EXPECT_TRUE(with_base(0));
  EXPECT_EQ(with_base(checkpoint.epoch + 1).code(), Errc::kCorrupt);
}

TEST_F(DamagedState, KeysThatAreTooShortAreRefusedOrTaken) {
  for (const auto& query : kDamagedQueries) {
    const auto good = state_of(query);
    go_on(query, good).value();
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const std::size_t bytes : {0, 3, 7, 11, 17}) {
        auto damaged = good;
        damaged[i].key.resize(std::min(bytes, damaged[i].key.size()));
        const auto status = go_on(query, damaged);
        EXPECT_TRUE(status || status.code() == Errc::kCorrupt) << query << status.error().detail;
      }
    }
  }
}

TEST_F(DamagedState, ARankingWhoseKeyHasNoNumberIsRefused) {
  auto entries = state_of(kDamagedQueries[0]);
  ASSERT_GT(entries.back().key.size(), 11u);
  entries.back().key.resize(4);
  EXPECT_EQ(go_on(kDamagedQueries[0], entries).code(), Errc::kCorrupt);
}

// Numbers at the ends of 64 bits: a sum of two would overflow.
TEST_F(DamagedState, NumbersThatNoRunCouldHaveWrittenAreRefused) {
  for (const auto& query : kDamagedQueries) {
    const auto good = state_of(query);
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (good[i].slice == 0) continue;  // Watermarks, which may be at the ends.
      for (const char first : {'\0', '\x7f', '\xff'}) {
        const auto number = std::string(1, first) + std::string(7, first == '\0' ? '\0' : '\xff');
        auto in_key = good, in_state = good;
        if (good[i].key.size() >= 8) in_key[i].key.replace(good[i].key.size() - 8, 8, number);
        if (good[i].state.size() >= 9) in_state[i].state.replace(1, 8, number);
        for (const auto* damaged : {&in_key, &in_state}) {
          const auto status = go_on(query, *damaged);
          EXPECT_TRUE(status || status.code() == Errc::kCorrupt) << query << status.error().detail;
        }
      }
    }
  }
}

TEST_F(DamagedState, AJoinWhoseRowIsThereLessThanOnceIsRefused) {
  for (const auto& query : {kDamagedQueries[1]}) {
    auto entries = state_of(query);
    entries.back().state.replace(1, 8, std::string("\x80\0\0\0\0\0\0\0", 8));  // 0 times.
    EXPECT_EQ(go_on(query, entries).code(), Errc::kCorrupt);
  }
}

// A watermark moves what is behind it by the length of a join or a window.
TEST_F(DamagedState, AWatermarkThatNoRunCouldHaveHadIsRefused) {
  for (const auto& query : kDamagedQueries) {
    const auto good = state_of(query);
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (good[i].slice != 0 || !good[i].key.starts_with('w')) continue;
      for (const auto watermark : {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX}) {
        auto damaged = good;
        damaged[i].state.resize(1);
        append_ordered(watermark, damaged[i].state);
        const auto status = go_on(query, damaged);
        const bool is_none = watermark == INT64_MIN || watermark == INT64_MAX;
        EXPECT_TRUE(is_none ? status || status.code() == Errc::kCorrupt
                            : status.code() == Errc::kCorrupt)
            << query;
      }
    }
  }
}

TEST_F(DamagedState, APartitionThatPassedNoTimeOfARunIsRefused) {
  const std::string query =
      "SELECT ts, k, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '4' SECOND "
      "PRECEDING AND CURRENT ROW) FROM a";
  const auto good = state_of(query);
  int passed = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (good[i].slice == 0 || good[i].state.size() != 1 + 8 + 8) continue;  // With its end.
    ++passed;
    for (const auto time : {INT64_MIN, INT64_MAX}) {
      auto damaged = good;
      damaged[i].state.resize(1 + 8);
      append_ordered(time, damaged[i].state);
      EXPECT_EQ(go_on(query, damaged).code(), Errc::kCorrupt);
    }
  }
  EXPECT_GT(passed, 3);
}

TEST_F(DamagedState, ATimeThatNoCalendarHasIsRefused) {
  const sql::Type type{sql::Kind::kTimestamp, 3};
  for (const std::int64_t ms : {INT64_MIN, INT64_MAX}) {
    std::string bytes;
    sql::append_bytes(sql::Value::of(ms), type, bytes);
    std::string_view rest = bytes;
    sql::Value value;
    EXPECT_FALSE(sql::take_bytes(rest, type, value)) << ms;
  }
}

}  // namespace
}  // namespace holdfast::stream::graph
