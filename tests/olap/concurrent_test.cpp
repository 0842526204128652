// A team on one star: each kernel's answers are those of one thread.
#include <atomic>
#include <chrono>
#include <thread>

#include <holdfast/olap/background_merge.hpp>
#include <holdfast/olap/mart/star_answer.hpp>

#include "growing_star.hpp"
#include "mart/mart_support.hpp"

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

TEST(OlapConcurrent, AllWorkersJoinARoundThatLastsLongEnough) {
  Team team(5);
  for (int round = 0; round < 20; ++round) {
    std::atomic<unsigned> joined{0};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    team.run([&](unsigned) {
      ++joined;
      while (joined < 5 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    });
    EXPECT_EQ(joined, 5u);
  }
}

TEST(OlapConcurrent, RoundsWithoutWorkEndAtOnce) {
  Team team(4);
  std::atomic<unsigned> calls{0};
  for (int round = 0; round < 2'000; ++round)
    team.run([&](unsigned) { ++calls; });
  EXPECT_GE(calls, 2'000u);
  EXPECT_LE(calls, 8'000u);
}

TEST(OlapConcurrent, ColumnsAreCheckedByWhoeverComesFirst) {
  const auto star = loaded_star(0.05, 2);
  const auto expected = csv_of(*loaded_star(0.05).store, query("q4.1"));
  Team team(6);
  const auto first = answer(query("q4.1"), *star.store, team, kernels(VectorWidth::kAvx2)).value();
  EXPECT_EQ(first.table.csv(), expected);
}

TEST(OlapConcurrent, QueriesGoOnBesideAppendsAndMerges) {
  auto star = empty_star();
  Growing growing(0.03, 4'000);
  growing.load(*star.store);
  std::atomic<bool> done{false};
  std::atomic<unsigned> asked{0};
  std::thread reader([&] {
    Team team(1);
    std::int64_t before = 0;
    StarQuery all;
    all.sum = Sum::kRevenues;
    while (!done || asked < 3) {
      const auto sum = answer(all, *star.store, team, kernels(VectorWidth::kAvx2)).value();
      const auto now = std::stoll(sum.table.rows[0][0]);
      EXPECT_GE(now, before);  // Revenues only come.
      before = now;
      ++asked;
    }
  });
  std::thread merger([&] {
    while (!done)
      star.store->merge().value();
  });
  for (unsigned round = 0; round < 40; ++round)
    growing.append(*star.store, 200).value();
  done = true;
  reader.join(), merger.join();
  EXPECT_EQ(all_answers(*star.store->version()), growing.expected());
  EXPECT_TRUE(star.store->verify().empty());
}

template <class F>
bool comes_true(F condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(OlapConcurrent, AppendsAreMergedInTheBackground) {
  auto star = empty_star();
  Growing growing(0.02, 1'000);
  growing.load(*star.store);
  {
    const auto merge = BackgroundMerge::start(*star.store, 4).value();
    for (unsigned round = 0; round < 30; ++round) {
      growing.append(*star.store, 50).value();
      merge->notice();
    }
    EXPECT_TRUE(comes_true([&] { return star.store->catalogue().deltas.size() < 4; }));
    merge->last_error().value();
  }
  growing.append(*star.store, 100'000'000).value();
  EXPECT_EQ(all_answers(*star.store->version()), growing.expected());
}

TEST(OlapConcurrent, AppendsToAStarOfOnesOwnAreMergedInTheBackground) {
  auto star = mart::empty_mart();
  const mart::SalesData data(1, 200);
  mart::load_data(*star.store, data).value();
  std::atomic<bool> done{false};
  std::thread reader([&] {
    Team team(2);
    sql::Int128 before = 0;
    while (!done) {
      const auto count = mart::answer("SELECT COUNT(*) FROM sales JOIN days ON sold = day",
                                      *star.store->version(), team, VectorWidth::kAvx512)
                             .value();
      EXPECT_TRUE(count.rows[0][0].number >= before);
      before = count.rows[0][0].number;
    }
  });
  const auto merge = BackgroundMerge::start(*star.store, 4).value();
  for (unsigned round = 0; round < 40; ++round) {
    mart::append_lines(*star.store, 0, data.tables[0]).value();
    merge->notice();
  }
  EXPECT_TRUE(
      comes_true([&] { return mart::small_blocks(star.store->version()->catalogue()) < 4; }));
  done = true;
  reader.join();
  merge->last_error().value();
  EXPECT_EQ(star.store->version()->catalogue().fact_rows(), 41u * 200);
  EXPECT_TRUE(star.store->version()->verify().empty());
}

}  // namespace
}  // namespace holdfast::olap
