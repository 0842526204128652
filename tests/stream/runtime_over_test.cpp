// Compiled aggregates over rows beside the interpreter's, under the sanitizers: the same rows go
// out, the state has the same bytes, and either goes on from what the other has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/over_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kPartitions = 4, kConstant = 7;
constexpr std::int64_t kAllBefore = sql::OverAggregate::kUnbounded;
enum TableOfOver : std::int64_t { kWaitingRows, kRowsOfFrames, kSumsBefore, kTimesPassed };

// Aggregates that are merged: a frame is summed as its rows come and go.
struct Merged {
  using State =
      query::StateOf<query::Count, query::SumOfIntegers<std::int64_t>,
                     query::AverageOfIntegers<std::int64_t>, query::Extreme<std::int64_t, false>,
                     query::Extreme<std::int64_t, true>>;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, std::int64_t>;
  static constexpr bool kDistinct = false;
  static constexpr sql::AggregateKind kKinds[] = {
      sql::AggregateKind::kCountRows, sql::AggregateKind::kSum, sql::AggregateKind::kAverage,
      sql::AggregateKind::kMin, sql::AggregateKind::kMax};
  // Its bytes tell partitions apart from the first ones on.
  using Key = query::KeyOf<std::int64_t>;
  static Key key(const Row& row) { return Key(query::some(row.get<0>().value % kPartitions)); }
};
// Aggregates that are not: a frame is gathered anew.
struct Gathered {
  using State = query::StateOf<query::Distinct<std::int64_t, query::SumOfIntegers<std::int64_t>>,
                               query::Distinct<std::int64_t, query::Count>>;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  static constexpr bool kDistinct = true;
  static constexpr sql::AggregateKind kKinds[] = {sql::AggregateKind::kSum,
                                                  sql::AggregateKind::kCount};
  // Behind more bytes than are compared first.
  using Key = query::KeyOf<std::int64_t, std::int64_t, std::int64_t>;
  static Key key(const Row& row) {
    return Key(query::some(kConstant), query::some(kConstant),
               query::some(row.get<0>().value % kPartitions));
  }
};

template <class Aggregates>
Subject over(bool rows, std::int64_t preceding, bool as_they_come = false) {
  Subject subject;
  sql::OverAggregate over;
  over.rows = rows;
  over.as_they_come = as_they_come;
  over.preceding = preceding;
  over.time_column = 1;
  const auto number = [](std::int64_t value) {
    return sql::literal_of(sql::Value::of(value), sql::kBigIntType, {});
  };
  if (Aggregates::kDistinct) {
    over.partition.push_back(number(kConstant));
    over.partition.push_back(number(kConstant));
  }
  over.partition.push_back(
      sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(0), number(kPartitions)));
  for (const auto kind : Aggregates::kKinds) {
    sql::Aggregate aggregate;
    aggregate.kind = kind;
    aggregate.distinct = Aggregates::kDistinct;
    if (kind != sql::AggregateKind::kCountRows) aggregate.argument = column(0);
    aggregate.type = sql::kBigIntType;
    over.aggregates.push_back(std::move(aggregate));
  }
  subject.node.columns.assign(2 + over.aggregates.size(), {"c", sql::kBigIntType});
  subject.node.what = std::move(over);
  subject.make = [](const Parts& parts) { return std::make_unique<OverRows>(parts); };
  return subject;
}

template <class Aggregates, bool kOfRows, std::int64_t kSince>
struct Over {
  using Row = graph::Row;
  using Out = typename Aggregates::Out;
  using Key = typename Aggregates::Key;
  using State = typename Aggregates::State;
  static constexpr std::int64_t kNode = 0, kPreceding = kSince;
  static constexpr bool kRows = kOfRows;
  static Key key(const Row& row, query::Run&) { return Aggregates::key(row); }
  static auto time(const Row& row) { return row.get<1>(); }
  static void add(State& state, const Row& row, query::Run&) {
    const auto add_to = [&](auto& aggregate) {
      if constexpr (std::is_same_v<std::decay_t<decltype(aggregate)>, query::Count>)
        aggregate.add();
      else
        aggregate.add(row.get<0>());
    };
    state.all.apply([&](auto&... each) { (add_to(each), ...); });
  }
  static Out out(const Row& row, const State& state, query::Run& run) {
    return state.all.apply(
        [&](const auto&... each) { return query::followed_by<Out>(row, each.result(run)...); });
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

template <class Aggregates, std::int64_t kSince>
struct OverAsTheyCome : Over<Aggregates, true, kSince> {
  static constexpr bool kAsTheyCome = true;
};

// Both of them, and what they are to have in their stores. One may have less memory.
class Twins {
 public:
  Twins(const Subject& subject, Begin compiled, std::uint64_t memory_bytes)
      : subject_(subject),
        compiled_(std::move(compiled)),
        has_much_(memory_bytes == kMuchMemory),
        one_(place_ / "one", memory_bytes),
        other_(place_ / "other", kMuchMemory) {
    begin();
  }
  // They change parts.
  void begin() {
    rows_ += swaps_ == 0 ? 0 : one_.process->rows.size();
    late_ += swaps_ == 0 ? 0 : one_.process->late_rows();
    const bool swapped = swaps_++ % 2 != 0;
    one_.begin(subject_, swapped ? compiled_ : begin_interpreted, {watermark_, kNoWatermark});
    other_.begin(subject_, swapped ? begin_interpreted : compiled_, {watermark_, kNoWatermark});
  }
  bool one_is_compiled() const { return swaps_ % 2 == 0; }
  void take(std::int64_t value, std::int64_t time) {
    one_.process->take(0, RowKind::kInsert, value, time);
    other_.process->take(0, RowKind::kInsert, value, time);
  }
  void advance(std::int64_t watermark) {
    watermark_ = std::max(watermark_, watermark);
    one_.process->advance(0, watermark_);
    other_.process->advance(0, watermark_);
  }
  void complete() {
    one_.complete();
    other_.complete();
  }
  void compare() {
    ASSERT_EQ(one_.process->rows, other_.process->rows);
    ASSERT_EQ(one_.process->late_rows(), other_.process->late_rows());
  }
  // Behind complete(). What has ended of what memory does not have goes later.
  void compare_state() {
    if (!has_much_) return;
    for (const auto table : {kWaitingRows, kRowsOfFrames, kSumsBefore, kTimesPassed})
      ASSERT_EQ(one_.entries(kFirstSlice + table), other_.entries(kFirstSlice + table)) << table;
  }
  std::size_t entries(TableOfOver table) { return one_.entries(kFirstSlice + table).size(); }
  std::size_t rows() const { return rows_; }
  std::uint64_t late_rows() const { return late_; }

 private:
  const Subject& subject_;
  const Begin compiled_;
  const bool has_much_;
  Place place_;
  World one_, other_;
  std::int64_t watermark_ = kNoWatermark;
  unsigned swaps_ = 0;
  std::size_t rows_ = 0;  // That were shown before the last begin().
  std::uint64_t late_ = 0;
};

// When the input has ended: of a partition what rows to come would be compared with, or added to.
template <bool kOfRows, std::int64_t kSince>
void check_what_stays(Twins& twins) {
  constexpr bool kEnds = !kOfRows && kSince != kAllBefore;
  constexpr auto kAll =
      kEnds ? 0 : static_cast<std::size_t>(2 * kPartitions - 1);  // Remainders have signs.
  twins.complete();
  EXPECT_EQ(twins.entries(kWaitingRows), 0u);
  EXPECT_EQ(twins.entries(kTimesPassed), kAll);
  EXPECT_EQ(twins.entries(kSumsBefore), kSince == kAllBefore ? kAll : 0u);
  EXPECT_EQ(twins.entries(kRowsOfFrames),
            kSince == kAllBefore ? 0 : kAll * static_cast<std::size_t>(kSince + 1));
}

// What ends of partitions that memory does not have goes with the next checkpoints.
void end_all(Twins& twins, std::int64_t now) {
  for (int i = 0; i < 3; ++i) {
    twins.complete();
    twins.advance(now + i);
  }
}

template <class Aggregates, bool kOfRows, std::int64_t kSince>
void check_over(std::uint64_t memory_bytes, std::int64_t idle_ms) {
  const auto subject = over<Aggregates>(kOfRows, kSince);
  const Begin compiled = begin_compiled<query::OverRows<Over<Aggregates, kOfRows, kSince>>>;
  test_idle_ms = idle_ms;
  test_clock_ms = 1'000'000;
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Twins twins(subject, compiled, memory_bytes);
    std::int64_t now = 1'000;
    for (int step = 0; step < 4'000; ++step) {
      SCOPED_TRACE(step);
      const auto kind = random.below(100);
      if (kind < 80) {  // Several of a time, and late ones.
        twins.take(static_cast<std::int64_t>(random.below(32)) - 9,
                   now - static_cast<std::int64_t>(random.below(40)));
      } else if (kind < 96) {
        now += static_cast<std::int64_t>(random.below(12));
        test_clock_ms += static_cast<std::int64_t>(random.below(12));
        twins.advance(now - 30);
      } else {
        twins.complete();
        twins.compare_state();
        if (kind == 99) twins.begin();
      }
      twins.compare();
      if (testing::Test::HasFatalFailure()) return;
    }
    // Each of them ends what memory does not have.
    if (twins.one_is_compiled() != (seed == 3)) {
      twins.complete();
      twins.begin();
    }
    if (idle_ms == 0) {
      twins.advance(now + 1'000);
      end_all(twins, now + 1'000);
      twins.advance(kEndOfTime);
      check_what_stays<kOfRows, kSince>(twins);
    } else {
      twins.advance(now + 1'000);  // All have gone out.
      test_clock_ms += idle_ms;
      twins.take(1, now + 1'100);
      end_all(twins, now + 1'001);
      twins.complete();
      EXPECT_EQ(twins.entries(kTimesPassed), 0u);
      EXPECT_EQ(twins.entries(kSumsBefore), 0u);
      EXPECT_EQ(twins.entries(kRowsOfFrames), 0u);
      EXPECT_EQ(twins.entries(kWaitingRows), 1u);
    }
    twins.compare();
    twins.complete();
    twins.compare_state();
    EXPECT_GT(twins.rows(), 1'000u);
    EXPECT_GT(twins.late_rows(), 50u);
  }
}

template <class Aggregates, bool kOfRows, std::int64_t kSince>
void check_over(std::int64_t idle_ms = 0) {
  for (const auto memory_bytes : kMemories) {
    SCOPED_TRACE(memory_bytes);
    check_over<Aggregates, kOfRows, kSince>(memory_bytes, idle_ms);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// What the interpreter has of rows that came since the last checkpoint goes on, too.
template <bool kOfRows, std::int64_t kSince>
void check_take_over(std::uint64_t memory_bytes) {
  const auto subject = over<Merged>(kOfRows, kSince);
  test_idle_ms = 0;
  Random random(kSince == kAllBefore ? 1 : 2);
  Place place;
  World one(place / "one", kMuchMemory), other(place / "other", memory_bytes);
  Watermarks watermarks{kNoWatermark, kNoWatermark};
  std::int64_t now = 1'000;
  std::size_t taken_over = 0;
  const auto step = [&] {
    if (random.below(100) < 80) {
      const auto value = static_cast<std::int64_t>(random.below(32));
      const auto time = now - static_cast<std::int64_t>(random.below(40));
      one.process->take(0, RowKind::kInsert, value, time);
      return other.process->take(0, RowKind::kInsert, value, time);
    }
    now += static_cast<std::int64_t>(random.below(12));
    watermarks[0] = std::max(watermarks[0], now - 30);
    one.process->advance(0, watermarks[0]);
    other.process->advance(0, watermarks[0]);
  };
  const auto live = [&](std::uint64_t steps, bool completes) {
    for (; steps > 0; --steps)
      step();
    ASSERT_EQ(one.process->rows, other.process->rows);
    if (!completes) return;
    one.complete(), other.complete();
    if (memory_bytes != kMuchMemory) return;
    for (const auto table : {kWaitingRows, kRowsOfFrames, kSumsBefore, kTimesPassed})
      ASSERT_EQ(one.entries(kFirstSlice + table).size(), other.entries(kFirstSlice + table).size());
  };
  for (int life = 0; life < 30 && !testing::Test::HasFatalFailure(); ++life) {
    SCOPED_TRACE(life);
    one.begin(subject, begin_interpreted, watermarks);
    other.begin(subject, begin_interpreted, watermarks);
    for (const bool completes : {true, false, true, false})
      live(random.below(60), completes);
    one.process->rows.clear();
    other.take_over<query::OverRows<Over<Merged, kOfRows, kSince>>>(watermarks);
    live(life % 2 == 0 ? 0 : random.below(60), true);  // What changed before, too.
    live(random.below(60), false);
    live(random.below(60), true);
    taken_over += one.process->rows.size();
  }
  EXPECT_GT(taken_over, 300u);
}

// No row waits or is late, whatever its time; no watermark comes before the end.
template <class Aggregates, std::int64_t kSince>
void check_as_they_come(std::uint64_t memory_bytes, std::int64_t idle_ms) {
  const auto subject = over<Aggregates>(true, kSince, true);
  const Begin compiled = begin_compiled<query::OverRows<OverAsTheyCome<Aggregates, kSince>>>;
  test_idle_ms = idle_ms;
  test_clock_ms = 1'000'000;
  Random random(7);
  Twins twins(subject, compiled, memory_bytes);
  std::size_t taken = 0;
  for (int step = 0; step < 4'000 && !testing::Test::HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    const auto kind = random.below(100);
    if (kind < 90) {
      twins.take(static_cast<std::int64_t>(random.below(32)) - 9,
                 static_cast<std::int64_t>(random.below(40)));
      ++taken;
    } else if (kind < 94) {
      test_clock_ms += static_cast<std::int64_t>(random.below(12));
    } else {
      twins.complete();
      twins.compare_state();
      if (kind == 99) twins.begin();
    }
    twins.compare();
  }
  twins.begin();
  EXPECT_EQ(twins.rows(), taken);
  EXPECT_EQ(twins.late_rows(), 0u);
  if (idle_ms == 0) return check_what_stays<true, kSince>(twins);
  test_clock_ms += 2 * idle_ms;
  for (int i = 0; i < 3; ++i) {
    twins.take(1, 0);
    twins.complete();
  }
  EXPECT_EQ(twins.entries(kTimesPassed), 1u);
  EXPECT_EQ(twins.entries(kSumsBefore), kSince == kAllBefore ? 1u : 0u);
}

template <class Aggregates, std::int64_t kSince>
void check_as_they_come(std::int64_t idle_ms = 0) {
  for (const auto memory_bytes : kMemories) {
    SCOPED_TRACE(memory_bytes);
    check_as_they_come<Aggregates, kSince>(memory_bytes, idle_ms);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <bool kOfRows, std::int64_t kSince>
void check_take_over() {
  for (const auto memory_bytes : kMemories)
    check_take_over<kOfRows, kSince>(memory_bytes);
}

TEST(RuntimeOver, AllRowsBeforeAreTakenOver) { check_take_over<true, kAllBefore>(); }
TEST(RuntimeOver, FramesOfRowsAreTakenOver) { check_take_over<true, 5>(); }
TEST(RuntimeOver, FramesOfTimesAreTakenOver) { check_take_over<false, 60>(); }
TEST(RuntimeOver, FramesOfTimesThatEndAreTakenOver) { check_take_over<false, 4>(); }

TEST(RuntimeOver, AllRowsBefore) { check_over<Merged, true, kAllBefore>(); }
TEST(RuntimeOver, AllTimesBefore) { check_over<Merged, false, kAllBefore>(); }
TEST(RuntimeOver, FramesOfRows) { check_over<Merged, true, 5>(); }
TEST(RuntimeOver, FramesOfOneRow) { check_over<Merged, true, 0>(); }
TEST(RuntimeOver, FramesOfTimes) { check_over<Merged, false, 60>(); }
TEST(RuntimeOver, FramesOfTimesThatEnd) { check_over<Merged, false, 4>(); }
TEST(RuntimeOver, FramesOfOneTime) { check_over<Merged, false, 0>(); }
TEST(RuntimeOver, IdleRowsBefore) { check_over<Merged, true, kAllBefore>(20); }
TEST(RuntimeOver, IdleTimesBefore) { check_over<Merged, false, kAllBefore>(20); }
TEST(RuntimeOver, IdleFramesOfRows) { check_over<Merged, true, 5>(20); }
TEST(RuntimeOver, AllRowsAsTheyCome) { check_as_they_come<Merged, kAllBefore>(); }
TEST(RuntimeOver, FramesOfRowsAsTheyCome) { check_as_they_come<Merged, 5>(); }
TEST(RuntimeOver, OneRowAsTheyCome) { check_as_they_come<Merged, 0>(); }
TEST(RuntimeOver, DifferentValuesOfAllRowsAsTheyCome) {
  check_as_they_come<Gathered, kAllBefore>();
}
TEST(RuntimeOver, DifferentValuesOfRowsAsTheyCome) { check_as_they_come<Gathered, 5>(); }
TEST(RuntimeOver, IdleAllRowsAsTheyCome) { check_as_they_come<Merged, kAllBefore>(20); }
TEST(RuntimeOver, IdleFramesOfRowsAsTheyCome) { check_as_they_come<Merged, 5>(20); }
TEST(RuntimeOver, DifferentValuesOfTimesThatEnd) { check_over<Gathered, false, 4>(); }
TEST(RuntimeOver, DifferentValuesOfAllRowsBefore) { check_over<Gathered, true, kAllBefore>(); }
TEST(RuntimeOver, DifferentValuesOfAllTimesBefore) { check_over<Gathered, false, kAllBefore>(); }
TEST(RuntimeOver, DifferentValuesOfRows) { check_over<Gathered, true, 5>(); }
TEST(RuntimeOver, DifferentValuesOfTimes) { check_over<Gathered, false, 60>(); }

}  // namespace
}  // namespace holdfast::stream::graph
