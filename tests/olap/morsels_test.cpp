// Morsels, places of workers, and queries by a team on a forced topology.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/olap/morsels.hpp>
#include <holdfast/olap/places.hpp>

#include "star_support.hpp"

namespace holdfast::olap {
namespace {

Topology two_nodes() {
  Topology topology;
  topology.nodes.resize(3);
  topology.nodes[0].id = 0, topology.nodes[0].cpus = "0-1,4";
  topology.nodes[1].id = 2, topology.nodes[1].cpus = "2-3";
  topology.nodes[2].id = 5;  // Memory only.
  return topology;
}

TEST(Places, WorkersAreDealtToNodesThenToTheirCpus) {
  const std::vector<int> usable{0, 1, 2, 3};
  const auto cores = places_for(5, Pinning::kCore, two_nodes(), usable);
  const std::vector<WorkerPlace> wanted{{{0}, 0}, {{2}, 2}, {{1}, 0}, {{3}, 2}, {{0}, 0}};
  EXPECT_EQ(cores, wanted);
  const auto nodes = places_for(2, Pinning::kNode, two_nodes(), usable);
  EXPECT_EQ(nodes, (std::vector<WorkerPlace>{{{0, 1}, 0}, {{2, 3}, 2}}));
  EXPECT_EQ(places_for(2, Pinning::kAuto, two_nodes(), usable),
            places_for(2, Pinning::kCore, two_nodes(), usable));
  EXPECT_TRUE(places_for(2, Pinning::kNone, two_nodes(), usable).empty());
  // One node only is left: auto pins nobody.
  EXPECT_TRUE(places_for(2, Pinning::kAuto, two_nodes(), std::vector<int>{0, 4}).empty());
}

TEST(Places, ATeamPutsItsWorkersThereAndTheCallerBack) {
  const auto before = cpus_of_this_thread();
  ASSERT_FALSE(before.empty());
  Team team(2, {{{before.back()}, 0}, {{before.front()}, 1}});
  EXPECT_EQ(team.nodes(), (std::vector<int>{0, 1}));
  EXPECT_EQ(team.node_of(1), 1u);
  std::vector<std::vector<int>> seen(2);
  for (int round = 0; round < 200 && seen[1].empty(); ++round)
    team.run([&](unsigned worker) {
      seen[worker] = cpus_of_this_thread();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  EXPECT_EQ(seen[0], std::vector<int>{before.back()});
  EXPECT_EQ(seen[1], std::vector<int>{before.front()});
  EXPECT_EQ(cpus_of_this_thread(), before);
}

TEST(Morsels, EachPieceIsTakenOnceOnesOwnFirst) {
  std::vector<std::uint8_t> nodes;
  for (int i = 0; i < 30; ++i)
    nodes.push_back(i % 3 == 0 ? 1 : 0);
  Morsels morsels(nodes, 2);
  std::vector<std::size_t> taken;
  for (int i = 0; i < 10; ++i)
    taken.push_back(*morsels.next(1));
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(taken[i], 3 * i);
  // Then those of the other.
  while (const auto piece = morsels.next(1)) {
    EXPECT_EQ(nodes[*piece], 0);
    taken.push_back(*piece);
  }
  EXPECT_EQ(taken.size(), 30u);
  EXPECT_FALSE(morsels.next(0));
}

TEST(Morsels, OfManyThreadsEachIsTakenOnce) {
  std::vector<std::uint8_t> nodes(20'000);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i] = static_cast<std::uint8_t>(i % 7 == 0 ? 2 : i % 2);
  Morsels morsels(nodes, 3);
  std::vector<std::atomic<int>> taken(nodes.size());
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      while (const auto piece = morsels.next(thread % 3))
        taken[*piece].fetch_add(1);
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n == 1; }));
}

TEST(Morsels, AnswersOfAForcedTopologyAreThoseOfOneNode) {
  const auto star = loaded_star(0.02);
  const auto cpus = cpus_of_this_thread();
  std::vector<WorkerPlace> places;
  for (int worker = 0; worker < 4; ++worker)
    places.push_back({{cpus[static_cast<std::size_t>(worker) % cpus.size()]}, worker % 2});
  Team plain(1), forced(4, places);
  EXPECT_EQ(forced.nodes().size(), 2u);
  const auto& vectors = kernels(VectorWidth::kAvx512);
  for (const auto& query : ssb::queries())
    EXPECT_EQ(answer(query, *star.store, forced, vectors).value().table,
              answer(query, *star.store, plain, vectors).value().table)
        << query.name;
}

}  // namespace
}  // namespace holdfast::olap
