// State that ends when no row changes it, of operators that keep all of it in memory, that fetch it
// group by group, and that are compiled: the same rows go out.
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/group_operators.hpp>
#include <holdfast/stream/graph/join_operators.hpp>
#include <holdfast/stream/graph/rank_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kIdleMs = 100;

// COUNT(*), SUM(v) by k.
Subject groups_of(bool retracts) {
  Subject subject;
  sql::Group group;
  group.keys.push_back(column(0));
  sql::Aggregate count, sum;
  count.kind = sql::AggregateKind::kCount;
  sum.kind = sql::AggregateKind::kSum;
  sum.argument = column(1);
  count.type = sum.type = sql::kBigIntType;
  group.aggregates.push_back(std::move(count));
  group.aggregates.push_back(std::move(sum));
  subject.node.what = std::move(group);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.make = [retracts](const Parts& parts) {
    return std::make_unique<RunningGroups>(parts, retracts);
  };
  return subject;
}

// SELECT DISTINCT k.
Subject distinct() {
  Subject subject;
  sql::Group group;
  group.keys.push_back(column(0));
  subject.node.what = std::move(group);
  subject.node.columns.assign(1, {"c", sql::kBigIntType});
  subject.make = [](const Parts& parts) { return std::make_unique<RunningGroups>(parts, false); };
  return subject;
}

// a JOIN b ON a.k = b.k, or a LEFT JOIN.
Subject join_of(sql::JoinKind kind) {
  Subject subject;
  sql::Join join;
  join.kind = kind;
  join.left_keys.push_back(column(0));
  join.right_keys.push_back(column(0));
  subject.node.what = std::move(join);
  subject.node.columns.assign(4, {"c", sql::kBigIntType});
  subject.inputs = 2;
  subject.make = [](const Parts& parts) { return std::make_unique<RegularJoin>(parts); };
  return subject;
}

// The first two of each k in the order of v, with their number.
Subject first_two(bool retracts) {
  Subject subject;
  sql::Rank rank;
  rank.partition.push_back(column(0));
  rank.order.push_back({column(1), false, true});
  rank.last = 2;
  subject.node.what = std::move(rank);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.make = [retracts](const Parts& parts) {
    return std::make_unique<RunningRank>(parts, retracts);
  };
  return subject;
}

// ---- The same, compiled ----

template <bool kMayRetract>
struct CompiledGroups {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t>;
  using State = query::StateOf<query::Count, query::SumOfIntegers<std::int64_t>>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = kMayRetract;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static void add(State& state, const Row& row, query::Run&) {
    state.template get<0>().add();
    state.template get<1>().add(row.get<1>());
  }
  static void take_back(State& state, const Row& row, query::Run&) {
    state.template get<0>().take_back();
    state.template get<1>().take_back(row.get<1>());
  }
  static Out out(const Key& key, const State& state, query::Run& run) {
    return Out(key.template get<0>(), state.template get<0>().result(run),
               state.template get<1>().result(run));
  }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

struct CompiledDistinct {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  using Out = query::RowOf<std::int64_t>;
  using State = query::StateOf<>;
  static constexpr std::int64_t kNode = 0;
  static constexpr bool kRetracts = false;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static void add(State&, const Row&, query::Run&) {}
  static Out out(const Key& key, const State&, query::Run&) { return Out(key.get<0>()); }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

template <query::JoinKind kOfKind>
struct CompiledJoin {
  using Left = Row;
  using Right = Row;
  using Out = query::RowOf<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr auto kKind = kOfKind;
  static Key left_key(const Left& row, query::Run&) { return Key(row.get<0>()); }
  static Key right_key(const Right& row, query::Run&) { return Key(row.get<0>()); }
  static bool holds(const Left&, const Right&, query::Run&) { return true; }
  static void give(Shown& all, query::Change change, const Out& row) {
    show_compiled(all, change, row);
  }
};

template <bool kMayRetract>
struct CompiledRank {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 1, kLast = 2;
  static constexpr bool kLatest = false;
  static constexpr bool kRetracts = kMayRetract;
  static Key key(const Row& row, query::Run&) { return Key(row.get<0>()); }
  static int compare(const Row& a, const Row& b) {
    return query::compare_in_order<false, true>(a.get<1>(), b.get<1>());
  }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t number) {
    show_compiled(all, change, row, {number});
  }
};

void check(const Subject& subject, bool retracts, const Begin& compiled) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Place place;
    test_idle_ms = kIdleMs;
    test_clock_ms = 1'000'000;
    World whole(place / "whole", std::uint64_t{1} << 30), fetched(place / "fetched", 1),
        third(place / "compiled", 1);
    bool swapped = false;
    const auto begin = [&] {
      whole.begin(subject, begin_interpreted);
      // The second run reads what the other kind has written.
      fetched.begin(subject, swapped ? compiled : begin_interpreted);
      third.begin(subject, swapped ? begin_interpreted : compiled);
      swapped = !swapped;
    };
    const auto take = [&](std::size_t input, RowKind kind, std::int64_t key, std::int64_t value) {
      for (auto* const world : {&whole, &fetched, &third})
        world->process->take(input, kind, key, value);
    };
    begin();
    std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> there;
    std::size_t rows = 0;
    for (int step = 0; step < 3'000; ++step) {
      const auto kind = random.below(100);
      if (kind < 60 || (kind < 85 && !retracts)) {
        const auto input = random.below(subject.inputs);
        const auto key = static_cast<std::int64_t>(random.below(12));
        const auto value = static_cast<std::int64_t>(random.below(5));
        take(input, RowKind::kInsert, key, value);
        there.emplace_back(input, key, value);
      } else if (kind < 85) {
        if (there.empty()) continue;
        const auto at = random.below(there.size());
        const auto [input, key, value] = there[at];
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(at));
        take(input, RowKind::kDelete, key, value);
      } else if (kind < 93) {
        test_clock_ms += static_cast<std::int64_t>(random.below(kIdleMs / 2));
      } else {
        for (auto* const world : {&whole, &fetched, &third})
          world->complete();
        if (kind >= 98) {
          rows += whole.process->rows.size();
          begin();
        }
      }
      ASSERT_EQ(whole.process->rows, fetched.process->rows) << step;
      ASSERT_EQ(whole.process->rows, third.process->rows) << step;
    }
    EXPECT_GT(rows, 50u);
    // In the end nothing of it is left but what the last row has.
    for (int i = 0; i < 4; ++i) {
      test_clock_ms += kIdleMs;
      take(0, RowKind::kInsert, 100 + i, 0);
      for (auto* const world : {&whole, &fetched, &third})
        world->complete();
    }
    for (auto* const world : {&whole, &fetched, &third})
      EXPECT_LT(world->bytes(), 400u);
  }
}

TEST(IdleState, OfGroupsOfRowsThatStay) {
  check(groups_of(false), false, begin_compiled<query::RunningGroups<CompiledGroups<false>>>);
}
TEST(IdleState, OfGroupsOfRowsThatMayGo) {
  check(groups_of(true), true, begin_compiled<query::RunningGroups<CompiledGroups<true>>>);
}
TEST(IdleState, OfDistinctKeys) {
  check(distinct(), false, begin_compiled<query::RunningGroups<CompiledDistinct>>);
}
// A row that goes when its time is over was told to partners that had not counted it: they had -1 of
// them then, and a restart refused the state.
TEST(IdleState, OfLeftJoins) {
  check(join_of(sql::JoinKind::kLeft), true,
        begin_compiled<query::RegularJoin<CompiledJoin<query::JoinKind::kLeft>>, true>);
}
TEST(IdleState, OfInnerJoins) {
  check(join_of(sql::JoinKind::kInner), true,
        begin_compiled<query::RegularJoin<CompiledJoin<query::JoinKind::kInner>>, true>);
}
TEST(IdleState, OfRankingsOfRowsThatStay) {
  check(first_two(false), false, begin_compiled<query::RunningRank<CompiledRank<false>>>);
}
TEST(IdleState, OfRankingsOfRowsThatMayGo) {
  check(first_two(true), true, begin_compiled<query::RunningRank<CompiledRank<true>>>);
}

}  // namespace
}  // namespace holdfast::stream::graph
