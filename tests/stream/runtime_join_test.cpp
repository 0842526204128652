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

// ---- Keys of a fixed size ----

using Number = KeyOf<std::int64_t, std::int16_t>;
using ListedRows = WindowRows<Number, Left, Right>;

// Each key's bytes, with the numbers of its left and its right rows.
using ByKey =
    std::map<std::string, std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>;

Number number_key(std::int64_t key) {
  return Number(some(key % 1'000), some(static_cast<std::int16_t>(key / 1'000 - 2)));
}
std::string bytes_of(const Number& key) {
  std::string bytes;
  key.append(bytes);
  return bytes;
}
void add_to_both(ListedRows& rows, ByKey& expected, bool left, const Number& key,
                 std::int64_t number) {
  auto& of_key = expected[bytes_of(key)];
  if (left)
    rows.add<Side::kLeft>(key, Left(some(number), some(Text{"text", 4})), number);
  else
    rows.add<Side::kRight>(key, Right(some(number)), number);
  (left ? of_key.first : of_key.second).push_back(number);
}
ByKey all_of(ListedRows& rows) {
  ByKey found;
  rows.for_each<Side::kLeft>([&](const Number& key, const auto& item) {
    return found[bytes_of(key)].first.push_back(item.number), true;
  });
  rows.for_each<Side::kRight>([&](const Number& key, const auto& item) {
    return found[bytes_of(key)].second.push_back(item.number), true;
  });
  return found;
}
// In the order of the lists.
std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> listed_in(
    ListedRows& rows) {
  std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> all;
  rows.for_each_listed([&](const ListedRows::Lists& lists) {
    auto& [lefts, rights] = all.emplace_back();
    for (auto at = lists.left.first; at != 0; at = rows.item<Side::kLeft>(at).next)
      lefts.push_back(rows.item<Side::kLeft>(at).number);
    for (auto at = lists.right.first; at != 0; at = rows.item<Side::kRight>(at).next)
      rights.push_back(rows.item<Side::kRight>(at).number);
    return true;
  });
  return all;
}

TEST(WindowRows, KeysThatComeInTheOrderOfTheirBytesAreListed) {
  Random random(2);
  ListedRows rows;
  for (int round = 0; round < 100; ++round) {
    // One of the sides comes behind the other, or they take turns.
    const bool turns = random.below(2) == 0;
    std::vector<std::pair<std::string, bool>> coming;
    std::map<std::string, Number> keys;
    for (auto i = random.below(60); i > 0; --i) {
      const auto key = number_key(static_cast<std::int64_t>(random.below(5'000)));
      keys[bytes_of(key)] = key;
      coming.emplace_back(bytes_of(key), random.below(2) == 0);
    }
    std::sort(coming.begin(), coming.end());
    if (!turns) {
      std::stable_sort(coming.begin(), coming.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
    }
    ByKey expected;
    std::int64_t number = 0;
    for (const auto& [bytes, left] : coming)
      add_to_both(rows, expected, left, keys[bytes], number++);
    EXPECT_TRUE(rows.are_listed());
    EXPECT_EQ(rows.empty(), coming.empty());
    EXPECT_EQ(all_of(rows), expected);
    const auto listed = listed_in(rows);
    ASSERT_EQ(listed.size(), expected.size());
    auto at = expected.begin();
    for (const auto& lists : listed)
      EXPECT_EQ(lists, (at++)->second);
    rows.clear();
    EXPECT_TRUE(rows.empty());
  }
}

TEST(WindowRows, AKeyOutOfOrderBringsAllIntoTheTable) {
  for (const bool is_null : {false, true}) {
    for (const bool left : {false, true}) {
      ListedRows rows;
      ByKey expected;
      std::int64_t number = 0;
      for (const std::int64_t key : {3, 3, 5, 9})
        add_to_both(rows, expected, left, number_key(key), number++);
      for (const std::int64_t key : {1, 5, 7})
        add_to_both(rows, expected, !left, number_key(key), number++);
      EXPECT_TRUE(rows.are_listed());
      const auto listed_bytes = rows.bytes();
      const Number null_key(some(std::int64_t{300}), Maybe<std::int16_t>{});
      add_to_both(rows, expected, left, is_null ? null_key : number_key(4), number++);
      EXPECT_FALSE(rows.are_listed());
      EXPECT_EQ(all_of(rows), expected);
      EXPECT_EQ(rows.keys().entries().size(), expected.size());
      EXPECT_GT(rows.bytes(), listed_bytes);
      // Also what is in order now.
      for (const std::int64_t key : {400, 4})
        add_to_both(rows, expected, !left, number_key(key), number++);
      EXPECT_EQ(all_of(rows), expected);
      rows.clear();
      EXPECT_TRUE(rows.are_listed());
    }
  }
}

}  // namespace
}  // namespace holdfast::query
