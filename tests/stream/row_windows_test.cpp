// Windows of so many rows, interpreted and compiled, beside a model that keeps all rows: over lives
// that go on as one another, with memory for all keys, for few and for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/row_windows.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

struct RowCounts {
  std::int64_t size, slide;
};

// COUNT(*), SUM(v), MIN(v) by k.
Subject windows_of_rows(const RowCounts& counts) {
  Subject subject;
  sql::Group group;
  group.keys.push_back(column(0));
  for (const auto kind :
       {sql::AggregateKind::kCount, sql::AggregateKind::kSum, sql::AggregateKind::kMin}) {
    sql::Aggregate aggregate;
    aggregate.kind = kind;
    aggregate.type = sql::kBigIntType;
    if (kind != sql::AggregateKind::kCount) aggregate.argument = column(1);
    group.aggregates.push_back(std::move(aggregate));
  }
  group.row_size = counts.size;
  group.row_slide = counts.slide;
  subject.node.what = std::move(group);
  subject.node.columns.assign(4, {"c", sql::kBigIntType});
  subject.make = [](const Parts& parts) { return std::make_unique<RowWindows>(parts); };
  return subject;
}

template <std::int64_t kSize, std::int64_t kEach>
struct CompiledRowWindows {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  using State = query::StateOf<query::Count, query::SumOfIntegers<std::int64_t>,
                               query::Extreme<std::int64_t, false>>;
  static constexpr std::int64_t kNode = 0, kRows = kSize, kSlide = kEach;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static void add(State& state, const Row& row, query::Run&) {
    state.template get<0>().add();
    state.template get<1>().add(row.get<1>());
    state.template get<2>().add(row.get<1>());
  }
  static Out out(const Key& key, const State& state, query::Run& run) {
    return Out(key.template get<0>(), state.template get<0>().result(run),
               state.template get<1>().result(run), state.template get<2>().result(run));
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

// All rows of a key; window w has those from w * slide on.
class RowWindowsModel {
 public:
  explicit RowWindowsModel(const RowCounts& counts) : counts_(counts) {}
  Shown take(std::int64_t key, std::int64_t value) {
    auto& rows = rows_[key];
    rows.push_back(value);
    const auto before = static_cast<std::int64_t>(rows.size()) - counts_.size;
    if (before < 0 || before % counts_.slide != 0) return {};
    std::int64_t sum = 0, least = value;
    for (auto i = static_cast<std::size_t>(before); i < rows.size(); ++i) {
      sum += rows[i];
      least = std::min(least, rows[i]);
    }
    return {shown(RowKind::kInsert, {key, counts_.size, sum, least})};
  }

 private:
  const RowCounts counts_;
  std::map<std::int64_t, std::vector<std::int64_t>> rows_;
};

template <std::int64_t kSize, std::int64_t kEach>
void check_row_windows(std::uint64_t memory_bytes) {
  constexpr RowCounts kCounts{kSize, kEach};
  SCOPED_TRACE(std::to_string(kSize) + " rows, one each " + std::to_string(kEach));
  const auto subject = windows_of_rows(kCounts);
  using Compiled = query::RowWindows<CompiledRowWindows<kSize, kEach>>;
  Random random(7);
  Place place;
  test_idle_ms = 0;
  World one(place / "one", memory_bytes), other(place / "other", memory_bytes);
  RowWindowsModel model(kCounts);
  bool swapped = false;
  const auto begin = [&] {
    one.begin(subject, swapped ? begin_compiled<Compiled> : begin_interpreted);
    other.begin(subject, swapped ? begin_interpreted : begin_compiled<Compiled>);
    swapped = !swapped;
  };
  begin();
  std::size_t windows = 0;
  for (int step = 0; step < 6'000; ++step) {
    const auto kind_of_step = random.below(100);
    if (kind_of_step < 97) {
      const auto key = static_cast<std::int64_t>(random.below(40));
      const auto value = static_cast<std::int64_t>(random.below(1'000)) - 500;
      one.process->rows.clear(), other.process->rows.clear();
      one.process->take(0, RowKind::kInsert, key, value);
      other.process->take(0, RowKind::kInsert, key, value);
      const auto wanted = model.take(key, value);
      ASSERT_EQ(one.process->rows, wanted) << step;
      ASSERT_EQ(other.process->rows, wanted) << step;
      windows += wanted.size();
    } else {
      one.complete(), other.complete();
      if (kind_of_step == 99) begin();
    }
  }
  EXPECT_GT(windows, 200u);
  one.process->rows.clear(), other.process->rows.clear();
  one.process->advance(0, kEndOfTime), other.process->advance(0, kEndOfTime);
  EXPECT_TRUE(one.process->rows.empty() && other.process->rows.empty()) << "not full";
}

TEST(RowWindows, OneIsShownWhenItHasAllItsRows) {
  for (const auto memory_bytes : kMemories) {
    check_row_windows<1, 1>(memory_bytes);
    check_row_windows<10, 10>(memory_bytes);
    check_row_windows<10, 5>(memory_bytes);
    check_row_windows<7, 3>(memory_bytes);
    check_row_windows<5, 1>(memory_bytes);
  }
}

TEST(RowWindows, WithoutAWindowThatIsOpenThereIsNoState) {
  const auto subject = windows_of_rows({3, 3});
  Place place;
  World world(place / "w", kMuchMemory);
  for (const auto& way : {Begin(begin_interpreted),
                          Begin(begin_compiled<query::RowWindows<CompiledRowWindows<3, 3>>>)}) {
    world.begin(subject, way);
    for (int row = 0; row < 3; ++row) {
      world.process->take(0, RowKind::kInsert, 1, row);
      world.complete();
      EXPECT_EQ(world.entries(kFirstSlice).size(), row == 2 ? 0u : 1u);
    }
  }
}

TEST(RowWindows, AKeyOfWhichNoRowComesForLongBeginsAnew) {
  using Compiled = query::RowWindows<CompiledRowWindows<3, 3>>;
  const auto subject = windows_of_rows({3, 3});
  for (const auto memory_bytes : kMemories) {
    for (const auto& way : {Begin(begin_interpreted), Begin(begin_compiled<Compiled>)}) {
      Place place;
      test_idle_ms = 100;
      test_clock_ms = 1'000;
      World world(place / "w", memory_bytes);
      world.begin(subject, way);
      auto& process = *world.process;
      process.take(0, RowKind::kInsert, 1, 1);
      process.take(0, RowKind::kInsert, 2, 1);
      world.complete();
      test_clock_ms += 60;
      process.take(0, RowKind::kInsert, 2, 1);
      world.complete();
      test_clock_ms += 90;
      for (int row = 0; row < 2; ++row)
        process.take(0, RowKind::kInsert, 1, 5);
      EXPECT_TRUE(process.rows.empty()) << "the first row of it was forgotten";
      process.take(0, RowKind::kInsert, 2, 1);
      process.take(0, RowKind::kInsert, 1, 5);
      EXPECT_EQ(process.rows, (Shown{shown(RowKind::kInsert, {2, 3, 3, 1}),
                                     shown(RowKind::kInsert, {1, 3, 15, 5})}));
      test_idle_ms = 0;
    }
  }
}

}  // namespace
}  // namespace holdfast::stream::graph
