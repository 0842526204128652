// A team on one star: each kernel's answers are those of one thread.
#include "star_support.hpp"

namespace holdfast::olap {
namespace {

TEST(OlapConcurrent, TeamsOfEverySizeGiveTheSameAnswers) {
  const auto star = loaded_star(0.05, 4);
  for (unsigned size = 1; size <= 8; ++size) {
    Team team(size);
    EXPECT_EQ(team.size(), size);
    for (const auto& query : ssb::queries()) {
      const auto ours = answer(query, *star.store, team, kernels(VectorWidth::kAvx512)).value();
      EXPECT_EQ(ours.table.csv(), csv_of(*star.store, query)) << query.name;
    }
  }
}

TEST(OlapConcurrent, ColumnsAreCheckedByWhoeverComesFirst) {
  const auto star = loaded_star(0.05, 2);
  const auto expected = csv_of(*loaded_star(0.05).store, query("q4.1"));
  Team team(6);
  const auto first = answer(query("q4.1"), *star.store, team, kernels(VectorWidth::kAvx2)).value();
  EXPECT_EQ(first.table.csv(), expected);
}

}  // namespace
}  // namespace holdfast::olap
