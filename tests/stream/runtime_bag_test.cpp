// A join's rows of one key against an ordered map, under the sanitizers.
#include <gtest/gtest.h>

#include <map>
#include <string>

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
    EXPECT_TRUE(before == nullptr || BagRow::compare(before->row, item->row) < 0);
    EXPECT_TRUE(found.emplace(bytes_of_row(item->row), item->count).second);
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
        bag.add(pool, row, 1, 0, {});
        ++model[bytes_of_row(row)];
      }
    } else if (auto* const item = bag.find(pool, row); item != nullptr) {
      ASSERT_EQ(item->count, model.at(bytes_of_row(row)));
      model.erase(bytes_of_row(row));
      bag.erase(pool, *item);
    } else {
      ASSERT_FALSE(model.contains(bytes_of_row(row)));
      const auto items = bag.in_order(pool);
      if (items.empty()) continue;
      auto& any = *items[random.below(items.size())];
      ASSERT_EQ(model.erase(bytes_of_row(any.row)), 1u);
      bag.erase(pool, any);
    }
    ASSERT_EQ(bag.empty(), model.empty());
    if (step % 16 == 0) {
      ASSERT_EQ(content(pool, bag), model) << "step " << step;
    }
  }
  ASSERT_EQ(content(pool, bag), model);
  while (!bag.in_order(pool).empty())
    bag.erase(pool, *bag.in_order(pool).front());
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
    bag.add(pool, row(2 * i), 1, 0, {});
  const auto* const place = bag.in_order(pool).data();
  for (std::int64_t i = 0; i < 1'000; ++i) {
    bag.add(pool, row(2 * i + 1), 1, 0, {});
    bag.erase(pool, *bag.find(pool, row(2 * i + 1)));
    ASSERT_EQ(bag.in_order(pool).data(), place);
    ASSERT_EQ(bag.in_order(pool).size(), 1'000u);
  }
}

}  // namespace
}  // namespace holdfast::query
