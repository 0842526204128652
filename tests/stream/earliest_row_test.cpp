// The earliest row of each partition, once, interpreted and compiled: what Flink's deduplication that
// keeps the first row says, over lives that go on as one another, with and without memory for state.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/earliest_row.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// Rows of a time and a number; partitions by the number.
constexpr std::int64_t kNumbersModulo = 250;  // Of one byte: by it rows of one time are ordered.

Subject earliest_row() {
  Subject subject;
  sql::Rank rank;
  rank.partition.push_back(
      sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(1),
                sql::literal_of(sql::Value::of(kNumbersModulo), sql::kBigIntType, {})));
  rank.order.push_back({column(0), false, true});
  rank.last = 1;
  rank.earliest = true;
  subject.node.what = std::move(rank);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.make = [](const Parts& parts) { return std::make_unique<EarliestRow>(parts); };
  return subject;
}

struct CompiledEarliestRow {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static Key key(const Row& row, query::Run&) {
    return Key(query::some(row.get<1>().value % kNumbersModulo));
  }
  static query::Maybe<std::int64_t> time(const Row& row) { return row.get<0>(); }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t number) {
    show_compiled(all, change, row, {number});
  }
};

// What it should be, by the words of Flink's operator.
class Model {
 public:
  void take(std::int64_t time, std::int64_t number) {
    const auto partition = number % kNumbersModulo;
    if (time < watermark_) return static_cast<void>(++late);
    if (shown_.contains(partition)) return;
    const auto known = waiting_.find(partition);
    if (known == waiting_.end() || time < known->second.first) waiting_[partition] = {time, number};
  }
  Shown advance(std::int64_t watermark) {
    if (watermark <= watermark_) return {};
    watermark_ = watermark;
    std::vector<std::pair<std::int64_t, std::int64_t>> passed;  // Of a time, by partition.
    for (const auto& [partition, row] : waiting_)
      if (row.first <= watermark) passed.emplace_back(row.first, partition);
    std::sort(passed.begin(), passed.end());
    Shown rows;
    for (const auto& [time, partition] : passed) {
      rows.push_back(shown(RowKind::kInsert, {time, waiting_.at(partition).second, 1}));
      waiting_.erase(partition);
      shown_.insert(partition);
    }
    return rows;
  }
  std::uint64_t late = 0;

 private:
  std::int64_t watermark_ = kNoWatermark;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> waiting_;
  std::set<std::int64_t> shown_;
};

TEST(EarliestRow, IsShownOnceWhenTheWatermarkHasComeToItAndNeverCorrected) {
  const auto subject = earliest_row();
  using Compiled = query::EarliestRow<CompiledEarliestRow>;
  const std::vector<Begin> ways = {begin_interpreted, begin_compiled<Compiled>};
  test_idle_ms = 0;
  Place place;
  constexpr auto kMuch = std::uint64_t{1} << 30;
  std::vector<std::unique_ptr<World>> worlds;
  for (const auto& [name, memory] :
       {std::pair{"a", kMuch}, {"b", kMuch}, {"c", std::uint64_t{1}}, {"d", std::uint64_t{1}}})
    worlds.push_back(std::make_unique<World>(place / name, memory));
  Random random(1);
  Model model;
  std::int64_t watermark = kNoWatermark;
  std::size_t life = 0, rows = 0;
  const auto begin = [&] {
    for (std::size_t i = 0; i < worlds.size(); ++i)
      worlds[i]->begin(subject, ways[(i + life) % 2], {watermark, watermark});
    ++life;
  };
  begin();
  std::int64_t time = 0, partition = 0;
  for (std::int64_t number = 0; number < 6'000; ++number) {
    if (random.below(4) != 0) {  // Else one of the same time and partition, which comes too late.
      time = number / 3 + static_cast<std::int64_t>(random.below(40));
      partition = static_cast<std::int64_t>(random.below(kNumbersModulo));
    }
    const auto of = partition + kNumbersModulo * number;  // No row is as another.
    const bool advances = random.below(3) == 0;
    if (advances) watermark = std::max(watermark, time - 20);
    model.take(time, of);
    const auto wanted = advances ? model.advance(watermark) : Shown();
    for (auto& world : worlds) {
      auto& process = *world->process;
      process.rows.clear();
      process.take(0, RowKind::kInsert, time, of);
      if (advances) process.advance(0, watermark);
      ASSERT_EQ(process.rows, wanted) << number;
    }
    rows += wanted.size();
    if (random.below(60) != 0) continue;
    for (auto& world : worlds)
      world->complete();
    for (const auto slice : {kFirstSlice, kFirstSlice + 1})
      ASSERT_EQ(worlds[0]->entries(slice), worlds[1]->entries(slice));
    if (random.below(2) == 0) begin();
  }
  EXPECT_EQ(rows, static_cast<std::size_t>(kNumbersModulo));
  EXPECT_GT(model.late, 100u);
  EXPECT_GT(life, 10u);
}

// A partition that was shown is forgotten when its time is over, and begins anew; a row that waits
// does not end.
TEST(EarliestRow, ComesAgainWhenItsTimeIsOver) {
  const auto subject = earliest_row();
  test_idle_ms = 100;
  test_clock_ms = 1'000;
  for (const auto memory : {std::uint64_t{1} << 30, std::uint64_t{1}}) {
    for (const Begin& way : {Begin(begin_interpreted),
                             Begin(begin_compiled<query::EarliestRow<CompiledEarliestRow>>)}) {
      Place place;
      World world(place / "one", memory);
      world.begin(subject, way);
      const auto take = [&](std::int64_t time, std::int64_t number) {
        world.process->take(0, RowKind::kInsert, time, number);
        world.process->advance(0, time);
        world.complete();
      };
      take(1, 1);
      world.process->take(0, RowKind::kInsert, 500, 2);  // Waits.
      take(2, 1);
      test_clock_ms += 1'000;
      take(3, 7);
      take(4, 1);
      world.begin(subject, way, {4, 4});
      take(500, 8);
      EXPECT_EQ(world.process->rows, (Shown{shown(RowKind::kInsert, {500, 2, 1}),
                                            shown(RowKind::kInsert, {500, 8, 1})}));
      EXPECT_EQ(world.entries(kFirstSlice).size(), 0u);
    }
  }
  test_idle_ms = 0;
}

}  // namespace
}  // namespace holdfast::stream::graph
