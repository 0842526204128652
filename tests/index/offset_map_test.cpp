// The offset map against a dull model, by one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {
namespace {

// A key is a number; its record lies in line number `key`. Hashes are given per test.
struct Fixture {
  EpochDomain domain;
  EpochDomain::Participant participant = domain.join();
  std::unique_ptr<OffsetMap> map;
  explicit Fixture(const OffsetMapOptions& options = {})
      : map(std::move(OffsetMap::create(domain, options)).value()) {}

  // What kv does, with versions instead of records: line = key * 16 + version.
  static auto is(std::uint64_t key) {
    return [key](Line line) { return line.number / 16 == key; };
  }
  void put(std::uint64_t hash, std::uint64_t key, std::uint64_t version) {
    const auto guard = domain.enter(participant);
    for (;;) {
      auto home = map->latch(hash);
      Entry entry = home.find(is(key));
      if (!entry) entry = home.claim();
      if (entry) return home.replace(entry, Line{key * 16 + version});
      home.release();
      ASSERT_TRUE(map->grow(hash));
    }
  }
  bool erase(std::uint64_t hash, std::uint64_t key) {
    const auto guard = domain.enter(participant);
    auto home = map->latch(hash);
    const Entry entry = home.find(is(key));
    if (entry) home.remove(entry);
    return static_cast<bool>(entry);
  }
  std::uint64_t get(std::uint64_t hash, std::uint64_t key) {
    const auto guard = domain.enter(participant);
    return map->find(hash, is(key)).number;
  }
  std::multiset<std::uint64_t> lines() {
    const auto guard = domain.enter(participant);
    std::multiset<std::uint64_t> all;
    for (std::uint32_t p = 0; p < map->partitions(); ++p) {
      map->for_each(p, [&](Line line) { return all.insert(line.number), true; });
    }
    return all;
  }
};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

// `partition_bits` and `tag_bits` say how much of the hash varies: few of them make keys collide.
struct Spread {
  const char* name;
  unsigned partition_bits, tag_bits;
  std::uint64_t keys, operations;
};
std::uint64_t hash_in(const Spread& spread, std::uint64_t key) {
  const std::uint64_t hash = mixed(key + 1);
  const std::uint64_t partition = hash & ((std::uint64_t{1} << spread.partition_bits) - 1);
  const std::uint64_t tag = (hash >> 20) & ((std::uint64_t{1} << spread.tag_bits) - 1);
  return (spread.partition_bits == 0 ? 0 : partition << (64 - spread.partition_bits)) |
         tag << (64 - 10 - spread.tag_bits);
}

class OffsetMapModel : public testing::TestWithParam<Spread> {};

TEST_P(OffsetMapModel, RandomOperationsGiveWhatAnUnorderedMapGives) {
  const Spread& spread = GetParam();
  const std::uint64_t seed = 20260101 + spread.tag_bits;
  std::mt19937_64 random(seed);
  Fixture f;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  for (std::uint64_t i = 0; i < spread.operations; ++i) {
    // Phases of growing and of shrinking.
    const bool growing = i / (spread.operations / 4) % 2 == 0;
    const std::uint64_t key = random() % spread.keys + 1, hash = hash_in(spread, key);
    const unsigned dice = random() % 8;
    if (dice < 2) {
      const auto found = model.find(key);
      ASSERT_EQ(f.get(hash, key), found == model.end() ? 0 : found->second)
          << "seed=" << seed << " i=" << i;
    } else if ((dice < 7) == growing) {
      const std::uint64_t version = random() % 16;
      f.put(hash, key, version);
      model[key] = key * 16 + version;
    } else {
      ASSERT_EQ(f.erase(hash, key), model.erase(key) != 0) << "seed=" << seed << " i=" << i;
    }
  }
  EXPECT_EQ(f.map->size(), model.size()) << "seed=" << seed;
  for (std::uint64_t key = 1; key <= spread.keys; ++key) {
    const auto found = model.find(key);
    ASSERT_EQ(f.get(hash_in(spread, key), key), found == model.end() ? 0 : found->second)
        << "seed=" << seed;
  }
  std::multiset<std::uint64_t> expected;
  for (const auto& [key, line] : model)
    expected.insert(line);
  EXPECT_EQ(f.lines(), expected) << "seed=" << seed;
  EXPECT_GT(f.map->rehashes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Spreads, OffsetMapModel,
                         testing::Values(Spread{"Random", 10, 25, 100'000, 600'000},
                                         Spread{"OnePartition", 0, 25, 30'000, 300'000},
                                         Spread{"FewTags", 0, 5, 3'000, 60'000},
                                         Spread{"OneTag", 0, 0, 400, 20'000},
                                         Spread{"TwoPartitionsFewTags", 1, 3, 1'000, 40'000}),
                         [](const auto& spread) { return spread.param.name; });

}  // namespace
}  // namespace holdfast::index
