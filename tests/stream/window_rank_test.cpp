// Rankings of windows, interpreted and compiled, beside a model that knows all rows: over lives that
// go on as one another, with memory for all rows, for few and for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/graph_ranks.hpp>
#include <holdfast/stream/graph/rank_operators.hpp>

#include "crafted_state.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// A row is a number and the end of its window. Partitions are numbers modulo 3, the order is that of
// numbers modulo 7: many are equal.
constexpr std::int64_t kPartsOfWindow = 3, kOrdersOfPart = 7, kWindowLengthMs = 70;
constexpr std::uint64_t kShowFirst = 2, kShowLast = 4;

struct WindowShape {
  sql::Ranking ranking;
  bool latest;  // Of equal rows the one that came last is first.
};

sql::ExpressionPointer modulo(std::int64_t by) {
  return sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(0),
                   sql::literal_of(sql::Value::of(by), sql::kBigIntType, {}));
}

Subject window_rank(const WindowShape& shape) {
  Subject subject;
  sql::Rank rank;
  rank.partition.push_back(modulo(kPartsOfWindow));
  rank.order.push_back({modulo(kOrdersOfPart), false, true});
  rank.first = kShowFirst;
  rank.last = kShowLast;
  rank.numbered = rank.by_columns = true;
  rank.latest = shape.latest;
  rank.ranking = shape.ranking;
  rank.end_column = 1;
  subject.node.what = std::move(rank);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.make = [](const Parts& parts) { return std::make_unique<WindowRank>(parts); };
  return subject;
}

template <WindowShape kOfShape>
struct CompiledWindowRank {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = kShowFirst, kLast = kShowLast;
  static constexpr bool kLatest = kOfShape.latest;
  static constexpr auto kRanking = kOfShape.ranking == sql::Ranking::kRank ? query::Ranking::kRank
                                   : kOfShape.ranking == sql::Ranking::kDenseRank
                                       ? query::Ranking::kDenseRank
                                       : query::Ranking::kRowNumber;
  static Key key(const Row& row, query::Run&) {
    return Key(query::some(row.get<0>().value % kPartsOfWindow));
  }
  static int compare(const Row& a, const Row& b) {
    return query::compare_in_order<false, true>(query::some(a.get<0>().value % kOrdersOfPart),
                                                query::some(b.get<0>().value % kOrdersOfPart));
  }
  static query::Maybe<std::int64_t> end(const Row& row) { return row.get<1>(); }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t number) {
    show_compiled(all, change, row, {number});
  }
};

class WindowRankModel {
 public:
  explicit WindowRankModel(const WindowShape& shape) : shape_(shape) {}

  void take(std::int64_t number, std::int64_t end) {
    if (end - 1 <= watermark_) return static_cast<void>(++late);
    auto& rows = windows_[{end, number % kPartsOfWindow}];
    rows.insert(shape_.latest ? rows.begin() : rows.end(), number);
  }
  Shown advance(std::int64_t watermark) {
    watermark_ = watermark;
    Shown all;
    while (!windows_.empty() && windows_.begin()->first.first - 1 <= watermark) {
      auto& [place, rows] = *windows_.begin();
      std::stable_sort(rows.begin(), rows.end(), [](std::int64_t a, std::int64_t b) {
        return a % kOrdersOfPart < b % kOrdersOfPart;
      });
      std::uint64_t number = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool equals = i > 0 && rows[i - 1] % kOrdersOfPart == rows[i] % kOrdersOfPart;
        if (shape_.ranking == sql::Ranking::kDenseRank)
          number += equals ? 0 : 1;
        else if (shape_.ranking == sql::Ranking::kRowNumber || !equals)
          number = i + 1;
        if (number >= kShowFirst && number <= kShowLast)
          all.push_back(
              shown(RowKind::kInsert, {rows[i], place.first, static_cast<std::int64_t>(number)}));
      }
      windows_.erase(windows_.begin());
    }
    return all;
  }
  std::uint64_t late = 0;

 private:
  const WindowShape shape_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> windows_;
  std::int64_t watermark_ = kNoWatermark;
};

template <WindowShape kOfShape>
void check_window_rank(unsigned seed, std::uint64_t memory_bytes, bool of_earlier_build = false) {
  SCOPED_TRACE(std::to_string(seed) + ", " + std::to_string(memory_bytes));
  const auto subject = window_rank(kOfShape);
  using Compiled = query::WindowRank<CompiledWindowRank<kOfShape>>;
  Random random(seed);
  Place place;
  test_idle_ms = 0;
  World one(place / "one", memory_bytes), other(place / "other", memory_bytes);
  WindowRankModel model(kOfShape);
  std::int64_t now = 1'000, watermark = kNoWatermark;
  bool swapped = false;
  std::uint64_t late_of_one = 0, late_of_other = 0;  // Before they began.
  const auto begin = [&] {
    late_of_one = late_of_other = model.late;
    one.close(), other.close();
    if (of_earlier_build) forget_times(place / "one", 1), forget_times(place / "other", 1);
    one.begin(subject, swapped ? begin_compiled<Compiled> : begin_interpreted,
              {watermark, watermark});
    other.begin(subject, swapped ? begin_interpreted : begin_compiled<Compiled>,
                {watermark, watermark});
    swapped = !swapped;
  };
  begin();
  std::size_t rows = 0;
  for (int step = 0; step < 5'000; ++step) {
    const auto kind_of_step = random.below(100);
    Shown wanted;
    one.process->rows.clear(), other.process->rows.clear();
    if (kind_of_step < 80) {
      const auto time = now - static_cast<std::int64_t>(random.below(150));
      const auto end = time + kWindowLengthMs - time % kWindowLengthMs;
      const auto number = static_cast<std::int64_t>(random.below(100));
      model.take(number, end);
      one.process->take(0, RowKind::kInsert, number, end);
      other.process->take(0, RowKind::kInsert, number, end);
    } else if (kind_of_step < 95) {
      now += static_cast<std::int64_t>(random.below(25));
      auto next = now - 120;
      // Just before the end of a window, or at it.
      if (random.below(2) == 0)
        next += kWindowLengthMs - next % kWindowLengthMs - 1 - random.below(2);
      if (next <= watermark) continue;
      watermark = next;
      wanted = model.advance(watermark);
      one.process->advance(0, watermark);
      other.process->advance(0, watermark);
    } else {
      if (kind_of_step != 98) one.complete(), other.complete();
      if (kind_of_step != 98 && memory_bytes < 1'000) expect_nothing_in_memory(*one.process);
      if (kind_of_step == 99) begin();
      const bool interpreted = dynamic_cast<Interpreted*>(one.process.get()) != nullptr;
      if (kind_of_step == 98 && interpreted) {
        one.template take_over<Compiled>({watermark, watermark});
        late_of_one = model.late;
      }
    }
    rows += wanted.size();
    ASSERT_EQ(one.process->rows, wanted) << step;
    ASSERT_EQ(other.process->rows, wanted) << step;
    ASSERT_EQ(one.process->late_rows(), model.late - late_of_one) << step;
    ASSERT_EQ(other.process->late_rows(), model.late - late_of_other) << step;
  }
  EXPECT_GT(rows, 500u);
  EXPECT_GT(model.late, 100u);
  one.process->rows.clear(), other.process->rows.clear();
  const auto rest = model.advance(kEndOfTime);
  one.process->advance(0, kEndOfTime), other.process->advance(0, kEndOfTime);
  EXPECT_EQ(one.process->rows, rest);
  EXPECT_EQ(other.process->rows, rest);
  one.complete(), other.complete();
  one.complete(), other.complete();
  EXPECT_EQ(one.entries(kFirstSlice).size() + other.entries(kFirstSlice).size(), 0u);
}

template <WindowShape kOfShape>
void check_window_rank() {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_window_rank<kOfShape>(seed, memory_bytes);
  }
}

TEST(WindowRank, ShowsTheFirstRowsOfAWindowWhenItHasEnded) {
  check_window_rank<WindowShape{sql::Ranking::kRowNumber, false}>();
}
TEST(WindowRank, OfEqualRowsTheLatestMayBeFirst) {
  check_window_rank<WindowShape{sql::Ranking::kRowNumber, true}>();
}
TEST(WindowRank, EqualRowsMayHaveOneNumber) {
  check_window_rank<WindowShape{sql::Ranking::kRank, false}>();
  check_window_rank<WindowShape{sql::Ranking::kDenseRank, false}>();
}
// Such a state is read as a whole, and written anew.
TEST(WindowRank, RowsOfABuildThatWroteNoTimes) {
  for (const auto memory_bytes : kMemories)
    check_window_rank<WindowShape{sql::Ranking::kRowNumber, false}>(1, memory_bytes, true);
}

TEST(WindowRank, RefusesNumbersThatNoRunCouldHaveWritten) {
  constexpr WindowShape kShape{sql::Ranking::kRowNumber, false};
  check_crafted<query::WindowRank<CompiledWindowRank<kShape>>>(
      window_rank(kShape), {{0, kInState, 1}, {0, kInKey, 0}, {0, kInKey, -8}, {1, kInState, 1}});
}

}  // namespace
}  // namespace holdfast::stream::graph
