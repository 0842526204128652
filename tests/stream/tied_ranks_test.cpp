// Rankings of rows of which many are equal, interpreted and compiled: both give the same changes, with
// RANK and DENSE_RANK no more than there are, and a row costs no more where many are equal to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/graph_ranks.hpp>
#include <holdfast/stream/graph/rank_operators.hpp>

#include "../kv/step_counter.hpp"
#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

struct Shape {
  sql::Ranking ranking = sql::Ranking::kRank;
  bool retracts = false;
  std::uint64_t first = 1, last = 3;
  bool numbered = true;
};

// Of all rows together, by their first column.
template <Shape kShape>
struct CompiledTies {
  using Row = graph::Row;
  using Key = query::KeyOf<>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = kShape.first, kLast = kShape.last;
  static constexpr bool kLatest = false;
  static constexpr bool kRetracts = kShape.retracts, kNumbered = kShape.numbered;
  static constexpr auto kRanking = kShape.ranking == sql::Ranking::kRank ? query::Ranking::kRank
                                   : kShape.ranking == sql::Ranking::kDenseRank
                                       ? query::Ranking::kDenseRank
                                       : query::Ranking::kRowNumber;
  static Key key(const Row&, query::Run&) { return {}; }
  static int compare(const Row& a, const Row& b) {
    return query::compare_in_order<false, true>(a.get<0>(), b.get<0>());
  }
  static void give(Shown& all, query::Change change, const Row& row, std::int64_t number) {
    show_compiled(all, change, row, kNumbered ? std::vector{number} : std::vector<std::int64_t>());
  }
};

Subject subject_of(const Shape& shape) {
  Subject subject;
  sql::Rank rank;
  rank.order.push_back({column(0), false, true});
  rank.first = shape.first;
  rank.last = shape.last;
  rank.numbered = shape.numbered;
  rank.ranking = shape.ranking;
  subject.node.what = std::move(rank);
  subject.node.columns.assign(3, {"c", sql::kBigIntType});
  subject.make = [retracts = shape.retracts](const Parts& parts) {
    return std::make_unique<RunningRank>(parts, retracts);
  };
  return subject;
}

using Rows = std::multiset<std::pair<std::int64_t, std::int64_t>>;

// What is shown of rows with RANK or DENSE_RANK, each change of it as the text of a row that comes.
std::multiset<std::string> shown_of(const Rows& rows, const Shape& shape) {
  std::multiset<std::string> all;
  std::uint64_t number = 0, place = 0;
  const std::int64_t* before = nullptr;
  for (const auto& row : rows) {
    ++place;
    if (before == nullptr || *before != row.first)
      number = shape.ranking == sql::Ranking::kRank ? place : number + 1;
    before = &row.first;
    if (number < shape.first || number > shape.last) continue;
    std::vector<std::int64_t> values{row.first, row.second};
    if (shape.numbered) values.push_back(static_cast<std::int64_t>(number));
    all.insert(shown(RowKind::kInsert, values).substr(1));
  }
  return all;
}

std::size_t differences(const std::multiset<std::string>& a, const std::multiset<std::string>& b) {
  std::vector<std::string> all;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all.size();
}

// What was shown, and the changes, are what is shown.
void follow(const Shown& changes, std::multiset<std::string>& all) {
  for (const auto& change : changes) {
    const auto kind = static_cast<RowKind>(change[0] - '0');
    const auto row = change.substr(1);
    if (adds(kind)) {
      all.insert(row);
      continue;
    }
    const auto gone = all.find(row);
    ASSERT_NE(gone, all.end()) << "taken back, and not shown: " << change;
    all.erase(gone);
  }
}

template <Shape kShape>
void check_changes() {
  const auto subject = subject_of(kShape);
  const Begin compiled = begin_compiled<query::RunningRank<CompiledTies<kShape>>>;
  test_idle_ms = 0;
  Place place;
  World one(place / "one", std::uint64_t{1} << 30), other(place / "other", std::uint64_t{1} << 30);
  one.begin(subject, begin_interpreted);
  other.begin(subject, compiled);
  bool swapped = false;
  Rows rows;
  std::multiset<std::string> seen;
  Random random(1);
  for (int step = 0; step < 1'500; ++step) {
    const bool goes = kShape.retracts && !rows.empty() && random.below(16) >= 9;
    std::pair<std::int64_t, std::int64_t> row(random.below(5), random.below(4));
    if (goes) row = *std::next(rows.begin(), static_cast<long>(random.below(rows.size())));
    for (auto* world : {&one, &other}) {
      world->process->rows.clear();
      world->process->take(0, goes ? RowKind::kDelete : RowKind::kInsert, row.first, row.second);
    }
    ASSERT_EQ(one.process->rows, other.process->rows) << step;
    if (goes)
      rows.erase(rows.find(row));
    else
      rows.insert(row);
    if constexpr (kShape.ranking != sql::Ranking::kRowNumber) {
      const auto expected = shown_of(rows, kShape);
      ASSERT_EQ(one.process->rows.size(), differences(seen, expected)) << step;
      ASSERT_NO_FATAL_FAILURE(follow(one.process->rows, seen)) << step;
      ASSERT_EQ(seen, expected) << step;
    }
    if (random.below(100) != 0) continue;
    one.complete(), other.complete();
    ASSERT_EQ(one.entries(kFirstSlice), other.entries(kFirstSlice)) << step;
    swapped = !swapped;
    one.begin(subject, swapped ? compiled : begin_interpreted);
    other.begin(subject, swapped ? begin_interpreted : compiled);
  }
}

template <sql::Ranking kRanking, bool kNumbered>
void check_rankings() {
  check_changes<Shape{kRanking, false, 1, 3, kNumbered}>();
  check_changes<Shape{kRanking, true, 1, 3, kNumbered}>();
  check_changes<Shape{kRanking, true, 2, 2, kNumbered}>();
  check_changes<Shape{kRanking, false, 2, 30, kNumbered}>();
  check_changes<Shape{kRanking, true, 3, 30, kNumbered}>();
}

TEST(TiedRanks, WithRankNoChangeIsGivenThatIsNone) {
  check_rankings<sql::Ranking::kRank, true>();
  check_rankings<sql::Ranking::kRank, false>();
}
TEST(TiedRanks, WithDenseRankNoChangeIsGivenThatIsNone) {
  check_rankings<sql::Ranking::kDenseRank, true>();
  check_rankings<sql::Ranking::kDenseRank, false>();
}

// Rows are looked for among hundreds that are equal to them.
TEST(TiedRanks, WithRowNumberBothGiveTheSameChanges) {
  check_changes<Shape{sql::Ranking::kRowNumber, true, 1, 1'000, true}>();
  check_changes<Shape{sql::Ranking::kRowNumber, true, 2, 3, true}>();
}

// ---- What a row costs ----

// Instructions of a row that comes, and of one that goes, where `count` are equal to it.
struct Costs {
  std::uint64_t comes = 0, goes = 0;
};

template <class Take>
Result<Costs> costs_of(std::int64_t count, bool goes, const Take& begin) {
  const auto work = [&] {
    const auto take = begin();
    for (std::int64_t i = 0; i < count; ++i)
      take(RowKind::kInsert, i);
    if (goes) take(RowKind::kDelete, count - 1);  // The first that is looked for.
    step::mark();
    take(RowKind::kInsert, count);
    step::mark();
    step::mark();
    if (goes) take(RowKind::kDelete, count - 2);
    step::mark();
    return 0;
  };
  HF_ASSIGN_OR_RETURN(const auto counted, step::count(work));
  return Costs{counted.samples.at(0), counted.samples.at(1)};
}

template <Shape kShape>
Result<Costs> compiled_costs(std::int64_t count) {
  return costs_of(count, kShape.retracts, [] {
    struct All {
      query::NoHost host;
      query::Output output;
      query::Run run{host, output};
      query::RunningRank<CompiledTies<kShape>> operator_{run};
      Shown rows;
    };
    auto all = std::make_shared<All>();
    return [all](RowKind kind, std::int64_t value) {
      all->rows.clear();
      all->operator_.take(all->rows, static_cast<query::Change>(kind),
                          Row(query::some<std::int64_t>(7), query::some(value)));
    };
  });
}

template <Shape kShape>
Result<Costs> interpreted_costs(std::int64_t count) {
  return costs_of(count, kShape.retracts, [] {
    const std::vector<const std::vector<sql::Column>*> inputs{&kColumns};
    const auto subject = std::make_shared<Subject>(subject_of(kShape));
    const std::shared_ptr<Operator> ranking =
        subject->make({subject->node, inputs, nullptr, kFirstSlice});
    return [subject, ranking](RowKind kind, std::int64_t value) {
      ranking->take(0, kind, {sql::Value::of(7), sql::Value::of(value)}).value();
    };
  });
}

template <class CostsOf>
void check_costs(const CostsOf& costs) {
  const auto few = costs(300);
  if (!few && few.error().code == Errc::kUnsupported) GTEST_SKIP() << few.error().message();
  const auto many = costs(6'000).value();
  EXPECT_LT(many.comes, 3 * few->comes);
  EXPECT_LT(many.goes, 3 * few->goes + 100);
}

constexpr Shape kRankOfAll{sql::Ranking::kRank, true, 1, 3, true};
constexpr Shape kDenseOfAll{sql::Ranking::kDenseRank, true, 1, 1'000'000, true};
constexpr Shape kRankThatStays{sql::Ranking::kRank, false, 1, 3, true};
constexpr Shape kNumberOfAll{sql::Ranking::kRowNumber, true, 1, 1'000'000, true};

TEST(TiedRanks, ACompiledRowCostsNoMoreWhereManyAreEqual) {
  check_costs(compiled_costs<kRankOfAll>);
  check_costs(compiled_costs<kDenseOfAll>);
  check_costs(compiled_costs<kRankThatStays>);
  check_costs(compiled_costs<kNumberOfAll>);
}
TEST(TiedRanks, AnInterpretedRowCostsNoMoreWhereManyAreEqual) {
  check_costs(interpreted_costs<kRankOfAll>);
  check_costs(interpreted_costs<kDenseOfAll>);
  check_costs(interpreted_costs<kRankThatStays>);
  check_costs(interpreted_costs<kNumberOfAll>);
}

}  // namespace
}  // namespace holdfast::stream::graph
