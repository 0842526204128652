// Store<Key, Value>: the verbs on objects, the type check at open, and that the medium is that of
// Store<>.
#include <array>
#include <cstddef>
#include <vector>

#include <holdfast/kv/typed_store.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

struct Account {
  std::uint64_t balance = 0;
  std::array<char, 48> name{};
  std::uint64_t changes = 0;
  bool operator==(const Account&) const = default;
};
struct Point {  // 12 bytes: no multiple of 8.
  std::int32_t x, y, z;
  auto operator<=>(const Point&) const = default;
};
using Accounts = Store<std::uint64_t, Account>;

Account account(std::uint64_t balance, std::string_view name) {
  Account made;
  made.balance = balance;
  name.copy(made.name.data(), made.name.size());
  return made;
}

class Typed : public OnEveryPlace {
 protected:
  Accounts open_accounts(const StoreOptions& options = tiny()) const {
    return Accounts::open(spec(), options).value();
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Typed, kEveryPlace, place_name);

TEST_P(Typed, ObjectsComeBackAsTheyWereAlsoAfterReopening) {
  auto store = open_accounts();
  EXPECT_EQ(store.put(17, account(100, "ada")).value(), PutOutcome::kInserted);
  EXPECT_EQ(store.put(17, account(101, "ada")).value(), PutOutcome::kOverwrote);
  EXPECT_EQ(store.put(0, account(1, "nobody")).value(), PutOutcome::kInserted);
  EXPECT_EQ(store.put(~0ull, account(2, "all bits set")).value(), PutOutcome::kInserted);
  for (int opened = 0; opened < 2; ++opened) {
    Account found;
    ASSERT_TRUE(store.get(17, found));
    EXPECT_EQ(found, account(101, "ada"));
    ASSERT_TRUE(store.get(~0ull, found));
    EXPECT_EQ(found, account(2, "all bits set"));
    EXPECT_EQ(store.get(18, found).code(), Errc::kNotFound);
    EXPECT_EQ(store.count(), 3u);
    ASSERT_TRUE(store.close());
    store = open_accounts();
  }
}

TEST_P(Typed, KeysOfEverySizeAreKeptApart) {
  // Shorter than a word, no multiple of one, and longer than a line.
  const auto check = [&](auto first, auto second, const std::string& name) {
    using Key = decltype(first);
    auto store = Store<Key, std::uint32_t>::open(spec(name), tiny()).value();
    ASSERT_TRUE(store.put(first, 1));
    ASSERT_TRUE(store.put(second, 2));
    std::uint32_t found = 0;
    ASSERT_TRUE(store.get(first, found));
    EXPECT_EQ(found, 1u) << name;
    ASSERT_TRUE(store.get(second, found));
    EXPECT_EQ(found, 2u) << name;
    EXPECT_TRUE(store.erase(first).value());
    EXPECT_FALSE(store.erase(first).value());
    EXPECT_EQ(store.get(first, found).code(), Errc::kNotFound);
    EXPECT_EQ(store.count(), 1u);
  };
  check(std::uint8_t{1}, std::uint8_t{2}, "one");
  check(std::uint32_t{7}, std::uint32_t{8}, "four");
  check(Point{1, 2, 3}, Point{1, 2, 4}, "twelve");
  std::array<std::uint64_t, 20> wide{};
  auto other = wide;
  other.back() = 1;
  check(wide, other, "wide");
}

TEST_P(Typed, ConditionalWritesDecideByTheRecordsVersion) {
  auto store = open_accounts();
  const Version first = store.put_if_absent(1, account(1, "a")).value();
  EXPECT_EQ(store.put_if_absent(1, account(2, "b")).code(), Errc::kAlreadyExists);
  EXPECT_EQ(store.compare_and_put(1, first + 1, account(2, "b")).code(), Errc::kVersionMismatch);
  EXPECT_EQ(store.compare_and_put(2, 0, account(3, "c")).has_value(), true);
  const Version second = store.compare_and_put(1, first, account(2, "b")).value();
  EXPECT_GT(second, first);
  Account found;
  EXPECT_EQ(store.get(1, found).value(), second);
  EXPECT_EQ(found, account(2, "b"));
}

TEST_P(Typed, ManyAtOnce) {
  auto store = open_accounts();
  std::vector<std::uint64_t> keys;
  std::vector<Account> values;
  for (std::uint64_t i = 0; i < 300; ++i) {
    keys.push_back(i * 3);
    values.push_back(account(i, "many"));
  }
  ASSERT_TRUE(store.put_many(keys, values));
  keys.push_back(1);  // Absent.
  std::vector<Account> found(keys.size());
  std::vector<Errc> outcomes(keys.size());
  ASSERT_TRUE(store.get_many(keys, found, outcomes));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(outcomes[i], Errc::kOk);
    EXPECT_EQ(found[i], values[i]);
  }
  EXPECT_EQ(outcomes.back(), Errc::kNotFound);
  found.pop_back();
  EXPECT_EQ(store.get_many(keys, found, outcomes).code(), Errc::kInvalidOption);
  EXPECT_EQ(store.put_many(keys, values).code(), Errc::kInvalidOption);
}

TEST_P(Typed, UpdateChangesTheObjectAndUpdateWordAFieldOfIt) {
  StoreOptions options = with_words({offsetof(Account, balance)});
  auto store = open_accounts(options);
  ASSERT_TRUE(store.put(5, account(10, "five")));
  EXPECT_TRUE(store.update(5, [](Account& five) { five.changes = five.balance * 2; }));
  EXPECT_EQ(store.update(6, [](Account&) {}).code(), Errc::kNotFound);
  for (std::uint64_t i = 0; i < 200; ++i)  // Until its block is sealed.
    ASSERT_TRUE(store.put(100 + i, account(i, "filler")));
  const auto add_one = [](std::uint64_t word) { return word + 1; };
  EXPECT_EQ(store.update_word(5, offsetof(Account, balance), add_one).value(), 10u);
  EXPECT_EQ(store.update_word(5, offsetof(Account, changes), add_one).value(), 20u);
  EXPECT_EQ(store.update_word(5, sizeof(Account), add_one).code(), Errc::kInvalidOption);
  EXPECT_EQ(store.update_word(6, 0, add_one).code(), Errc::kNotFound);
  Account expected = account(11, "five");
  expected.changes = 21;
  ASSERT_TRUE(store.close());
  store = open_accounts(options);
  Account found;
  ASSERT_TRUE(store.get(5, found));
  EXPECT_EQ(found, expected);
}

TEST_P(Typed, PinnedBytesAreTheObject) {
  auto store = open_accounts();
  ASSERT_TRUE(store.put(5, account(10, "five")));
  const auto pinned = store.get_pinned(5).value();
  ASSERT_TRUE(store.put(5, account(11, "five")));
  ASSERT_EQ(pinned.value().size(), sizeof(Account));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned.value().data()) % 8, 0u);
  Account found;
  std::memcpy(&found, pinned.value().data(), sizeof found);
  EXPECT_EQ(found, account(10, "five"));
}

TEST_P(Typed, BatchesAreWholeAndSnapshotsShowObjects) {
  auto store = open_accounts();
  ASSERT_TRUE(store.put(1, account(1, "gone")));
  Accounts::Batch batch;
  batch.put(2, account(2, "two"));
  batch.put(3, account(3, "three"));
  batch.erase(1);
  EXPECT_EQ(batch.size(), 3u);
  ASSERT_TRUE(store.write(batch));
  batch.clear();
  EXPECT_EQ(batch.size(), 0u);
  const Snapshot snapshot = store.snapshot();
  ASSERT_TRUE(store.put(2, account(22, "later")));
  std::map<std::uint64_t, Account> seen;
  ASSERT_TRUE(
      store.for_each(snapshot, [&](std::uint64_t key, const Account& value, Version version) {
        EXPECT_LE(version, snapshot.version());
        return seen.emplace(key, value).second;
      }));
  EXPECT_EQ(seen,
            (std::map<std::uint64_t, Account>{{2, account(2, "two")}, {3, account(3, "three")}}));
}

TEST_P(Typed, OpeningWithOtherSizesIsRefusedAndNamesThem) {
  {
    auto store = open_accounts();
    ASSERT_TRUE(store.put(5, account(10, "five")));
  }
  const auto refused = [&](const auto& opened, std::string_view theirs) {
    ASSERT_EQ(opened.code(), Errc::kWrongType);
    EXPECT_TRUE(mentions(opened.error(), "keys of 8 and values of 64 bytes"))
        << opened.error().detail;
    EXPECT_TRUE(mentions(opened.error(), theirs)) << opened.error().detail;
  };
  refused(Store<std::uint32_t, Account>::open(spec(), tiny()), "keys of 4 and values of 64 bytes");
  refused(Store<std::uint64_t, std::uint64_t>::open(spec(), tiny()), "values of 8 bytes");
  refused(Store<>::open(spec(), tiny()), "keys and values of any length");
  auto store = open_accounts();  // Nothing has happened to it.
  Account found;
  ASSERT_TRUE(store.get(5, found));
  EXPECT_EQ(found, account(10, "five"));
  ASSERT_TRUE(store.close());
  {
    auto bytes = open(tiny(), "bytes");
    ASSERT_TRUE(bytes.put("k", "v"));
  }
  const auto typed = Accounts::open(spec("bytes"), tiny());
  ASSERT_EQ(typed.code(), Errc::kWrongType);
  EXPECT_TRUE(mentions(typed.error(), "created for keys and values of any length"));
}

TEST_P(Typed, PatchableWordsLieWithinTheValue) {
  const auto refused = Accounts::open(spec(), with_words({0, sizeof(Account)}));
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(refused.error(), "patchable_words=64")) << refused.error().detail;
  EXPECT_TRUE(mentions(refused.error(), "64 bytes")) << refused.error().detail;
  EXPECT_TRUE(Accounts::open(spec(), with_words({0, sizeof(Account) - 8})));
}

TEST_P(Typed, EveryVerbOfAClosedStoreIsRefused) {
  auto store = open_accounts();
  ASSERT_TRUE(store.close());
  Account found;
  std::vector<std::uint64_t> keys{1};
  std::vector<Account> values(1);
  std::vector<Errc> outcomes(1);
  EXPECT_EQ(store.put(1, found).code(), Errc::kClosed);
  EXPECT_EQ(store.put_if_absent(1, found).code(), Errc::kClosed);
  EXPECT_EQ(store.compare_and_put(1, 0, found).code(), Errc::kClosed);
  EXPECT_EQ(store.get(1, found).code(), Errc::kClosed);
  EXPECT_EQ(store.get_pinned(1).code(), Errc::kClosed);
  EXPECT_EQ(store.get_many(keys, values, outcomes).code(), Errc::kClosed);
  EXPECT_EQ(store.put_many(keys, values).code(), Errc::kClosed);
  EXPECT_EQ(store.update(1, [](Account&) {}).code(), Errc::kClosed);
  EXPECT_EQ(store.update_word(1, 0, [](std::uint64_t word) { return word; }).code(), Errc::kClosed);
  EXPECT_EQ(store.erase(1).code(), Errc::kClosed);
  EXPECT_EQ(store.reserve(1).code(), Errc::kClosed);
  EXPECT_EQ(store.write(Accounts::Batch{}).code(), Errc::kClosed);
  const Snapshot empty = store.snapshot();
  EXPECT_EQ(
      store.for_each(empty, [](std::uint64_t, const Account&, Version) { return true; }).code(),
      Errc::kClosed);
}

}  // namespace
}  // namespace holdfast::kv
