// Indexes without memory for what they are asked to do: what was acknowledged stays, and others go
// on.
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>
#include <holdfast/base/hash.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/index/offset_map.hpp>

#include "../base/allocations.hpp"
#include "index_support.hpp"

namespace holdfast::index {
namespace {

// A key is a number, of which its line is made. All lie in one partition.
struct Map {
  EpochDomain domain;
  EpochDomain::Participant participant = domain.join();
  std::unique_ptr<OffsetMap> map = OffsetMap::create(domain, {}).value();

  static std::uint64_t hash_of(std::uint64_t key) { return mix64(key) >> 10; }
  // False: the key finds no place.
  bool insert(std::uint64_t key) {
    const auto guard = domain.enter(participant);
    auto home = map->latch(hash_of(key));
    const Entry entry = home.claim();
    if (entry) home.replace(entry, Line{key});
    return static_cast<bool>(entry);
  }
  bool has(std::uint64_t key) {
    const auto guard = domain.enter(participant);
    auto home = map->latch(hash_of(key));
    return static_cast<bool>(home.find([&](Line line) { return line.number == key; }));
  }
};

// The table that was to be replaced stayed frozen: each later write of its partition waited without
// end.
TEST(OffsetMapWithoutMemory, APartitionWhoseGrowthFailsIsUsedOn) {
  ::alarm(120);
  std::size_t nth = 1;
  for (bool failed = true; failed; ++nth) {
    Map map;
    std::uint64_t key = 1;
    while (map.insert(key))
      ++key;
    failed = fails_at(nth, [&] { static_cast<void>(map.map->grow(Map::hash_of(key))); });
    for (int grown = 0; !map.insert(key) && grown < 3; ++grown)
      ASSERT_TRUE(map.map->grow(Map::hash_of(key)));
    for (std::uint64_t there = 1; there <= key; ++there)
      ASSERT_TRUE(map.has(there)) << there << " of " << key << ", failure " << nth;
  }
  EXPECT_GT(nth, 3u);
  ::alarm(0);
}

// What failed was behind the moment from which a split is done. The old segment kept what had left
// it, was split once more, and what was acknowledged in between was gone.
TEST(DashWithoutMemory, ASplitThatFailsLosesNothing) {
  DashOptions options;
  options.buckets = 2, options.stash_buckets = 1;
  options.segments = 200, options.max_depth = 12;
  for (std::size_t nth = 1; nth <= 12; ++nth) {
    auto region = region_of(1 * MiB);
    const auto dash = Dash::create(region, blocks::whole(region), options).value();
    std::map<std::uint64_t, std::uint64_t> expected;
    std::set<std::uint64_t> refused, erased;
    for (std::uint64_t i = 1; i <= 600; ++i) {
      const std::uint64_t key = mix64(i);
      bool done = false;
      const auto insert = [&] { done = static_cast<bool>(dash->insert(key, i)); };
      fails_at(i % 3 == 0 ? nth : 0, insert);
      if (done)
        expected[key] = i;
      else
        refused.insert(key);
      if (i % 5 == 0 && !expected.empty()) {
        const std::uint64_t old = expected.begin()->first;
        ASSERT_TRUE(dash->erase(old));
        expected.erase(old), erased.insert(old);
      }
      if (i % 7 == 0 && !expected.empty()) {
        const std::uint64_t old = expected.rbegin()->first;
        ASSERT_TRUE(dash->update(old, expected[old] = 1'000 + i));
      }
    }
    EXPECT_GT(expected.size(), 200u);
    for (const auto& [key, value] : expected)
      ASSERT_EQ(dash->find(key).value_or(0), value) << "failure " << nth;
    for (const std::uint64_t key : erased)
      ASSERT_EQ(dash->find(key).code(), Errc::kNotFound) << "failure " << nth;
    for (const std::uint64_t key : refused)
      ASSERT_EQ(dash->find(key).code(), Errc::kNotFound) << "failure " << nth;
  }
}

}  // namespace
}  // namespace holdfast::index
