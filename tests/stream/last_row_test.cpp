// The last row of each partition by time, interpreted and compiled: of equal times the row that came
// last, over lives that go on as one another.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/rank_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// Rows of a time and a number; partitions by the number.
constexpr std::int64_t kRanked = 3;

Subject last_row() {
  Subject subject;
  sql::Rank rank;
  rank.partition.push_back(
      sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(1),
                sql::literal_of(sql::Value::of(kRanked), sql::kBigIntType, {})));
  rank.order.push_back({column(0), true, true});
  rank.last = 1;
  rank.latest = true;
  subject.node.what = std::move(rank);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.make = [](const Parts& parts) { return std::make_unique<RunningRank>(parts, false); };
  return subject;
}

struct CompiledLastRow {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 1, kLast = 1;
  static constexpr bool kRetracts = false, kLatest = true;
  static Key key(const Row& row, query::Run&) {
    return Key(query::some(row.get<1>().value % kRanked));
  }
  static int compare(const Row& a, const Row& b) {
    return query::compare_in_order<true, true>(a.get<0>(), b.get<0>());
  }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t number) {
    show_compiled(all, change, row, {number});
  }
};

TEST(LastRow, OfEqualTimesIsTheOneThatCameLast) {
  const auto subject = last_row();
  const Begin compiled = begin_compiled<query::RunningRank<CompiledLastRow>>;
  test_idle_ms = 0;
  Place place;
  World one(place / "one", std::uint64_t{1} << 30), other(place / "other", std::uint64_t{1} << 30);
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> last;  // Time and number.
  Random random(1);
  bool swapped = false;
  const auto begin = [&] {
    one.begin(subject, swapped ? compiled : begin_interpreted);
    other.begin(subject, swapped ? begin_interpreted : compiled);
    swapped = !swapped;
  };
  begin();
  std::size_t changes = 0;
  for (std::int64_t number = 0; number < 2'000; ++number) {
    const auto time = number / 40 + static_cast<std::int64_t>(random.below(3));
    one.process->rows.clear();
    one.process->take(0, RowKind::kInsert, time, number);
    other.process->rows.clear();
    other.process->take(0, RowKind::kInsert, time, number);
    ASSERT_EQ(one.process->rows, other.process->rows) << number;
    const auto known = last.find(number % kRanked);
    const bool newer = known == last.end() || time >= known->second.first;
    ASSERT_EQ(one.process->rows.empty(), !newer) << number;
    if (newer) {
      last[number % kRanked] = {time, number};
      const auto kind = known == last.end() ? RowKind::kInsert : RowKind::kUpdateAfter;
      ASSERT_EQ(one.process->rows.back(), shown(kind, {time, number, 1}));
      ++changes;
    }
    if (random.below(30) == 0) {
      one.complete(), other.complete();
      ASSERT_EQ(one.entries(kFirstSlice), other.entries(kFirstSlice));
      ASSERT_EQ(one.entries(kFirstSlice).size(), last.size());
      if (random.below(2) == 0) begin();
    }
  }
  EXPECT_GT(changes, 500u);
}

}  // namespace
}  // namespace holdfast::stream::graph
