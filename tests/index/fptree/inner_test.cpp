// The inner levels of an FP-Tree against a std::map of leaves.
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/index/fptree/inner.hpp>

namespace holdfast::index::fptree_detail {
namespace {

using Leaves = std::map<std::uint64_t, std::uint32_t>;

void expect_found(const InnerLevels& levels, const Leaves& leaves, std::uint64_t key) {
  const auto above = leaves.upper_bound(key);
  const auto expected = std::prev(above);
  const auto route = levels.find(key);
  ASSERT_EQ(route.leaf, expected->second) << "key=" << key;
  ASSERT_EQ(route.range.low, expected->first) << "key=" << key;
  ASSERT_EQ(route.range.last, above == leaves.end()) << "key=" << key;
  if (!route.range.last) {
    ASSERT_EQ(route.range.high, above->first) << "key=" << key;
  }
  ASSERT_TRUE(InnerLevels::still(route));
}

TEST(FpTreeInner, AddsAndRemovesAgreeWithAMap) {
  for (const std::uint64_t built : {1u, 40'000u}) {
    InnerLevels levels;
    Leaves leaves;
    std::vector<LeafEntry> entries;
    for (std::uint32_t i = 0; i < built; ++i) {
      entries.push_back({i * std::uint64_t{16}, i});
      leaves[i * std::uint64_t{16}] = i;
    }
    levels.build(entries);
    std::mt19937_64 random(built);
    auto next = static_cast<std::uint32_t>(built);
    for (unsigned round = 0; round < 120'000; ++round) {
      const auto key = random() % 640'000;
      // Waves: it grows to many levels and shrinks to a few leaves.
      if (round / 20'000 % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0) {
        if (leaves.contains(key)) continue;
        InnerLevels::Reservation reservation(levels);
        levels.add(key, next, reservation);
        leaves[key] = next++;
      } else if (leaves.size() > 1) {
        auto at = leaves.lower_bound(key);
        if (at == leaves.end() || at == leaves.begin()) at = std::next(leaves.begin());
        levels.remove(at->first);
        leaves.erase(at);
      }
      if (round % 16 == 0) expect_found(levels, leaves, random() % 640'000);
    }
    for (const auto& [low, leaf] : leaves)
      expect_found(levels, leaves, low);
    while (leaves.size() > 1) {
      levels.remove(std::next(leaves.begin())->first);
      leaves.erase(std::next(leaves.begin()));
    }
    expect_found(levels, leaves, 7);
    EXPECT_EQ(levels.bytes(), sizeof(InnerNode));  // One node is left.
  }
}

TEST(FpTreeInner, KeysInOrderFillTheNodes) {
  InnerLevels levels;
  const LeafEntry first{0, 0};
  levels.build(std::span(&first, 1));
  constexpr std::uint32_t kLeaves = 20'000;
  for (std::uint32_t i = 1; i < kLeaves; ++i) {
    InnerLevels::Reservation reservation(levels);
    levels.add(i, i, reservation);
  }
  EXPECT_LT(levels.bytes(), kLeaves * 16 * 5 / 4);
}

}  // namespace
}  // namespace holdfast::index::fptree_detail
