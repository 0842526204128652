// Compiled joins by times beside the interpreter's, under the sanitizers: the same rows go out, and
// either goes on from what the other has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/join_operators.hpp>

#include "crafted_state.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kLowMs = -30, kHighMs = 50, kWindowMs = 70;

Subject join_by_times(sql::JoinKind kind, sql::JoinForm form) {
  Subject subject;
  sql::Join join;
  join.kind = kind;
  join.form = form;
  join.left_keys.push_back(column(0));
  join.right_keys.push_back(column(0));
  join.left_time = join.right_time = 1;
  join.low_ms = kLowMs;
  join.high_ms = kHighMs;
  subject.node.what = std::move(join);
  subject.node.columns.assign(4, {"c", sql::kBigIntType});
  subject.inputs = 2;
  subject.make = [form](const Parts& parts) -> std::unique_ptr<Operator> {
    if (form == sql::JoinForm::kTemporal) return std::make_unique<TemporalJoin>(parts);
    if (form == sql::JoinForm::kWindow) return std::make_unique<WindowJoin>(parts);
    return std::make_unique<IntervalJoin>(parts);
  };
  return subject;
}

template <query::JoinKind kOfKind>
struct ByTimes {
  using Left = graph::Row;
  using Right = graph::Row;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0, kLowMs = graph::kLowMs, kHighMs = graph::kHighMs;
  static constexpr auto kKind = kOfKind;
  static Key left_key(const Left& row, query::Run&) { return Key(row.get<0>()); }
  static Key right_key(const Right& row, query::Run&) { return Key(row.get<0>()); }
  static auto left_time(const Left& row) { return row.get<1>(); }
  static auto right_time(const Right& row) { return row.get<1>(); }
  static auto left_end(const Left& row) { return row.get<1>(); }
  static auto right_end(const Right& row) { return row.get<1>(); }
  static bool holds(const Left&, const Right&, query::Run&) { return true; }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

// The keys of each side of a window, as they come.
class KeysOfWindows {
 public:
  // `in_order`: none is below one that came before, as it is with groups of windows.
  explicit KeysOfWindows(bool in_order) : in_order_(in_order) {}

  std::int64_t next(std::size_t input, std::int64_t end, Random& random) {
    const auto key = static_cast<std::int64_t>(random.below(6));
    if (!in_order_) return key;
    auto& last = last_[{input, end}];
    return last = std::max(last, key);
  }

 private:
  const bool in_order_;
  std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> last_;
};

void check_by_times(const Subject& subject, bool leaves_state, const Begin& compiled,
                    std::uint64_t memory_bytes = kMuchMemory, bool of_earlier_build = false,
                    bool keys_in_order = false) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool of_windows = std::get<sql::Join>(subject.node.what).form == sql::JoinForm::kWindow;
    Place place;
    test_idle_ms = 0;
    World one(place / "one", memory_bytes), other(place / "other", kMuchMemory);
    Watermarks watermarks{kNoWatermark, kNoWatermark};
    bool swapped = false;
    std::size_t rows = 0, late = 0;
    const auto begin = [&] {
      one.close();
      if (of_earlier_build) forget_times(place / "one", 2);
      one.begin(subject, swapped ? compiled : begin_interpreted, watermarks);
      other.begin(subject, swapped ? begin_interpreted : compiled, watermarks);
      swapped = !swapped;
    };
    begin();
    std::int64_t now = 1'000;
    KeysOfWindows keys(keys_in_order);
    for (int step = 0; step < 4'000; ++step) {
      const auto kind_of_step = random.below(100);
      const auto input = random.below(2);
      if (kind_of_step < 80) {
        auto time = now - static_cast<std::int64_t>(random.below(120));  // Late ones, too.
        if (of_windows) time += kWindowMs - time % kWindowMs;
        const auto key = keys.next(input, time, random);
        one.process->take(input, RowKind::kInsert, key, time);
        other.process->take(input, RowKind::kInsert, key, time);
      } else if (kind_of_step < 96) {
        now += static_cast<std::int64_t>(random.below(20));
        watermarks[input] = std::max(watermarks[input], now - 60);
        one.process->advance(input, watermarks[input]);
        other.process->advance(input, watermarks[input]);
      } else {
        one.complete();
        other.complete();
        if (memory_bytes < 1'000) expect_nothing_in_memory(*one.process);
        if (kind_of_step == 99) {
          rows += one.process->rows.size();
          begin();
        }
      }
      ASSERT_EQ(one.process->rows, other.process->rows) << step;
      ASSERT_EQ(one.process->late_rows(), other.process->late_rows()) << step;
      late += kind_of_step == 99 ? 0 : one.process->late_rows();
    }
    for (const std::size_t input : {0u, 1u}) {
      one.process->advance(input, kEndOfTime);
      other.process->advance(input, kEndOfTime);
    }
    ASSERT_EQ(one.process->rows, other.process->rows);
    EXPECT_GT(rows, 1'000u);
    const auto& join = std::get<sql::Join>(subject.node.what);
    const bool drops =
        join.form != sql::JoinForm::kTemporal && (of_windows || join.kind != sql::JoinKind::kFull);
    EXPECT_EQ(late != 0, drops);
    one.complete(), other.complete();
    one.complete(), other.complete();
    EXPECT_EQ(one.bytes() != 0 || other.bytes() != 0, leaves_state) << "behind the end";
  }
}

// One of the twins has all rows in memory, the other one does not.
template <query::JoinKind kOfKind>
void check_near_rows(sql::JoinKind kind) {
  for (const auto memory_bytes : kMemories)
    check_by_times(join_by_times(kind, sql::JoinForm::kInterval), false,
                   begin_compiled<query::IntervalJoin<ByTimes<kOfKind>>, true>, memory_bytes);
}
template <query::JoinKind kOfKind>
void check_windows(sql::JoinKind kind) {
  for (const bool keys_in_order : {false, true}) {
    for (const auto memory_bytes : kMemories)
      check_by_times(join_by_times(kind, sql::JoinForm::kWindow), false,
                     begin_compiled<query::WindowJoin<ByTimes<kOfKind>>, true>, memory_bytes, false,
                     keys_in_order);
  }
}
// Such a state is read as a whole, and written anew.
TEST(JoinsByTimes, RowsOfABuildThatWroteNoTimes) {
  constexpr auto kAll = sql::JoinKind::kFull;
  using All = ByTimes<query::JoinKind::kFull>;
  for (const auto memory_bytes : kMemories) {
    check_by_times(join_by_times(kAll, sql::JoinForm::kInterval), false,
                   begin_compiled<query::IntervalJoin<All>, true>, memory_bytes, true);
    check_by_times(join_by_times(kAll, sql::JoinForm::kWindow), false,
                   begin_compiled<query::WindowJoin<All>, true>, memory_bytes, true);
    check_by_times(join_by_times(sql::JoinKind::kLeft, sql::JoinForm::kTemporal), true,
                   begin_compiled<query::TemporalJoin<ByTimes<query::JoinKind::kLeft>>, true>,
                   memory_bytes, true);
  }
}

TEST(JoinsByTimes, RefuseNumbersThatNoRunCouldHaveWritten) {
  constexpr auto kAll = sql::JoinKind::kFull;
  using All = ByTimes<query::JoinKind::kFull>;
  // Until when they live; of a key the time, or the end of the window, and the number.
  check_crafted<query::IntervalJoin<All>, true>(
      join_by_times(kAll, sql::JoinForm::kInterval),
      {{0, kInState, 1}, {0, kInKey, -16}, {0, kInKey, -8}, {1, kInState, 1}, {1, kInKey, -16}});
  check_crafted<query::WindowJoin<All>, true>(
      join_by_times(kAll, sql::JoinForm::kWindow),
      {{0, kInState, 1}, {0, kInKey, 0}, {0, kInKey, -8}, {1, kInKey, 0}, {2, kInState, 1}});
  check_crafted<query::TemporalJoin<ByTimes<query::JoinKind::kLeft>>, true>(
      join_by_times(sql::JoinKind::kLeft, sql::JoinForm::kTemporal),
      {{0, kInState, 1}, {0, kInKey, 0}, {0, kInKey, -8}, {1, kInKey, -8}, {2, kInState, 1}});
}

template <query::JoinKind kOfKind>
void check_versions(sql::JoinKind kind) {
  for (const auto memory_bytes : kMemories)
    check_by_times(join_by_times(kind, sql::JoinForm::kTemporal), true,
                   begin_compiled<query::TemporalJoin<ByTimes<kOfKind>>, true>, memory_bytes);
}

TEST(JoinsByTimes, NearRows) { check_near_rows<query::JoinKind::kInner>(sql::JoinKind::kInner); }
TEST(JoinsByTimes, NearRowsAndLeftOnes) {
  check_near_rows<query::JoinKind::kLeft>(sql::JoinKind::kLeft);
}
TEST(JoinsByTimes, NearRowsAndAllOthers) {
  check_near_rows<query::JoinKind::kFull>(sql::JoinKind::kFull);
}
// They were not counted.
TEST(JoinsByTimes, ANearRowThatIsDroppedIsLateAndIsTold) {
  struct Told final : LateRows {
    Status take_late(std::size_t node, std::size_t input, const sql::Row& row,
                     std::int64_t watermark) override {
      rows.push_back({static_cast<std::int64_t>(node), static_cast<std::int64_t>(input),
                      static_cast<std::int64_t>(row[1].number), watermark});
      return {};
    }
    std::vector<std::vector<std::int64_t>> rows;
  } told;
  for (const auto kind : {sql::JoinKind::kInner, sql::JoinKind::kLeft}) {
    const auto subject = join_by_times(kind, sql::JoinForm::kInterval);
    told.rows.clear();
    IntervalJoin join({subject.node, {&kColumns, &kColumns}, nullptr, kFirstSlice, {}, 7, &told});
    const auto take = [&](std::size_t side, const sql::Value& key, std::int64_t time) {
      join.take(side, RowKind::kInsert, {key, sql::Value::of(time)}).value();
    };
    const auto one = sql::Value::of(1);
    join.advance(0, 200).value();
    join.advance(1, 200).value();
    take(0, one, 170);           // Its last partner may be of 200, which the watermark has passed.
    take(1, one, 150);           // The same of the other side.
    take(0, one, 171);           // It is kept.
    take(1, one, 151);           // It is kept, and has a partner.
    take(0, one, 169);           // It has a partner, too: no partner is to come.
    take(1, sql::Value(), 100);  // It is near nothing, whatever its time.
    const std::vector<std::vector<std::int64_t>> left{{7, 0, 170, 200}}, right{{7, 1, 150, 200}};
    auto wanted = right;
    if (kind == sql::JoinKind::kInner) wanted.insert(wanted.begin(), left[0]);
    EXPECT_EQ(told.rows, wanted);
    EXPECT_EQ(join.late_rows, wanted.size());
  }
}

TEST(JoinsByTimes, RowsOfWindows) { check_windows<query::JoinKind::kInner>(sql::JoinKind::kInner); }
TEST(JoinsByTimes, RowsOfWindowsAndAllOthers) {
  check_windows<query::JoinKind::kFull>(sql::JoinKind::kFull);
}
TEST(JoinsByTimes, Versions) { check_versions<query::JoinKind::kInner>(sql::JoinKind::kInner); }
TEST(JoinsByTimes, VersionsAndLeftOnes) {
  check_versions<query::JoinKind::kLeft>(sql::JoinKind::kLeft);
}

}  // namespace
}  // namespace holdfast::stream::graph
