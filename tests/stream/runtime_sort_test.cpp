// ORDER BY, LIMIT and results that are shown in the end, interpreted and compiled, beside a model
// that has all rows: over lives that go on as one another, with memory for all rows, for few and for
// none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/least_rows.hpp>
#include <holdfast/stream/graph/simple_operators.hpp>
#include <holdfast/stream/graph/sort_rows.hpp>

#include "crafted_state.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::uint64_t kNoLimit = sql::Sort::kAll;

// ORDER BY v DESC, or no order.
template <bool kSorted, std::uint64_t kLeftOut = 0, std::uint64_t kMost = kNoLimit>
struct CompiledSort {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t, std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kOffset = kLeftOut, kLimit = kMost;
  static constexpr bool kHasOrder = kSorted;
  static Key key(const Row& row) { return Key(row.get<0>(), row.get<1>()); }
  static int compare(const Row& a, const Row& b) {
    return kSorted ? query::compare_in_order<true, true>(a.get<1>(), b.get<1>()) : 0;
  }
  static void give(Shown& all, query::Change change, const Row& row) {
    show_compiled(all, change, row);
  }
};

template <class Definition>
Subject sorted_rows() {
  Subject subject;
  sql::Sort sort;
  if (Definition::kHasOrder) sort.keys.push_back({column(1), true, true});
  sort.offset = Definition::kOffset;
  sort.limit = Definition::kLimit;
  subject.node.what = std::move(sort);
  subject.node.columns = kColumns;
  subject.make = [](const Parts& parts) { return std::make_unique<SortRows>(parts); };
  return subject;
}

Subject final_rows() {
  auto subject = sorted_rows<CompiledSort<false>>();
  subject.node.what = sql::Materialize{};
  return subject;
}

class SortModel {
 public:
  using Values = std::pair<std::int64_t, std::int64_t>;
  void come(Values row) {
    auto& counted = rows_[row];
    if (counted.count++ == 0) counted.number = next_++;
  }
  void go(Values row) {
    if (--rows_[row].count == 0) rows_.erase(row);
  }
  bool has(Values row) const { return rows_.contains(row); }
  std::size_t size() const { return rows_.size(); }
  // One of them, perhaps: the first that is not below.
  Values near(Values row) const {
    const auto found = rows_.lower_bound(row);
    return found == rows_.end() ? rows_.begin()->first : found->first;
  }
  Shown in_order(bool sorted, std::uint64_t offset, std::uint64_t limit) const {
    std::vector<std::tuple<std::int64_t, std::int64_t, Values>> all;
    for (const auto& [row, counted] : rows_) {
      for (int i = 0; i < counted.count; ++i)
        all.emplace_back(sorted ? -row.second : 0, counted.number, row);
    }
    std::sort(all.begin(), all.end());
    Shown shown_rows;
    for (std::uint64_t i = offset; i < all.size() && i - offset < limit; ++i) {
      const auto& row = std::get<2>(all[i]);
      shown_rows.push_back(shown(RowKind::kInsert, {row.first, row.second}));
    }
    return shown_rows;
  }

 private:
  struct Counted {
    int count = 0;
    std::int64_t number = 0;
  };
  std::map<Values, Counted> rows_;
  std::int64_t next_ = 0;
};

template <class Definition>
class SortTwins {
  using Compiled = query::SortRows<Definition>;

 public:
  SortTwins(const Subject& subject, std::uint64_t memory_bytes, Left left, unsigned seed)
      : subject_(subject),
        memory_bytes_(memory_bytes),
        left_(left),
        random_(seed),
        one_(place_ / "one", memory_bytes),
        other_(place_ / "other", memory_bytes) {
    begin();
  }
  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      const auto kind = random_.below(200);
      if (kind < 194)
        take(step % 1'000 < 700 ? 4 : 2);
      else if (kind == 194)
        take_over();
      else if (kind < 199)
        complete();
      else
        complete(), begin();
    }
  }
  // All rows, and the same once more where a crash comes before the end is noted.
  void end() {
    ASSERT_GT(model_.size(), 6u * 64);  // More than one part.
    const auto wanted =
        model_.in_order(Definition::kHasOrder, Definition::kOffset, Definition::kLimit);
    for (int i = 0; i < 3; ++i) {
      if (i == 1) complete();
      if (i == 2) begin();
      for (auto* const world : {&one_, &other_}) {
        world->process->rows.clear();
        world->process->advance(0, kNoWatermark + 1);
        ASSERT_TRUE(world->process->rows.empty());
        world->process->advance(0, kEndOfTime);
        ASSERT_EQ(world->process->rows, i == 1 ? Shown() : wanted) << i;
      }
    }
  }

 private:
  void begin() {
    leave_state(one_, one_region_, left_, 1);
    leave_state(other_, other_region_, left_, 1);
    one_.begin(subject_, swapped_ ? begin_compiled<Compiled> : begin_interpreted);
    other_.begin(subject_, swapped_ ? begin_interpreted : begin_compiled<Compiled>);
    swapped_ = !swapped_;
  }
  void take_over() {
    if (dynamic_cast<Interpreted*>(one_.process.get()) != nullptr)
      one_.template take_over<Compiled>({});
  }
  void complete() {
    one_.complete(), other_.complete();
    if (memory_bytes_ == kMemories[2])
      expect_nothing_in_memory(*one_.process), expect_nothing_in_memory(*other_.process);
  }
  // One row of so many goes.
  void take(std::uint64_t of) {
    SortModel::Values row(random_.below(120), random_.below(9));
    const bool goes = model_.size() != 0 && random_.below(of) == 0;
    if (goes && random_.below(8) != 0) row = model_.near(row);
    if (goes && model_.has(row)) model_.go(row);
    if (!goes) model_.come(row);
    for (auto* const world : {&one_, &other_})
      world->process->take(0, goes ? RowKind::kDelete : RowKind::kInsert, row.first, row.second);
  }

  const Subject& subject_;
  const std::uint64_t memory_bytes_;
  const Left left_;
  Random random_;
  Place place_;
  std::string one_region_ = place_ / "one", other_region_ = place_ / "other";
  World one_, other_;
  SortModel model_;
  bool swapped_ = false;
};

template <class Definition>
void check_sort(const Subject& subject) {
  test_idle_ms = 0;
  for (const auto left : {Left::kHere, Left::kByEarlierBuild, Left::kBySavepoint}) {
    for (const auto memory_bytes : kMemories) {
      for (const unsigned seed : {1u, 2u}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(left)) + ", " + std::to_string(memory_bytes) +
                     ", " + std::to_string(seed));
        SortTwins<Definition> twins(subject, memory_bytes, left, seed);
        twins.run(2'600);
        twins.end();
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(RuntimeSort, RowsInOrder) {
  using Definition = CompiledSort<true>;
  check_sort<Definition>(sorted_rows<Definition>());
}
TEST(RuntimeSort, TheFirstRowsInOrder) {
  using Definition = CompiledSort<true, 3, 40>;
  check_sort<Definition>(sorted_rows<Definition>());
}
TEST(RuntimeSort, RowsThatMayGoAsTheyCame) {
  using Definition = CompiledSort<false, 90, 300>;
  check_sort<Definition>(sorted_rows<Definition>());
}
TEST(RuntimeSort, WhatAResultIsInTheEnd) { check_sort<CompiledSort<false>>(final_rows()); }

TEST(RuntimeSort, StateThatNoRunHasWrittenIsRefused) {
  constexpr int kCount = 1 + 8, kNumber = kCount + 8;
  using Definition = CompiledSort<true>;
  check_crafted<query::SortRows<Definition>>(sorted_rows<Definition>(),
                                             {{0, kInState, kCount}, {0, kInState, kNumber}});
}

// A row whose number is another one than its entry says would not be found by it.
TEST(RuntimeSort, ARowThatDoesNotSayItsNumberIsRefused) {
  using Definition = CompiledSort<false>;
  const auto subject = final_rows();
  Place place;
  const auto region = place / "one";
  {
    World world(region, 200);
    world.begin(subject, begin_interpreted);
    for (std::int64_t i = 0; i < 20; ++i)
      world.process->take(0, RowKind::kInsert, i, i);
    world.complete();
    world.close();
  }
  craft(region, {0, kInState, 1}, 77);
  const auto in_store = [&](const auto& run) {
    KvStateStore store(KvStateStore::open_region(region).value(), 1, 200);
    EXPECT_TRUE(store.open().value());
    return run(store);
  };
  const auto interpreted = in_store([&](StateStore& store) {
    const auto one = subject.make(parts_of(subject, store));
    EXPECT_TRUE(one->restore());
    return one->advance(0, kEndOfTime);
  });
  EXPECT_EQ(interpreted.code(), Errc::kCorrupt);
  EXPECT_FALSE(in_store([&](StateStore& store) {
    return go_on_compiled<query::SortRows<Definition>, false>(subject, store);
  }));
}

// ---- The first rows, at once ----

Subject first_rows() {
  auto subject = sorted_rows<CompiledSort<false, 3, 40>>();
  std::get<sql::Sort>(subject.node.what).at_once = true;
  subject.make = [](const Parts& parts) { return std::make_unique<FirstRows>(parts); };
  return subject;
}

TEST(RuntimeSort, TheFirstRowsAtOnce) {
  const auto subject = first_rows();
  const Begin compiled = begin_compiled<query::FirstRows<CompiledSort<false, 3, 40>>>;
  Place place;
  test_idle_ms = 0;
  World one(place / "one", kMuchMemory), other(place / "other", kMuchMemory);
  Shown rows;
  for (std::int64_t i = 0; i < 60; ++i) {
    if (i % 7 == 0) {
      if (one.process) {
        rows.insert(rows.end(), one.process->rows.begin(), one.process->rows.end());
        one.complete(), other.complete();
      }
      one.begin(subject, i % 2 == 0 ? begin_interpreted : compiled);
      other.begin(subject, i % 2 == 0 ? compiled : begin_interpreted);
    }
    for (auto* const world : {&one, &other})
      world->process->take(0, RowKind::kInsert, i, i);
    ASSERT_EQ(one.process->rows, other.process->rows);
  }
  ASSERT_EQ(rows.size(), 40u);
  EXPECT_EQ(rows.front(), shown(RowKind::kInsert, {3, 3}));
  EXPECT_EQ(rows.back(), shown(RowKind::kInsert, {42, 42}));
}

// ---- The parts ----

TEST(LeastRows, GivesAllRowsInOrderInPartsThatHaveRoom) {
  Random random(7);
  std::vector<std::pair<int, std::uint64_t>> all;  // And the bytes of each.
  for (int i = 0; i < 1'000; ++i)
    all.emplace_back(i, 1 + random.below(100));
  query::LeastRows<int, std::less<>> rows({}, 5'000);
  std::vector<int> given;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[random.below(i)]);
    rows.begin(400);
    for (const auto& [row, bytes] : all) {
      int one = row;
      if (rows.wants(one)) rows.take(std::move(one), bytes);
    }
    std::size_t of_part = 0;
    rows.for_each([&](int row) { return given.push_back(row), ++of_part, true; });
    EXPECT_LE(of_part, 400u);
    more = rows.end();
    EXPECT_TRUE(of_part >= 64u || !more) << of_part;
    EXPECT_EQ(*rows.last(), given.back());
  }
  EXPECT_TRUE(std::is_sorted(given.begin(), given.end()));
  EXPECT_EQ(given.size(), all.size());
  EXPECT_GE(parts, 8);
}

}  // namespace
}  // namespace holdfast::stream::graph
