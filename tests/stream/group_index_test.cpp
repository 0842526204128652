// Numbers by hashes, against a map.
#include <holdfast/stream_kv/group_index.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>

namespace holdfast::stream {
namespace {

std::set<std::uint32_t> numbers_of(const GroupIndex& index, std::uint32_t hash) {
  std::set<std::uint32_t> found;
  index
      .for_each(hash,
                [&](std::uint32_t number) {
                  EXPECT_TRUE(found.insert(number).second) << "twice";
                  return Status();
                })
      .value();
  return found;
}

TEST(GroupIndex, IsAsAMap) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    GroupIndex index;
    if (seed == 2) index.reserve(3000);
    std::map<std::uint32_t, std::uint32_t> model;  // Number to hash.
    // Few hashes, so that many numbers have the same; and upper bits that are alike.
    const auto below = [&](unsigned end) { return static_cast<std::uint32_t>(random() % end); };
    const auto some_hash = [&] {
      return seed == 3 ? below(7) << 30 | below(4) : below(600) * 0x9E3779B9u;
    };
    for (int step = 0; step < 20'000; ++step) {
      const auto number = below(2000);
      if (random() % 3 != 0) {
        const auto hash = some_hash();
        index.set(number, hash);
        model[number] = hash;
      } else {
        index.erase(number);
        model.erase(number);
      }
      if (step % 100 != 0) continue;
      ASSERT_EQ(index.size(), model.size());
      for (int i = 0; i < 20; ++i) {
        const auto hash = some_hash();
        std::set<std::uint32_t> expected;
        for (const auto& [one, its] : model) {
          if (its == hash) expected.insert(one);
        }
        ASSERT_EQ(numbers_of(index, hash), expected) << "seed " << seed << ", step " << step;
      }
    }
  }
}

TEST(GroupIndex, AnErrorEndsTheSearch) {
  GroupIndex index;
  index.set(1, 5);
  index.set(2, 5);
  int seen = 0;
  const auto stop = [&](std::uint32_t) -> Status {
    ++seen;
    return Error{Errc::kCorrupt, "enough"};
  };
  EXPECT_EQ(index.for_each(5, stop).code(), Errc::kCorrupt);
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(index.for_each(6, stop).has_value());
}

}  // namespace
}  // namespace holdfast::stream
