// A join's rows of one key against an ordered map, under the sanitizers.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/bag.hpp>

namespace holdfast::query {
namespace {

using BagRow = RowOf<std::int64_t, Text>;
using RowBag = Bag<BagRow>;
using BagModel = std::map<std::string, std::int64_t>;  // How often, by the bytes of a row.

std::string bytes_of_row(const BagRow& row) {
  std::string bytes;
  row.append(bytes);
  return bytes;
}

BagModel content(Pool& pool, RowBag& bag) {
  BagModel found;
  const RowBag::Item* before = nullptr;
  for (const auto* item : bag.in_order(pool)) {
    EXPECT_TRUE(before == nullptr || BagRow::compare(before->row(), item->row()) < 0);
    EXPECT_TRUE(found.emplace(bytes_of_row(item->row()), item->count()).second);
    before = item;
  }
  return found;
}

void come_and_go(Random& random, std::uint64_t rows, std::uint64_t at_once) {
  Pool pool;
  RowBag bag;
  BagModel model;
  for (int step = 0; step < 2'000; ++step) {
    const std::string text(random.below(40), static_cast<char>('a' + random.below(3)));
    const BagRow row(some(static_cast<std::int64_t>(random.below(rows))),
                     some(Text{text.data(), text.size()}));
    if (random.below(3) != 0) {
      for (std::uint64_t i = 1 + random.below(at_once); i > 0; --i) {
        bag.add(pool, row, 1, {});
        ++model[bytes_of_row(row)];
      }
    } else if (auto* const item = bag.find(pool, row); item != nullptr) {
      ASSERT_EQ(item->count(), model.at(bytes_of_row(row)));
      model.erase(bytes_of_row(row));
      bag.erase(pool, *item);
    } else {
      ASSERT_FALSE(model.contains(bytes_of_row(row)));
      const auto items = bag.in_order(pool);
      if (items.size() == 0) continue;
      auto& any = *items[random.below(items.size())];
      ASSERT_EQ(model.erase(bytes_of_row(any.row())), 1u);
      bag.erase(pool, any);
    }
    ASSERT_EQ(bag.empty(), model.empty());
    if (step % 16 == 0) {
      ASSERT_EQ(content(pool, bag), model) << "step " << step;
    }
  }
  ASSERT_EQ(content(pool, bag), model);
  while (bag.in_order(pool).size() != 0)
    bag.erase(pool, *bag.in_order(pool)[0]);
  EXPECT_TRUE(bag.empty());
}

TEST(Bag, RowsThatComeAndGoAreThoseOfAMap) {
  Random random(1);
  for (int round = 0; round < 20; ++round)
    come_and_go(random, 1 + random.below(60), 1 + random.below(3));
}

// Each of them was a copy of all its rows, twice.
TEST(Bag, ARowThatComesAndGoesTakesNoMemory) {
  Pool pool;
  RowBag bag;
  const auto row = [](std::int64_t number) { return BagRow(some(number), Maybe<Text>{}); };
  for (std::int64_t i = 0; i < 1'000; ++i)
    bag.add(pool, row(2 * i), 1, {});
  const auto* const place = bag.in_order(pool).begin().at;
  for (std::int64_t i = 0; i < 1'000; ++i) {
    bag.add(pool, row(2 * i + 1), 1, {});
    bag.erase(pool, *bag.find(pool, row(2 * i + 1)));
    ASSERT_EQ(bag.in_order(pool).begin().at, place);
    ASSERT_EQ(bag.in_order(pool).size(), 1'000u);
  }
}

// Each number had 16 bytes, and each row what a state store and an outer join want to know of it.
TEST(Bag, ARowOfThreeNumbersTakesFortyBytes) {
  using Numbers = RowOf<std::int64_t, std::int64_t, std::int64_t>;
  EXPECT_EQ(sizeof(Bag<Numbers, NotNoted>::Item), 40u);
  EXPECT_EQ(sizeof(Bag<Numbers>::Item), 64u);
  Pool pool;
  const auto* const first = static_cast<char*>(pool.take(40));
  EXPECT_EQ(static_cast<char*>(pool.take(40)) - first, 40);
}

TEST(Bag, ARowThatIsKeptHasTheSameValuesAndNulls) {
  using Wide = RowOf<bool, std::int64_t, Text, Int128, std::int8_t, double, std::int32_t, bool,
                     std::int16_t, Text>;
  const auto bytes_of = [](const Wide& row) {
    std::string bytes;
    row.append_exactly(bytes);
    return bytes;
  };
  Random random(2);
  for (int i = 0; i < 2'000; ++i) {
    const auto any = [&](auto value) { return Maybe{value, random.below(3) != 0}; };
    const Wide row(any(random.below(2) == 1), any(static_cast<std::int64_t>(random())),
                   any(Text{"some", 4}), any(-static_cast<Int128>(random())),
                   any(static_cast<std::int8_t>(random())), any(0.5),
                   any(static_cast<std::int32_t>(random())), any(random.below(2) == 1),
                   any(static_cast<std::int16_t>(random())), any(Text{"other text", 10}));
    char texts[14];
    Packed<Wide> packed(row);
    packed.move_texts(texts);
    ASSERT_EQ(bytes_of(packed.row()), bytes_of(row)) << i;
    if (const auto text = packed.row().get<9>(); text.known) {
      EXPECT_GE(text.value.data, texts);
      EXPECT_LE(text.value.data, texts + 4);
    }
  }
}

// Places of 40 bytes were of 48, so that all were aligned to 16.
TEST(Pool, WhatSixteenDividesIsAlignedToIt) {
  Random random(3);
  Pool pool;
  std::vector<std::pair<void*, std::size_t>> taken;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t bytes = 1 + random.below(random.below(50) == 0 ? 100'000 : 200);
    auto* const place = pool.take(bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    ASSERT_EQ(address % 8, 0u) << bytes;
    if (bytes % 16 == 0) {
      ASSERT_EQ(address % 16, 0u) << bytes;
    }
    std::memset(place, 1, bytes);
    taken.emplace_back(place, bytes);
    if (random.below(3) != 0) continue;
    std::swap(taken[random.below(taken.size())], taken.back());
    pool.give(taken.back().first, taken.back().second);
    taken.pop_back();
  }
}

}  // namespace
}  // namespace holdfast::query
