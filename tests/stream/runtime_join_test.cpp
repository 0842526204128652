// What compiled joins of windows keep of a window, under the sanitizers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/window_join.hpp>

namespace holdfast::query {
namespace {

using Key = KeyOf<Text, std::int64_t>;
using Left = RowOf<std::int64_t, Text>;
using Right = RowOf<std::int64_t>;
using Rows = WindowRows<Key, Left, Right>;

Text text_of(const std::string& bytes) { return {bytes.data(), bytes.size()}; }

// A state store gives the rows of a key in any order; they are shown by their numbers.
TEST(WindowRows, RowsOfAKeyAreInTheOrderOfTheirNumbers) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> numbers(1 + random.below(200));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = numbers.size(); i > 1; --i)
      std::swap(numbers[i - 1], numbers[random.below(i)]);
    Rows rows;
    std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> expected;
    for (const auto number : numbers) {
      const std::string name = "key " + std::to_string(number % 7);
      const std::string text(static_cast<std::size_t>(number), 'x');
      const Key key(some(text_of(name)), Maybe<std::int64_t>{});
      rows.add<Side::kLeft>(key, Left(some(number), some(text_of(text))), number);
      rows.add<Side::kRight>(key, Right(some(-number)), 1'000 + number);
      expected[name].emplace_back(number, text);
    }
    for (auto& [name, of_key] : expected)
      std::sort(of_key.begin(), of_key.end());

    std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>> found;
    rows.for_each<Side::kLeft>([&](const Key& key, const auto& item) {
      const auto name = key.get<0>().value;
      const auto text = item.row.template get<1>().value;
      EXPECT_EQ(item.number, item.row.template get<0>().value);
      found[std::string(name.data, name.size)].emplace_back(item.number,
                                                            std::string(text.data, text.size));
      return true;
    });
    EXPECT_EQ(found, expected);

    std::int64_t rights = 0;
    for (const auto& entry : rows.keys().entries()) {
      std::int64_t before = -1;
      for (auto at = entry.state.right.first; at != 0; at = rows.item<Side::kRight>(at).next) {
        const auto& item = rows.item<Side::kRight>(at);
        EXPECT_LT(before, item.number);
        EXPECT_EQ(item.row.get<0>().value, 1'000 - item.number);
        before = item.number;
        ++rights;
        EXPECT_EQ(item.next == 0, at == entry.state.right.last);
      }
    }
    EXPECT_EQ(rights, static_cast<std::int64_t>(numbers.size()));
  }
}

// A window that has ended leaves its memory to the next one, and nothing else.
TEST(WindowRows, ThoseThatAreClearedAreAsNew) {
  Rows rows;
  std::string text;
  for (std::int64_t round = 1; round < 20; ++round) {
    for (std::int64_t i = 0; i < 10 * round; ++i) {
      text.assign(static_cast<std::size_t>(i * 97 % 9'000), static_cast<char>('a' + round));
      rows.add<Side::kLeft>(Key(some(text_of(text)), some(i)), Left(some(i), some(text_of(text))),
                            i);
    }
    std::int64_t found = 0;
    rows.for_each<Side::kLeft>([&](const Key& key, const auto& item) {
      text.assign(static_cast<std::size_t>(found * 97 % 9'000), static_cast<char>('a' + round));
      const auto kept = item.row.template get<1>().value, of_key = key.get<0>().value;
      EXPECT_EQ(std::string(kept.data, kept.size), text);
      EXPECT_EQ(std::string(of_key.data, of_key.size), text);
      return ++found > 0;
    });
    EXPECT_EQ(found, 10 * round);
    rows.for_each<Side::kRight>([](const Key&, const auto&) { return ADD_FAILURE(), false; });
    rows.clear();
    EXPECT_TRUE(rows.keys().entries().empty());
  }
}

}  // namespace
}  // namespace holdfast::query
