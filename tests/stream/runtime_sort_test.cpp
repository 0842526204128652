// Compiled ORDER BY and LIMIT beside the interpreter's, under the sanitizers: the same rows go out,
// and either goes on from what the other has written.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/graph/simple_operators.hpp>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {
namespace {

constexpr std::uint64_t kLeftOut = 3, kShown = 40;

// ORDER BY v DESC, with OFFSET and LIMIT; these alone if `at_once`.
Subject sorted_rows(bool at_once) {
  Subject subject;
  sql::Sort sort;
  if (!at_once) sort.keys.push_back({column(1), true, true});
  sort.offset = kLeftOut;
  sort.limit = kShown;
  sort.at_once = at_once;
  subject.node.what = std::move(sort);
  subject.node.columns = kColumns;
  subject.make = [](const Parts& parts) { return std::make_unique<SortRows>(parts); };
  return subject;
}

struct CompiledSort {
  using Row = graph::Row;
  using Key = query::KeyOf<std::int64_t, std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kOffset = kLeftOut, kLimit = kShown;
  static Key key(const Row& row) { return Key(row.get<0>(), row.get<1>()); }
  static int compare(const Row& a, const Row& b) {
    return query::compare_in_order<true, true>(a.get<1>(), b.get<1>());
  }
  static void give(Shown& all, query::Change change, const Row& row) {
    show_compiled(all, change, row);
  }
};

std::size_t rows_shown(bool at_once, const Begin& compiled, unsigned seed) {
  const auto subject = sorted_rows(at_once);
  Random random(seed);
  Place place;
  test_idle_ms = 0;
  World one(place / "one", std::uint64_t{1} << 30), other(place / "other", std::uint64_t{1} << 30);
  bool swapped = false;
  std::size_t rows = 0;
  const auto begin = [&] {
    if (one.process) rows += one.process->rows.size();
    one.begin(subject, swapped ? compiled : begin_interpreted);
    other.begin(subject, swapped ? begin_interpreted : compiled);
    swapped = !swapped;
  };
  begin();
  std::vector<std::pair<std::int64_t, std::int64_t>> there;
  for (int step = 0; step < 600; ++step) {
    const auto kind = random.below(100);
    if (kind < 95) {
      const bool comes = at_once || there.empty() || random.below(5) < 3;
      const auto at = comes ? there.size() : random.below(there.size());
      if (comes) there.emplace_back(random.below(20), random.below(9));
      const auto [key, value] = there[at];
      if (!comes) there.erase(there.begin() + static_cast<std::ptrdiff_t>(at));
      for (auto* const world : {&one, &other})
        world->process->take(0, comes ? RowKind::kInsert : RowKind::kDelete, key, value);
    } else {
      one.complete();
      other.complete();
      if (kind >= 98) begin();
    }
    EXPECT_EQ(one.process->rows, other.process->rows) << step;
  }
  for (auto* const world : {&one, &other})
    world->process->advance(0, kEndOfTime);
  EXPECT_EQ(one.process->rows, other.process->rows);
  return rows + one.process->rows.size();
}

TEST(RuntimeSort, RowsInOrder) {
  for (const unsigned seed : {1u, 2u, 3u})
    EXPECT_EQ(rows_shown(false, begin_compiled<query::SortRows<CompiledSort>>, seed), kShown);
}
TEST(RuntimeSort, TheFirstRows) {
  for (const unsigned seed : {1u, 2u, 3u})
    EXPECT_EQ(rows_shown(true, begin_compiled<query::FirstRows<CompiledSort>>, seed), kShown);
}

}  // namespace
}  // namespace holdfast::stream::graph
