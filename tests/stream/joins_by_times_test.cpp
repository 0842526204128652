// Compiled joins by times beside the interpreter's, under the sanitizers: the same rows go out, and
// either goes on from what the other has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/join_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kLowMs = -30, kHighMs = 50;

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
  static bool holds(const Left&, const Right&, query::Run&) { return true; }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

void check_by_times(const Subject& subject, bool leaves_state, const Begin& compiled) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Place place;
    test_idle_ms = 0;
    World one(place / "one", std::uint64_t{1} << 30),
        other(place / "other", std::uint64_t{1} << 30);
    Watermarks watermarks{kNoWatermark, kNoWatermark};
    bool swapped = false;
    std::size_t rows = 0;
    const auto begin = [&] {
      one.begin(subject, swapped ? compiled : begin_interpreted, watermarks);
      other.begin(subject, swapped ? begin_interpreted : compiled, watermarks);
      swapped = !swapped;
    };
    begin();
    std::int64_t now = 1'000;
    for (int step = 0; step < 4'000; ++step) {
      const auto kind_of_step = random.below(100);
      const auto input = random.below(2);
      if (kind_of_step < 80) {
        const auto key = static_cast<std::int64_t>(random.below(6));
        const auto time = now - static_cast<std::int64_t>(random.below(120));  // Late ones, too.
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
        if (kind_of_step == 99) {
          rows += one.process->rows.size();
          begin();
        }
      }
      ASSERT_EQ(one.process->rows, other.process->rows) << step;
    }
    for (const std::size_t input : {0u, 1u}) {
      one.process->advance(input, kEndOfTime);
      other.process->advance(input, kEndOfTime);
    }
    ASSERT_EQ(one.process->rows, other.process->rows);
    EXPECT_GT(rows, 1'000u);
    one.complete(), other.complete();
    one.complete(), other.complete();
    EXPECT_EQ(one.bytes() != 0 || other.bytes() != 0, leaves_state) << "behind the end";
  }
}

template <query::JoinKind kOfKind>
void check_near_rows(sql::JoinKind kind) {
  check_by_times(join_by_times(kind, sql::JoinForm::kInterval), false,
                 begin_compiled<query::IntervalJoin<ByTimes<kOfKind>>, true>);
}
template <query::JoinKind kOfKind>
void check_versions(sql::JoinKind kind) {
  check_by_times(join_by_times(kind, sql::JoinForm::kTemporal), true,
                 begin_compiled<query::TemporalJoin<ByTimes<kOfKind>>, true>);
}

TEST(JoinsByTimes, NearRows) { check_near_rows<query::JoinKind::kInner>(sql::JoinKind::kInner); }
TEST(JoinsByTimes, NearRowsAndLeftOnes) {
  check_near_rows<query::JoinKind::kLeft>(sql::JoinKind::kLeft);
}
TEST(JoinsByTimes, NearRowsAndAllOthers) {
  check_near_rows<query::JoinKind::kFull>(sql::JoinKind::kFull);
}
TEST(JoinsByTimes, Versions) { check_versions<query::JoinKind::kInner>(sql::JoinKind::kInner); }
TEST(JoinsByTimes, VersionsAndLeftOnes) {
  check_versions<query::JoinKind::kLeft>(sql::JoinKind::kLeft);
}

}  // namespace
}  // namespace holdfast::stream::graph
