// Windows of processing time by a clock that the test turns: when they end, what a clock that is set
// back does, and runs that go on behind a checkpoint.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/graph/graph_operators.hpp>
#include <holdfast/stream/snapshot_store.hpp>

namespace holdfast::stream::graph {
namespace {

std::int64_t now_of_test = 0;

// At this time a row with this key comes, or none.
struct Step {
  std::int64_t now;
  std::optional<std::string> key;
};

class Steps : public Source {
 public:
  explicit Steps(const std::vector<Step>& steps) : steps_(steps) {}
  Result<bool> next(sql::Row& row) override {
    if (at_ == steps_.size()) return false;
    const auto& step = steps_[at_++];
    now_of_test = step.now;
    if (!step.key) return false;
    row[0] = sql::Value::of_text(*step.key);
    return true;
  }
  bool ended() const override { return at_ == steps_.size(); }
  std::string position() const override { return std::to_string(at_); }
  Status seek(std::string_view position) override {
    at_ = std::stoul(std::string(position));
    return {};
  }
  std::string place() const override { return "step " + position(); }

 private:
  const std::vector<Step>& steps_;
  std::size_t at_ = 0;
};

// Rows as texts: "a 2 [0, 1000)".
class Texts : public Sink {
 public:
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override {
    const auto number = [](const sql::Value& value) {
      return std::to_string(static_cast<std::int64_t>(value.number));
    };
    rows.push_back(row[0].text + " " + number(row[1]) + " [" + number(row[2]) + ", " +
                   number(row[3]) + ") at " + std::to_string(now_of_test));
    return {};
  }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }
  std::vector<std::string> rows;
};

// Of windows, or of what begins with SELECT.
sql::Plan plan_of(sql::Catalog& catalog, const std::string& from, const std::string& key) {
  const auto query = from.starts_with("SELECT")
                         ? from
                         : "SELECT k, COUNT(*), window_start, window_end FROM TABLE(" + from +
                               ") GROUP BY window_start, window_end" + key;
  const auto statements =
      sql::parse("CREATE TABLE t (k STRING, p AS PROCTIME()) WITH ('connector' = 'none');" + query);
  catalog.add(std::get<sql::syntax::CreateTable>(statements->at(0))).value();
  return sql::plan_of(std::get<sql::syntax::QueryStatement>(statements->at(1)), catalog).value();
}

class ProcessingTimeTest : public testing::Test {
 protected:
  ProcessingTimeTest() {
    directory_ = ::mkdtemp(name_);
    now_of_test = 0;
  }
  ~ProcessingTimeTest() override { std::filesystem::remove_all(directory_); }

  // One process: goes on behind the checkpoint, if there is one, and takes rows until the source
  // has been without one `calls` times, or has ended. `keeps`: a checkpoint follows.
  void life(const std::string& from, const std::vector<Step>& steps, int calls, bool keeps,
            const std::string& key = ", k") {
    sql::Catalog catalog;
    const auto plan = plan_of(catalog, from, key);
    std::vector<GraphSource::Part> parts;
    parts.push_back({std::make_unique<Steps>(steps), false});
    GraphSource source(std::move(parts));
    SnapshotStore store((directory_ / "state").string());
    const auto found = store.open().value();
    GraphOperators operators(plan, source, sink_, &store, {0, [] { return now_of_test; }});
    if (found) {
      source.seek(found->metadata).value();
      operators.restore({}).value();
    }
    for (int i = 0; i < calls && !operators.take(source).value().ended; ++i) {
    }
    EXPECT_EQ(operators.counts().late_rows, 0u);
    if (!keeps) return;
    operators.put_state().value();
    store.complete({found ? found->epoch + 1 : 1, source.position()}).value();
  }
  std::vector<std::string> shown() { return std::exchange(sink_.rows, {}); }

  char name_[64] = "/tmp/holdfast-clock-test-XXXXXX";
  std::filesystem::path directory_;
  Texts sink_;
};

using Rows = std::vector<std::string>;
const std::string kTumble = "TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '1' SECOND)";

TEST_F(ProcessingTimeTest, AWindowEndsByTheClockWhetherARowComesOrNot) {
  const std::vector<Step> steps = {{5'100, "a"}, {5'999, "a"}, {6'000, "b"},
                                   {6'500, {}},  {7'000, {}},  {7'100, {}},
                                   {9'200, "a"}, {9'999, {}},  {9'999, {}}};
  life(kTumble, steps, 100, false);
  EXPECT_EQ(shown(), (Rows{"a 2 [5000, 6000) at 6000",     // A row came,
                           "b 1 [6000, 7000) at 7000",     // none came,
                           "a 1 [9000, 10000) at 9999"}))  // the input ended.
      << "a row at the last millisecond is of its window";
}

TEST_F(ProcessingTimeTest, WindowsOfEveryKind) {
  const std::vector<Step> steps = {{5'100, "a"}, {6'200, "a"}, {8'000, {}}, {8'000, "a"}};
  life("HOP(TABLE t, DESCRIPTOR(p), INTERVAL '1' SECOND, INTERVAL '2' SECOND)", steps, 100, false);
  EXPECT_EQ(shown(), (Rows{"a 1 [4000, 6000) at 6200", "a 2 [5000, 7000) at 8000",
                           "a 1 [6000, 8000) at 8000", "a 1 [7000, 9000) at 8000",
                           "a 1 [8000, 10000) at 8000"}));
  now_of_test = 0;
  life("CUMULATE(TABLE t, DESCRIPTOR(p), INTERVAL '1' SECOND, INTERVAL '2' SECOND)", steps, 100,
       false);
  EXPECT_EQ(shown(), (Rows{"a 1 [4000, 6000) at 6200", "a 1 [6000, 7000) at 8000",
                           "a 1 [6000, 8000) at 8000", "a 1 [8000, 9000) at 8000",
                           "a 1 [8000, 10000) at 8000"}));
  now_of_test = 0;
  life("SESSION(TABLE t PARTITION BY k, DESCRIPTOR(p), INTERVAL '1.5' SECOND)", steps, 100, false);
  EXPECT_EQ(shown(), (Rows{"a 2 [5100, 7700) at 8000", "a 1 [8000, 9500) at 8000"}));
}

TEST_F(ProcessingTimeTest, AClockThatIsSetBackStandsStillAndNoRowIsLate) {
  const std::vector<Step> steps = {{5'100, "a"}, {6'100, "a"}, {1'000, "b"}, {1'000, {}},
                                   {6'050, "b"}, {7'000, {}},  {7'000, {}}};
  life(kTumble, steps, 100, false);
  EXPECT_EQ(shown(), (Rows{"a 1 [5000, 6000) at 6100", "a 1 [6000, 7000) at 7000",
                           "b 2 [6000, 7000) at 7000"}));
}

// `shown`: two columns more.
std::string over_clock(const std::string& frame, const std::string& shown = "0, 0") {
  return "SELECT k, COUNT(*) OVER w, " + shown + " FROM t WINDOW w AS (PARTITION BY k ORDER BY p " +
         frame + ")";
}

TEST_F(ProcessingTimeTest, AFrameOfTimesIsThatOfTheClock) {
  const std::vector<Step> steps = {{5'100, "a"}, {5'100, "b"}, {5'100, "a"}, {5'600, "a"},
                                   {6'100, "a"}, {6'101, {}},  {6'102, "a"}, {7'103, "a"},
                                   {7'103, {}},  {7'103, {}}};
  life(over_clock("RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW",
                  "EXTRACT(MILLISECOND FROM p), EXTRACT(SECOND FROM p)"),
       steps, 100, false);
  EXPECT_EQ(shown(), (Rows{"a 2 [100, 5) at 5600", "a 2 [100, 5) at 5600", "b 1 [100, 5) at 5600",
                           "a 3 [600, 5) at 6100", "a 4 [100, 6) at 6101", "a 3 [102, 6) at 7103",
                           "a 1 [103, 7) at 7103"}));
}

TEST_F(ProcessingTimeTest, RowsAreShownAtOnceWhereTheirOrderIsThatInWhichTheyCome) {
  const std::vector<Step> steps = {{5'100, "b"}, {5'100, "a"}, {5'100, "b"},
                                   {4'000, "b"}, {4'000, {}},  {6'000, "a"}};
  const Rows all = {"b 1 [0, 0) at 5100", "a 1 [0, 0) at 5100", "b 2 [0, 0) at 5100",
                    "b 3 [0, 0) at 4000", "a 2 [0, 0) at 6000"};
  Rows last = all;
  last[3] = "b 2 [0, 0) at 4000";
  for (const auto* frame : {"", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"}) {
    life(over_clock(frame), steps, 100, false);
    EXPECT_EQ(shown(), all) << frame;
  }
  life(over_clock("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"), steps, 100, false);
  EXPECT_EQ(shown(), last);
}

// The second process dies; the third goes on where the first ended.
TEST_F(ProcessingTimeTest, ARunGoesOnBehindItsCheckpoint) {
  const std::vector<Step> steps = {{5'100, "a"}, {6'100, "a"}, {6'100, {}},
                                   {6'200, "b"}, {7'100, "c"}, {7'100, {}},
                                   {7'200, "a"}, {8'000, {}},  {8'000, {}}};
  life(kTumble, steps, 1, true);
  EXPECT_EQ(shown(), (Rows{"a 1 [5000, 6000) at 6100"}));
  life(kTumble, steps, 1, false);
  EXPECT_EQ(shown(), (Rows{"a 1 [6000, 7000) at 7100", "b 1 [6000, 7000) at 7100"}));
  now_of_test = 0;  // Of a machine whose clock is behind, until its first row.
  life(kTumble, steps, 1, true);
  EXPECT_EQ(shown(), (Rows{"a 1 [6000, 7000) at 7100", "b 1 [6000, 7000) at 7100"}));
  life(kTumble, steps, 100, true);
  EXPECT_EQ(shown(), (Rows{"a 1 [7000, 8000) at 8000", "c 1 [7000, 8000) at 8000"}));
}

// What waited for its end when the process died is shown once the clock is looked at.
TEST_F(ProcessingTimeTest, AWindowThatEndedMeanwhileComesBeforeTheNextRow) {
  const std::vector<Step> steps = {
      {5'100, "a"}, {5'200, {}}, {9'100, "b"}, {9'100, {}}, {9'100, {}}};
  life(kTumble, steps, 1, true);
  EXPECT_EQ(shown(), Rows{});
  now_of_test = 9'000;
  life(kTumble, steps, 1, true);
  EXPECT_EQ(shown(), (Rows{"a 1 [5000, 6000) at 9000"}));
}

}  // namespace
}  // namespace holdfast::stream::graph
