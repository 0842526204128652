// The runtime headers of compiled queries, under the sanitizers: tables of groups, their order, and
// bytes that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/state_of.hpp>

#include "no_host.hpp"

namespace holdfast::query {
namespace {

using Key = KeyOf<Text, std::int64_t>;
using State = StateOf<Count, SumOfIntegers<std::int64_t>, Extreme<Text, true>>;

Text text_of(const std::string& bytes) { return {bytes.data(), bytes.size()}; }

template <class K>
std::string bytes_of(const K& key) {
  std::string bytes;
  key.append(bytes);
  return bytes;
}

template <class K, class S>
std::vector<std::string> keys_in_order(const Table<K, S>& table) {
  std::vector<std::string> keys;
  visit_in_order(table,
                 [&](const auto& entry) { return keys.push_back(bytes_of(entry.key)), true; });
  return keys;
}

TEST(RuntimeTable, GroupsAreThoseOfAMap) {
  Random random(1);
  for (const std::uint64_t different : {3, 100, 5'000}) {
    Table<Key, State> table;
    for (int round = 0; round < 2; ++round) {
      std::map<std::string, std::int64_t> sums;
      table.clear();
      for (int i = 0; i < 20'000; ++i) {
        const auto number = random.below(different);
        std::string name(number % 30, static_cast<char>('a' + number % 3));
        const Maybe<Text> text{text_of(name), number % 7 != 0};
        const Maybe<std::int64_t> other{static_cast<std::int64_t>(number), number % 5 != 0};
        const Key key(text, other);
        auto& state = table.at(key, key.hash());
        const auto value = static_cast<std::int64_t>(random.below(1'000)) - 500;
        state.get<0>().add();
        state.get<1>().add(some(value));
        sums[bytes_of(key)] += value;
        name.assign(name.size(), '?');  // The table has its own texts.
      }
      ASSERT_EQ(table.entries().size(), sums.size());
      std::vector<std::string> wanted;
      for (const auto& [bytes, sum] : sums)
        wanted.push_back(bytes);
      EXPECT_EQ(keys_in_order(table), wanted);
      for (const auto& entry : table.entries()) {
        std::string bytes;
        entry.state.get<1>().append(bytes);
        Int128 sum = 0;
        std::memcpy(&sum, bytes.data() + sizeof(std::int64_t), sizeof sum);
        EXPECT_EQ(static_cast<std::int64_t>(sum), sums[bytes_of(entry.key)]);
      }
    }
  }
}

// A key that counts how often one is compared with another.
struct CountedKey {
  static inline std::uint64_t compared = 0;

  std::uint64_t number = 0;
  std::uint64_t hash() const { return mixed(number, 7); }
  bool operator==(const CountedKey& other) const { return ++compared, number == other.number; }
  void keep_texts(TextArena&) {}
  struct OwnTexts {};
  static OwnTexts own_texts() { return {}; }
};

// A search looked at each entry on its way, which is mostly that of another key, and in no cache.
TEST(RuntimeTable, EntriesOfOtherKeysAreSeldomLookedAt) {
  constexpr std::uint64_t kKeys = 20'000;
  Table<CountedKey, std::uint64_t> table;
  KeyedValues<CountedKey, std::uint64_t> values;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    table.at({i}, CountedKey{i}.hash()) = i;
    values.at({i}).value = i;
  }
  CountedKey::compared = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const CountedKey key{i};
    ASSERT_EQ(*table.find(key, key.hash()), i);
    ASSERT_EQ(values.find(key)->value, i);
    ASSERT_EQ(table.find({i + kKeys}, CountedKey{i + kKeys}.hash()), nullptr);
  }
  EXPECT_LE(CountedKey::compared, 2 * kKeys + kKeys / 50);
  for (std::uint64_t i = 0; i < kKeys; i += 2)
    values.erase(*values.find({i}));
  for (std::uint64_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(values.find({i}) != nullptr, i % 2 == 1) << i;
}

template <class T>
void check_order(const std::vector<Maybe<T>>& values) {
  Table<KeyOf<T>, StateOf<Count>> table;
  std::vector<std::string> wanted;
  for (const auto& value : values) {
    const KeyOf<T> key(value);
    table.at(key, key.hash()).template get<0>().add();
    wanted.push_back(bytes_of(key));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  EXPECT_EQ(keys_in_order(table), wanted);
}

TEST(RuntimeTable, WithoutKeysThereIsOneGroup) {
  Table<KeyOf<>, State> table;
  const KeyOf<> key;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(table.find(key, key.hash()), nullptr);
    for (int i = 0; i < 3; ++i)
      table.at(key, key.hash()).get<1>().add(some(std::int64_t{10}));
    ASSERT_EQ(table.entries().size(), 1u);
    EXPECT_EQ(table.find(key, key.hash()), &table.entries().front().state);
    NoHost host;
    Output output;
    query::Run run{host, output};
    EXPECT_EQ(table.find(key, key.hash())->get<1>().result(run).value, 30);
    table.clear();
  }
}

TEST(RuntimeTable, KeysAreComparedAsTheirBytes) {
  Random random(3);
  using Fixed = KeyOf<std::int16_t, bool, double, Int128, std::int64_t>;
  const auto number = [&](auto example) {
    constexpr std::uint64_t kBounds[] = {2, 300, ~std::uint64_t{0}};
    const auto draw = random.below(kBounds[random.below(3)]);
    return static_cast<decltype(example)>(draw) - static_cast<decltype(example)>(random.below(2));
  };
  std::vector<Fixed> keys;
  for (int i = 0; i < 300; ++i)
    keys.emplace_back(some(static_cast<std::int16_t>(random.below(3) * 200)),
                      some(random.below(2) != 0), some(static_cast<double>(random.below(2)) * -1.5),
                      some(number(Int128{}) << random.below(2) * 64), some(number(std::int64_t{})));
  for (const auto& a : keys) {
    for (const auto& b : keys) {
      const auto order = bytes_of(a).compare(bytes_of(b));
      ASSERT_EQ(Fixed::compare(a, b), (order > 0) - (order < 0));
    }
  }
}

TEST(RuntimeTable, GroupsComeInTheOrderOfTheirKeysBytes) {
  Random random(2);
  std::vector<Maybe<std::int64_t>> numbers = {{0, false}};
  std::vector<Maybe<double>> reals = {{0, false}, some(0.0), some(-0.0), some(__builtin_nan(""))};
  std::vector<Maybe<Int128>> wide = {{0, false}};
  std::vector<Maybe<bool>> booleans = {{false, false}, some(true), some(false)};
  for (int i = 0; i < 3'000; ++i) {
    const auto bits = random() >> random.below(64);
    numbers.push_back(some(static_cast<std::int64_t>(bits)));
    reals.push_back(some(static_cast<double>(bits) - 1e9));
    wide.push_back(some(static_cast<Int128>(bits % 5) << 70 | static_cast<Int128>(bits % 9)));
  }
  check_order(numbers);
  check_order(reals);
  check_order(wide);
  check_order(booleans);
}

// More than are sorted by all bytes at once, and parts of each size.
TEST(RuntimeTable, ManyGroupsComeInTheOrderOfTheirKeysBytes) {
  constexpr std::size_t kMany = 300'000;
  Random random(3);
  for (const unsigned shift : {0, 8, 33, 46}) {
    std::vector<Maybe<std::int64_t>> dense = {{0, false}, some<std::int64_t>(-1)}, skewed = dense;
    for (std::size_t i = 0; i < kMany; ++i) {
      dense.push_back(some(static_cast<std::int64_t>(random.below(kMany) << shift)));
      const auto bits = random.below(40);
      skewed.push_back(some(static_cast<std::int64_t>(random() >> (63 - bits) << shift)));
    }
    check_order(dense);
    check_order(skewed);
  }
  std::vector<Maybe<double>> reals;
  std::vector<Maybe<std::int32_t>> few;  // Few differ.
  for (std::size_t i = 0; i < kMany; ++i) {
    reals.push_back(some(static_cast<double>(i)));
    few.push_back(some(static_cast<std::int32_t>(i % 30)));
  }
  check_order(reals);
  check_order(few);
}

// Keys whose first nine bytes are alike are compared in whole.
TEST(RuntimeTable, ManyGroupsThatBeginAlikeComeInOrder) {
  Random random(4);
  Table<KeyOf<std::int64_t, std::int64_t>, StateOf<Count>> table;
  std::vector<std::string> wanted;
  for (std::int64_t i = 0; i < 200'000; ++i) {
    const KeyOf<std::int64_t, std::int64_t> key(some(i % 50'000),
                                                some(static_cast<std::int64_t>(random())));
    table.at(key, key.hash()).get<0>().add();
    wanted.push_back(bytes_of(key));
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(keys_in_order(table), wanted);
}

TEST(RuntimeTable, BytesOfAnotherQueryAreRefused) {
  const std::string name = "name";
  const Key key(some(text_of(name)), some<std::int64_t>(5));
  State state;
  state.get<0>().add();
  state.get<2>().add(some(text_of(name)));
  std::string key_bytes, state_bytes;
  key.append(key_bytes), state.append(state_bytes);
  const auto check = [](const std::string& bytes, auto taken) {
    EXPECT_TRUE(taken.take(text_of(bytes)));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      decltype(taken) cut;
      EXPECT_FALSE(cut.take(text_of(bytes.substr(0, size)))) << size;
    }
    decltype(taken) longer;
    const auto more = bytes + '\0';
    EXPECT_FALSE(longer.take(text_of(more)));
  };
  check(key_bytes, Key());
  check(state_bytes, State());
  std::string wrong = key_bytes;
  wrong[0] = '\2';
  Key taken;
  EXPECT_FALSE(taken.take(text_of(wrong)));
  wrong = key_bytes;
  wrong[4] = '\x7f';  // A length beyond the end.
  EXPECT_FALSE(taken.take(text_of(wrong)));
}

}  // namespace
}  // namespace holdfast::query
