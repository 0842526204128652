// Groups of windows that rows bring along, interpreted and compiled, beside a model that knows all
// rows: over lives that go on as one another. Of those that late rows change with rows that are taken
// back and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/corrected_groups.hpp>

#include "crafted_state.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

// A row is a number and the end of its window, which is its start, too: no operator asks.
constexpr std::int64_t kNumberModulo = 5, kWindowLengthMs = 70, kLateMs = 100;

// COUNT(*), SUM(number), MAX(number) by the number modulo 5.
Subject groups_of_windows(std::int64_t late_ms) {
  Subject subject;
  sql::Group group;
  group.keys.push_back(
      sql::made(sql::Operation::kModulo, sql::kBigIntType, {}, column(0),
                sql::literal_of(sql::Value::of(kNumberModulo), sql::kBigIntType, {})));
  for (const auto kind :
       {sql::AggregateKind::kCount, sql::AggregateKind::kSum, sql::AggregateKind::kMax}) {
    sql::Aggregate aggregate;
    aggregate.kind = kind;
    aggregate.type = sql::kBigIntType;
    if (kind != sql::AggregateKind::kCount) aggregate.argument = column(0);
    group.aggregates.push_back(std::move(aggregate));
  }
  group.windowed = group.by_columns = true;
  group.start_column = group.end_column = 1;
  group.lateness_ms = late_ms;
  subject.node.what = std::move(group);
  subject.node.columns.assign(7, {"c", sql::kBigIntType});
  return subject;
}
Subject corrected_groups(bool retracts) {
  auto subject = groups_of_windows(kLateMs);
  subject.make = [retracts](const Parts& parts) {
    return std::make_unique<CorrectedGroups>(parts, retracts);
  };
  return subject;
}
Subject window_groups() {
  auto subject = groups_of_windows(0);
  subject.make = [](const Parts& parts) { return std::make_unique<WindowGroups>(parts); };
  return subject;
}

template <bool kMayRetract>
struct CompiledGroupsOfWindows {
  using Row = graph::Row;
  using Number = std::int64_t;
  using Key = query::KeyOf<Number>;
  using Out = query::RowOf<Number, Number, Number, Number, Number, Number, Number>;
  using Greatest = query::Extreme<Number, true>;
  using State = query::StateOf<
      query::Count, query::SumOfIntegers<Number>,
      std::conditional_t<kMayRetract, query::OfValues<Number, Greatest, false>, Greatest>>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = kMayRetract;
  static Key key(const Row& row, query::Run&) {
    return Key(query::some(row.get<0>().value % kNumberModulo));
  }
  static query::Maybe<Number> start(const Row& row) { return row.get<1>(); }
  static query::Maybe<Number> end(const Row& row) { return row.get<1>(); }
  static void add(State& state, const Row& row, query::Run&) {
    state.template get<0>().add();
    state.template get<1>().add(row.get<0>());
    state.template get<2>().add(row.get<0>());
  }
  static void take_back(State& state, const Row& row, query::Run&) {
    state.template get<0>().take_back();
    state.template get<1>().take_back(row.get<0>());
    if constexpr (kMayRetract) state.template get<2>().take_back(row.get<0>());
  }
  static Out out(const Key& key, const State& state, Number start, Number end, query::Run& run) {
    return Out(key.template get<0>(), state.template get<0>().result(run),
               state.template get<1>().result(run), state.template get<2>().result(run),
               query::some(start), query::some(end), query::some(end - 1));
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

template <bool kMayRetract>
struct CompiledCorrectedGroups : CompiledGroupsOfWindows<kMayRetract> {
  static constexpr std::int64_t kLatenessMs = kLateMs;
};

class WindowModel {
 public:
  // How long rows still change a window that has ended.
  explicit WindowModel(std::int64_t late_ms) : late_ms_(late_ms) {}

  Shown take(RowKind kind, std::int64_t number, std::int64_t end) {
    if (end - 1 + late_ms_ <= watermark_) return ++late, Shown();
    const std::pair place(end, number % kNumberModulo);
    auto& rows = groups_[place];
    const auto before = rows;
    if (adds(kind)) {
      rows.insert(number);
    } else if (const auto found = rows.find(number); found != rows.end()) {
      rows.erase(found);
    } else {
      return {};
    }
    if (end - 1 > watermark_) return {};
    if (before.empty()) return {row(RowKind::kInsert, place, rows)};
    if (rows.empty()) return {row(RowKind::kDelete, place, before)};
    return {row(RowKind::kUpdateBefore, place, before), row(RowKind::kUpdateAfter, place, rows)};
  }
  Shown advance(std::int64_t watermark) {
    Shown all;
    for (const auto& [place, rows] : groups_) {
      const auto last = place.first - 1;
      if (last > watermark_ && last <= watermark && !rows.empty())
        all.push_back(row(RowKind::kInsert, place, rows));
    }
    return watermark_ = std::max(watermark_, watermark), all;
  }
  std::uint64_t late = 0;

 private:
  using Group = std::pair<std::int64_t, std::int64_t>;
  static std::string row(RowKind kind, const Group& place,
                         const std::multiset<std::int64_t>& rows) {
    std::int64_t sum = 0;
    for (const auto number : rows)
      sum += number;
    return shown(kind, {place.second, static_cast<std::int64_t>(rows.size()), sum, *rows.rbegin(),
                        place.first, place.first, place.first - 1});
  }

  const std::int64_t late_ms_;
  std::map<Group, std::multiset<std::int64_t>> groups_;
  std::int64_t watermark_ = kNoWatermark;
};

template <bool kMayRetract, class Compiled>
void check_groups(const Subject& subject, unsigned seed, std::uint64_t memory_bytes,
                  Left left = Left::kHere) {
  SCOPED_TRACE(std::to_string(seed) + ", " + std::to_string(memory_bytes));
  const auto late_ms = std::get<sql::Group>(subject.node.what).lateness_ms;
  Random random(seed);
  Place place;
  test_idle_ms = 0;
  World one(place / "one0", memory_bytes), other(place / "other0", memory_bytes);
  WindowModel model(late_ms);
  std::int64_t now = 1'000, watermark = kNoWatermark;
  bool swapped = false;
  int regions = 0;
  std::uint64_t late_of_one = 0, late_of_other = 0;  // Before they began.
  const auto begin = [&] {
    late_of_one = late_of_other = model.late;
    one.close(), other.close();
    for (const std::string name : {"one", "other"}) {
      const auto region = place / (name + std::to_string(regions));
      if (left == Left::kByEarlierBuild) forget_times(region, 1);
      const auto next = place / (name + std::to_string(regions + 1));
      if (left == Left::kBySavepoint) copy_entries(region, next, 1);
    }
    if (left == Left::kBySavepoint) {
      ++regions;
      one.move_to(place / ("one" + std::to_string(regions)));
      other.move_to(place / ("other" + std::to_string(regions)));
    }
    one.begin(subject, swapped ? begin_compiled<Compiled> : begin_interpreted,
              {watermark, watermark});
    other.begin(subject, swapped ? begin_interpreted : begin_compiled<Compiled>,
                {watermark, watermark});
    swapped = !swapped;
  };
  begin();
  std::vector<std::pair<std::int64_t, std::int64_t>> given;
  std::size_t corrections = 0;
  for (int step = 0; step < 5'000; ++step) {
    const auto kind_of_step = random.below(100);
    Shown wanted;
    one.process->rows.clear(), other.process->rows.clear();
    if (kind_of_step < 80) {
      const auto time = now - static_cast<std::int64_t>(random.below(300));
      std::pair row(static_cast<std::int64_t>(random.below(200)),
                    time + kWindowLengthMs - time % kWindowLengthMs);
      auto kind = RowKind::kInsert;
      if (kMayRetract && !given.empty() && random.below(3) == 0) {
        const auto which = given.size() - 1 - random.below(std::min<std::size_t>(given.size(), 60));
        std::swap(given[which], given.back());
        row = given.back();
        given.pop_back();
        kind = random.below(2) == 0 ? RowKind::kDelete : RowKind::kUpdateBefore;
      } else {
        given.push_back(row);
      }
      wanted = model.take(kind, row.first, row.second);
      corrections += wanted.size() == 2;
      one.process->take(0, kind, row.first, row.second);
      other.process->take(0, kind, row.first, row.second);
    } else if (kind_of_step < 96) {
      now += static_cast<std::int64_t>(random.below(25));
      if (now - 120 <= watermark) continue;
      watermark = now - 120;
      // Some are the last one that a window lives with, or the one behind it.
      if (random.below(3) == 0) {
        const auto rest = kWindowLengthMs - 1 - watermark % kWindowLengthMs;
        watermark += std::max<std::int64_t>(rest - static_cast<std::int64_t>(random.below(2)), 0);
      }
      wanted = model.advance(watermark);
      one.process->advance(0, watermark);
      other.process->advance(0, watermark);
    } else {
      if (kind_of_step != 98) {
        one.complete(), other.complete();
        if (memory_bytes == kMemories[2] && left == Left::kHere)
          expect_nothing_in_memory(*one.process), expect_nothing_in_memory(*other.process);
      }
      if (kind_of_step == 99) begin();
      const bool interpreted = dynamic_cast<Interpreted*>(one.process.get()) != nullptr;
      if (kind_of_step == 98 && interpreted) {
        one.template take_over<Compiled>({watermark, watermark});
        late_of_one = model.late;
      }
    }
    ASSERT_EQ(one.process->rows, wanted) << step;
    ASSERT_EQ(other.process->rows, wanted) << step;
    ASSERT_EQ(one.process->late_rows(), model.late - late_of_one) << step;
    ASSERT_EQ(other.process->late_rows(), model.late - late_of_other) << step;
  }
  EXPECT_EQ(corrections > 100, late_ms != 0);
  EXPECT_GT(model.late, 100u);
  one.process->rows.clear(), other.process->rows.clear();
  const auto rest = model.advance(kEndOfTime);
  one.process->advance(0, kEndOfTime), other.process->advance(0, kEndOfTime);
  EXPECT_EQ(one.process->rows, rest);
  EXPECT_EQ(other.process->rows, rest);
  one.complete(), other.complete();
  one.complete(), other.complete();
  EXPECT_EQ(one.bytes() + other.bytes(), 0u) << "behind the end";
}

template <bool kMayRetract>
using CompiledCorrected = query::CorrectedGroups<CompiledCorrectedGroups<kMayRetract>>;
using CompiledWindowGroups = query::WindowGroups<CompiledGroupsOfWindows<false>>;

TEST(CorrectedGroups, ALateRowChangesWhatWasShownUntilItsTimeIsOver) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_groups<false, CompiledCorrected<false>>(corrected_groups(false), seed, memory_bytes);
  }
}

TEST(CorrectedGroups, RowsThatAreTakenBackDoSo) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_groups<true, CompiledCorrected<true>>(corrected_groups(true), seed, memory_bytes);
  }
}

TEST(WindowGroups, ComeWhenTheirWindowHasEndedWhateverIsInMemory) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_groups<false, CompiledWindowGroups>(window_groups(), seed, memory_bytes);
  }
}

// Such a state is read as a whole, and written anew.
TEST(WindowGroups, OfABuildThatWroteNoTimes) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const auto memory_bytes : kMemories)
      check_groups<false, CompiledWindowGroups>(window_groups(), seed, memory_bytes,
                                                Left::kByEarlierBuild);
  }
}

// Entries with a key each are found by no time, so they are read as a whole, and written anew.
TEST(WindowGroups, OfASavepoint) {
  for (const auto memory_bytes : kMemories)
    check_groups<false, CompiledWindowGroups>(window_groups(), 1, memory_bytes, Left::kBySavepoint);
}
TEST(CorrectedGroups, OfASavepoint) {
  for (const auto memory_bytes : kMemories)
    check_groups<true, CompiledCorrected<true>>(corrected_groups(true), 1, memory_bytes,
                                                Left::kBySavepoint);
}

TEST(WindowGroups, RefuseNumbersThatNoRunCouldHaveWritten) {
  // Until when a group lives; of a key the end and the start.
  check_crafted<CompiledWindowGroups>(window_groups(),
                                      {{0, kInState, 1}, {0, kInKey, 0}, {0, kInKey, 8}});
}

}  // namespace
}  // namespace holdfast::stream::graph
