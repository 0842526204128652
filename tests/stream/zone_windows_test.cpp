// Windows of instants in a time zone: rows in the hour that comes twice, and runs that go on behind a
// checkpoint there.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/snapshot_store.hpp>

namespace holdfast::stream::graph {
namespace {

// Minutes behind midnight of UTC, at which rows come.
class Minutes : public Source {
 public:
  Minutes(std::string_view day, const std::vector<std::int64_t>& minutes)
      : day_(sql::timestamp_of(day).value()), minutes_(minutes) {}
  Result<bool> next(sql::Row& row) override {
    if (at_ == minutes_.size() || at_ == stops_at) return false;
    row[0] = sql::Value::of(day_ + minutes_[at_++] * 60'000);
    return true;
  }
  bool ended() const override { return at_ == minutes_.size(); }
  std::string position() const override { return std::to_string(at_); }
  Status seek(std::string_view position) override {
    at_ = std::stoul(std::string(position));
    return {};
  }
  std::string place() const override { return "row " + position(); }

  std::size_t stops_at = ~std::size_t{0};

 private:
  const std::int64_t day_;
  const std::vector<std::int64_t>& minutes_;
  std::size_t at_ = 0;
};

// "02:00 5": the wall clock at which a window begins, and how many rows it has.
class Counts : public Sink {
 public:
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override {
    const auto begin = sql::text_of(row[0], sql::kTimestampType);
    rows.push_back(begin.substr(11, 5) + " " +
                   std::to_string(static_cast<std::int64_t>(row[1].number)));
    return {};
  }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }
  std::vector<std::string> rows;
};

using ZoneRows = std::vector<std::string>;

class ZoneWindows : public testing::Test {
 protected:
  ZoneWindows() { directory_ = ::mkdtemp(name_); }
  ~ZoneWindows() override { std::filesystem::remove_all(directory_); }

  // What windows of an hour have. After `rows` rows a process ends, and another one goes on.
  ZoneRows windows(std::string_view day, const std::vector<std::int64_t>& minutes, std::size_t rows,
                   std::uint64_t late) {
    Counts sink;
    std::filesystem::remove_all(directory_ / "state");
    for (const auto stops_at : {rows, minutes.size()}) {
      sql::Catalog catalog;
      const auto plan = plan_of(catalog);
      auto minutes_of_day = std::make_unique<Minutes>(day, minutes);
      minutes_of_day->stops_at = stops_at;
      std::vector<GraphSource::Part> parts;
      parts.push_back({std::move(minutes_of_day), false});
      GraphSource source(std::move(parts));
      SnapshotStore store((directory_ / "state").string());
      const auto found = store.open().value();
      GraphOperators operators(plan, source, sink, &store, {});
      if (found) {
        source.seek(found->metadata).value();
        operators.restore({}).value();
      }
      for (int i = 0; i < 3 && !operators.take(source).value().ended; ++i) {
      }
      if (stops_at == minutes.size()) {
        EXPECT_EQ(operators.counts().late_rows, late);
        break;
      }
      operators.put_state().value();
      store.complete({1, source.position()}).value();
    }
    return sink.rows;
  }

 private:
  static sql::Plan plan_of(sql::Catalog& catalog) {
    const auto statements = sql::parse(
        "SET 'table.local-time-zone' = 'Europe/Berlin';"
        "CREATE TABLE t (ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'none');"
        "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
        "INTERVAL '1' HOUR)) GROUP BY window_start, window_end");
    catalog.add(std::get<sql::syntax::CreateTable>(statements->at(1))).value();
    return sql::plan_of(std::get<sql::syntax::QueryStatement>(statements->at(2)), catalog).value();
  }

  char name_[64] = "/tmp/holdfast-zone-test-XXXXXX";
  std::filesystem::path directory_;
};

// 02:00 to 03:00 comes at 00:00 UTC and at 01:00 UTC. Flink gives these answers.
TEST_F(ZoneWindows, AnHourThatComesTwiceIsOneWindowThatEndsBehindTheSecond) {
  const std::vector<std::int64_t> minutes = {10, 65, 20, 119, 30, 120, 40, 70, 200};
  for (std::size_t rows = 0; rows < minutes.size(); ++rows)
    EXPECT_EQ(windows("2024-10-27", minutes, rows, 2), (ZoneRows{"02:00 5", "03:00 1", "04:00 1"}))
        << "a process ends after " << rows << " rows";
}

TEST_F(ZoneWindows, AnHourThatIsMissingHasNoWindow) {
  const std::vector<std::int64_t> minutes = {10, 50, 60, 59, 70, 200};
  for (std::size_t rows = 0; rows < minutes.size(); ++rows)
    EXPECT_EQ(windows("2024-03-31", minutes, rows, 1), (ZoneRows{"01:00 2", "03:00 2", "05:00 1"}))
        << "a process ends after " << rows << " rows";
}

}  // namespace
}  // namespace holdfast::stream::graph
