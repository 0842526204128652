// Records in order: every verb keeps the order, whatever the medium, over closes and deaths.
#include <holdfast/kv/cursor.hpp>

#include <optional>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "ordered.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Ordered : public OnEveryPlace {
 protected:
  static void expect_same(Result<Cursor> opened, const Contents& expected) {
    ASSERT_TRUE(opened) << opened.error().message();
    Cursor& cursor = *opened;
    expect_in_order(cursor, expected);
    if (HasFatalFailure()) return;
    auto back = expected.rbegin();
    for (cursor.last(); cursor; cursor.prev(), ++back) {
      ASSERT_NE(back, expected.rend()) << cursor.key();
      ASSERT_EQ(cursor.key(), back->first);
      ASSERT_EQ(cursor.value(), back->second);
    }
    EXPECT_EQ(back, expected.rend());
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Ordered, kEveryPlace, place_name);

TEST_P(Ordered, AStoreWithoutOrderSaysWhatToDo) {
  auto store = open();
  EXPECT_EQ(store.cursor().code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(store.cursor().error(), "order=true"));
  EXPECT_EQ(store.snapshot().cursor().code(), Errc::kInvalidOption);
}

// The sanitizer build saw memcpy() of a null pointer: nothing had been copied before the empty key.
TEST_P(Ordered, AStoreOfTheEmptyKeyAloneIsPutInOrderAtOpen) {
  {
    auto store = open();
    ASSERT_TRUE(store.put("", "empty"));
    ASSERT_TRUE(store.close());
  }
  auto store = open(ordered());
  expect_same(store.cursor(), {{"", "empty"}});
  ASSERT_TRUE(store.put("a", "1"));
  expect_same(store.cursor(), {{"", "empty"}, {"a", "1"}});
}

TEST_P(Ordered, MovesAreThoseOfAMap) {
  auto store = open(ordered());
  Contents expected;
  for (int i = 0; i < 500; i += 2)
    ASSERT_TRUE(store.put("key" + std::to_string(i),
                          expected["key" + std::to_string(i)] = std::to_string(i)));
  expected[""] = "empty", expected[std::string("\xff\xff", 2)] = "last";
  ASSERT_TRUE(store.put("", "empty"));
  ASSERT_TRUE(store.put(std::string("\xff\xff", 2), "last"));
  expect_same(store.cursor(), expected);
  auto cursor = store.cursor().value();
  EXPECT_FALSE(cursor);
  EXPECT_FALSE(cursor.next());
  for (int i = 0; i < 500; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(cursor.seek(key));
    auto at = expected.lower_bound(key);
    EXPECT_EQ(cursor.key(), at->first);
    ASSERT_TRUE(cursor.prev());
    EXPECT_EQ(cursor.key(), (--at)->first);
    ASSERT_TRUE(cursor.next());
    EXPECT_EQ(cursor.key(), (++at)->first);
    ASSERT_TRUE(cursor.seek_below(key));
    EXPECT_EQ(cursor.key(), (--(at = expected.lower_bound(key)))->first);
  }
  int seen = 0;
  for (cursor.first("key4"); cursor; cursor.next(), ++seen)
    EXPECT_TRUE(cursor.key().starts_with("key4"));
  EXPECT_EQ(seen, 1 + 5 + 50);
  for (cursor.last("key4"); cursor; cursor.prev(), --seen)
    EXPECT_TRUE(cursor.key().starts_with("key4"));
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(cursor.first("nothing"));
  EXPECT_TRUE(cursor.last("\xff"));
  EXPECT_EQ(cursor.value(), "last");
}

TEST_P(Ordered, EveryVerbKeepsIt) {
  Contents expected;
  auto store = open(ordered());
  Random random(5);
  const auto key_of_chance = [&] { return "key" + std::to_string(random.below(300)); };
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 500; ++i) {
      const std::string key = key_of_chance(), value = std::to_string(round * 1000 + i);
      switch (random.below(8)) {
        case 0: expected.erase(key), store.erase(key).value(); break;
        case 1:
          if (store.put_if_absent(key, value)) expected.emplace(key, value);
          break;
        case 2: {
          WriteBatch batch;
          batch.put(key, expected[key] = value);
          const std::string other = key_of_chance();
          if (other != key) batch.erase(other), expected.erase(other);
          ASSERT_TRUE(store.write(batch));
          break;
        }
        case 3: {
          const std::string keys[] = {key, "many" + key};
          const std::string_view views[] = {keys[0], keys[1]}, values[] = {value, value};
          ASSERT_TRUE(store.put_many(views, values));
          expected[keys[0]] = expected[keys[1]] = value;
          break;
        }
        case 4:
          if (store.update(key, [](std::string& text) { text += "u"; })) expected[key] += "u";
          break;
        case 5: {
          const std::string keys[] = {key, "many" + key};
          const std::string_view views[] = {keys[0], keys[1]};
          Errc outcomes[2];
          ASSERT_TRUE(store.erase_many(views, outcomes));
          expected.erase(keys[0]), expected.erase(keys[1]);
          break;
        }
        default: ASSERT_TRUE(store.put(key, expected[key] = value));
      }
    }
    expect_same(store.cursor(), expected);
    ASSERT_TRUE(store.reclaim());
    expect_same(store.cursor(), expected);
    if (round % 2 == 0) {
      ASSERT_TRUE(store.close());
    } else {
      ASSERT_TRUE(store.sync());
      ForTests::abandon(store);
    }
    store = open(ordered(with_access(RegionAccess::kOpen)));
    expect_same(store.cursor(), expected);
  }
}

TEST_P(Ordered, ASnapshotShowsWhatWasThere) {
  auto store = open(ordered());
  Contents before;
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i), before["key" + std::to_string(i)] = "0"));
  Contents after = before;
  {
    const Snapshot snapshot = store.snapshot();
    for (int i = 0; i < 200; i += 3)
      store.erase("key" + std::to_string(i)).value(), after.erase("key" + std::to_string(i));
    for (int i = 0; i < 200; i += 2)
      ASSERT_TRUE(store.put("new" + std::to_string(i), after["new" + std::to_string(i)] = "1"));
    expect_same(snapshot.cursor(), before);
    expect_same(store.cursor(), after);
  }
  ASSERT_TRUE(store.reclaim());
  expect_same(store.cursor(), after);
  EXPECT_EQ(ForTests::rooms(store).index.order()->keys().count(), after.size())
      << "keys of tombstones go with them";
}

TEST_P(Ordered, ACursorOutlivesItsStore) {
  std::optional<Cursor> cursor;
  {
    auto store = open(ordered());
    ASSERT_TRUE(store.put("a", "1"));
    ASSERT_TRUE(store.put("b", "2"));
    cursor.emplace(store.cursor().value());
    ASSERT_TRUE(cursor->first());
  }
  EXPECT_FALSE(cursor->next());
  EXPECT_EQ(cursor->status().code(), Errc::kClosed);
  EXPECT_FALSE(cursor->first());
}

TEST_P(Ordered, FilledBuffersHoldWhatACursorSees) {
  auto store = open(ordered());
  Contents expected;
  for (int i = 0; i < 300; ++i) {
    std::string& value = expected["key" + std::to_string(i)];
    value.assign(static_cast<std::size_t>(i % 7 == 0 ? 900 : i % 50),
                 static_cast<char>('a' + i % 26));
    ASSERT_TRUE(store.put("key" + std::to_string(i), value));
  }
  ASSERT_TRUE(store.put("", expected[""] = ""));
  const Snapshot snapshot = store.snapshot();
  for (const bool of_snapshot : {false, true}) {
    auto cursor = (of_snapshot ? snapshot.cursor() : store.cursor()).value();
    std::vector<std::byte> buffer(1000);
    auto wanted = expected.begin();
    int calls = 0;
    cursor.first();
    for (std::size_t used; (used = cursor.fill(buffer).value()) != 0; ++calls) {
      auto rest = std::span<const std::byte>(buffer).first(used);
      for (auto record = unpack(rest); record; record = unpack(rest), ++wanted) {
        ASSERT_NE(wanted, expected.end());
        EXPECT_EQ(record->key, wanted->first);
        EXPECT_EQ(record->value, wanted->second);
        std::string value;
        EXPECT_EQ(record->version, store.get(record->key, value).value());
      }
      EXPECT_TRUE(rest.empty());
      EXPECT_TRUE(!cursor || cursor.key() == wanted->first)
          << "the next one waits for the next call";
    }
    EXPECT_EQ(wanted, expected.end());
    EXPECT_GT(calls, 40);
    EXPECT_LT(calls, 120) << "many of them per call";
  }
}

// From any key, over many leaves, with and without a limit, of whatever a cursor is of.
TEST_P(Ordered, FillingFromAKeyIsSeekingAndFilling) {
  auto store = open(ordered());
  auto space = store.create_space("space").value();
  Contents expected;
  for (int i = 0; i < 2'000; ++i) {
    const std::string key = "key" + std::to_string(i);
    expected[key] = std::string(static_cast<std::size_t>(i % 40), 'v') + key;
    ASSERT_TRUE(store.put(key, expected[key]));
    ASSERT_TRUE(space.put(key, expected[key]));
  }
  for (int i = 0; i < 2'000; i += 5) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(store.erase(key).value());
    ASSERT_TRUE(space.erase(key).value());
    expected.erase(key);
  }
  const Snapshot snapshot = store.snapshot();
  Random random(7);
  for (int round = 0; round < 120; ++round) {
    auto cursor = (round % 3 == 0   ? store.cursor()
                   : round % 3 == 1 ? space.cursor()
                                    : snapshot.cursor())
                      .value();
    if (round % 2 == 0) cursor.last();  // Wherever it is.
    const std::string from = "key" + std::to_string(random.below(2'500));
    std::vector<std::byte> buffer(random.below(2) == 0 ? 500 : 40'000);
    const std::size_t most = random.below(3) == 0 ? ~std::size_t{0} : 1 + random.below(700);
    auto wanted = expected.lower_bound(from);
    auto used = cursor.fill_from(from, buffer, most);
    for (int calls = 0;; ++calls) {
      ASSERT_TRUE(used) << used.error().message();
      auto rest = std::span<const std::byte>(buffer).first(*used);
      std::size_t records = 0;
      for (auto record = unpack(rest); record; record = unpack(rest), ++wanted, ++records) {
        ASSERT_NE(wanted, expected.end());
        ASSERT_EQ(record->key, wanted->first);
        ASSERT_EQ(record->value, wanted->second);
      }
      EXPECT_LE(records, most);
      ASSERT_EQ(static_cast<bool>(cursor), wanted != expected.end());
      if (!cursor) break;
      ASSERT_EQ(cursor.key(), wanted->first);
      ASSERT_EQ(cursor.value(), wanted->second);
      // Back by one and on again, so that the batch of keys was read from above.
      if (calls % 8 == 3 && wanted != expected.begin()) {
        ASSERT_TRUE(cursor.prev());
        ASSERT_EQ(cursor.key(), (--wanted)->first);
      }
      used = cursor.fill(buffer, most);
    }
  }
  auto cursor = store.cursor().value();
  std::vector<std::byte> buffer(100);
  EXPECT_EQ(cursor.fill_from("z", buffer).value(), 0u);
  EXPECT_FALSE(cursor);
  EXPECT_EQ(cursor.fill_from("key1", buffer, 0).value(), 0u);
  EXPECT_EQ(cursor.key(), "key1");
  ASSERT_TRUE(store.put("key1", std::string(100, 'x')));
  EXPECT_EQ(cursor.fill_from("key1", buffer).code(), Errc::kTooLarge);
  EXPECT_EQ(cursor.key(), "key1") << "it stays";
}

TEST_P(Ordered, ABufferThatIsTooSmallSaysHowLargeItMustBe) {
  auto store = open(ordered());
  ASSERT_TRUE(store.put("a", std::string(100, 'x')));
  auto cursor = store.cursor().value();
  ASSERT_TRUE(cursor.first());
  std::vector<std::byte> buffer(127);
  EXPECT_EQ(cursor.fill(buffer).code(), Errc::kTooLarge);
  EXPECT_TRUE(mentions(cursor.fill(buffer).error(), "128 bytes"));
  EXPECT_EQ(cursor.key(), "a") << "it stays";
  buffer.resize(128);
  EXPECT_EQ(cursor.fill(buffer).value(), 128u);
  EXPECT_EQ(cursor.fill(buffer).value(), 0u);
  // What was not packed by fill() leads nowhere.
  for (std::size_t bytes = 0; bytes < 128; ++bytes) {
    auto rest = std::span<const std::byte>(buffer).first(bytes);
    EXPECT_FALSE(unpack(rest)) << bytes;
  }
  buffer.assign(128, std::byte{0xff});
  auto rest = std::span<const std::byte>(buffer);
  EXPECT_FALSE(unpack(rest));
}

// Keys may be missing from then on, so nothing goes on as if they were all there.
TEST_P(Ordered, AnOrderThatHasNotAllKeysEndsEveryMove) {
  auto store = open(ordered());
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i), "x"));
  auto moving = store.cursor().value(), filling = store.cursor().value();
  ASSERT_TRUE(moving.first());
  ASSERT_TRUE(filling.first());
  ForTests::lose_order(store);
  EXPECT_FALSE(moving.next());
  EXPECT_EQ(moving.status().code(), Errc::kNoSpace);
  std::vector<std::byte> buffer(4096);
  // Where records are read one by one, that which the cursor is at is packed first.
  const std::size_t packed = paged() ? filling.fill(buffer).value() : 0;
  EXPECT_EQ(packed != 0, paged());
  EXPECT_EQ(filling.fill(buffer).code(), Errc::kNoSpace);
  EXPECT_FALSE(filling);
  EXPECT_EQ(store.count_prefix("key").code(), Errc::kNoSpace);
  EXPECT_EQ(store.count(), 10u);
}

TEST_P(Ordered, RangesAreCountedAndErased) {
  auto store = open(ordered());
  Contents expected;
  for (int i = 0; i < 400; ++i) {
    const std::string key = (i % 2 == 0 ? "even" : "odd") + std::to_string(1000 + i);
    ASSERT_TRUE(store.put(key, expected[key] = std::to_string(i)));
  }
  EXPECT_EQ(store.count_prefix("").value(), 400u);
  EXPECT_EQ(store.count_prefix("even").value(), 200u);
  EXPECT_EQ(store.count_prefix("even11").value(), 50u);
  EXPECT_EQ(store.count_prefix("x").value(), 0u);

  EXPECT_EQ(store.erase_range("even1100", "even1200").value(), 50u) << "the end is not part of it";
  expected.erase(expected.find("even1100"), expected.find("even1200"));
  expect_same(store.cursor(), expected);
  EXPECT_EQ(store.erase_range("even1100", "even1200").value(), 0u);
  EXPECT_EQ(store.erase_range("b", "a").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.erase_range("a", "a").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.erase_range("a", "").code(), Errc::kInvalidOption) << "it is not the end";

  const Snapshot before = store.snapshot();
  EXPECT_EQ(store.erase_prefix("odd").value(), 200u);
  expect_same(before.cursor(), expected);
  EXPECT_EQ(store.count_prefix("odd").value(), 0u) << "what a snapshot still sees is not counted";
  EXPECT_EQ(store.erase_prefix("").value(), 150u);
  EXPECT_EQ(store.count(), 0u);
  expect_same(store.cursor(), {});
}

TEST_P(Ordered, AStoreWithoutOrderHasNoRanges) {
  auto store = open();
  ASSERT_TRUE(store.put("a", "1"));
  EXPECT_EQ(store.count_prefix("").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.erase_prefix("").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.erase_range("a", "b").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.count(), 1u);
}

// ---- Keyspaces ----

TEST_P(Ordered, KeyspacesHaveOrdersOfTheirOwn) {
  Contents of_store, of_first, of_later;
  auto store = open(ordered());
  auto first = store.create_space("first").value();
  Random random(11);
  for (int round = 0; round < 4; ++round) {
    std::optional<Space> later;
    if (round >= 2)
      later = (round == 2 ? store.create_space("later") : store.space("later")).value();
    for (int i = 0; i < 500; ++i) {
      const std::string key = "key" + std::to_string(random.below(300));
      const std::string value = std::to_string(round * 1000 + i);
      switch (random.below(7)) {
        case 0: of_first.erase(key), first.erase(key).value(); break;
        case 1:
          if (first.put_if_absent(key, value)) of_first.emplace(key, value);
          break;
        case 2: {
          WriteBatch batch;
          batch.put(first, key, of_first[key] = value);
          batch.put(key, of_store[key] = value);
          batch.erase(first, "other" + key), of_first.erase("other" + key);
          if (later) batch.put(*later, key, of_later[key] = value);
          ASSERT_TRUE(store.write(batch));
          break;
        }
        case 3:
          if (first.update(key, [](std::string& text) { text += "u"; })) of_first[key] += "u";
          break;
        case 4:
          ASSERT_TRUE(first.append("other" + key, "a"));
          of_first["other" + key] += "a";
          break;
        case 5: of_store.erase(key), store.erase(key).value(); break;
        default: ASSERT_TRUE(first.put(key, of_first[key] = value));
      }
    }
    const auto expect_all = [&] {
      expect_same(store.cursor(), of_store);
      expect_same(first.cursor(), of_first);
      if (later) expect_same(later->cursor(), of_later);
    };
    expect_all();
    ASSERT_TRUE(store.reclaim());
    expect_all();
    if (round % 2 == 0) {
      ASSERT_TRUE(store.close());
    } else {
      ASSERT_TRUE(store.sync());
      ForTests::abandon(store);
    }
    store = open(ordered(with_access(RegionAccess::kOpen)));
    first = store.space("first").value();
    if (later) later = store.space("later").value();
    expect_all();
  }
}

TEST_P(Ordered, RangesOfAKeyspaceAreCountedAndErased) {
  auto store = open(ordered());
  auto space = store.create_space("space").value();
  Contents expected;
  for (int i = 0; i < 300; ++i) {
    const std::string key = (i % 2 == 0 ? "even" : "odd") + std::to_string(1000 + i);
    ASSERT_TRUE(store.put(key, "the store's"));
    ASSERT_TRUE(space.put(key, expected[key] = std::to_string(i)));
  }
  EXPECT_EQ(space.count_prefix("").value(), 300u);
  EXPECT_EQ(space.count_prefix("even11").value(), 50u);
  EXPECT_EQ(space.erase_range("even1100", "even1200").value(), 50u);
  EXPECT_EQ(space.erase_range("b", "a").code(), Errc::kInvalidOption);
  EXPECT_EQ(space.erase_prefix("odd").value(), 150u);
  std::erase_if(expected, [](const auto& record) {
    return record.first.starts_with("odd") || record.first.starts_with("even11");
  });
  expect_same(space.cursor(), expected);
  EXPECT_EQ(store.count_prefix("").value(), 300u) << "the store's own keys are others";
  auto cursor = space.cursor().value();
  std::vector<std::byte> buffer(2000);
  auto wanted = expected.begin();
  cursor.first();
  for (std::size_t used; (used = cursor.fill(buffer).value()) != 0;) {
    auto rest = std::span<const std::byte>(buffer).first(used);
    for (auto record = unpack(rest); record; record = unpack(rest), ++wanted) {
      ASSERT_NE(wanted, expected.end());
      EXPECT_EQ(record->key, wanted->first);
      EXPECT_EQ(record->value, wanted->second);
    }
  }
  EXPECT_EQ(wanted, expected.end());
}

TEST_P(Ordered, ACursorOutlivesItsKeyspaceAndItsStore) {
  std::optional<Cursor> dropped, closed;
  {
    auto store = open(ordered());
    for (const auto& [name, cursor] : {std::pair{"dropped", &dropped}, {"closed", &closed}}) {
      auto space = store.create_space(name).value();
      ASSERT_TRUE(space.put("a", "1"));
      ASSERT_TRUE(space.put("b", "2"));
      cursor->emplace(space.cursor().value());
      ASSERT_TRUE((*cursor)->first());
    }
    auto space = store.space("dropped").value();
    ASSERT_TRUE(store.drop_space("dropped"));
    EXPECT_FALSE(dropped->next());
    EXPECT_EQ(dropped->status().code(), Errc::kClosed);
    EXPECT_EQ(space.cursor().code(), Errc::kClosed);
    EXPECT_EQ(space.count_prefix("").code(), Errc::kClosed);
    ASSERT_TRUE(closed->next());
    EXPECT_EQ(closed->value(), "2");
  }
  for (auto* cursor : {&*dropped, &*closed}) {
    EXPECT_FALSE(cursor->first());
    EXPECT_EQ(cursor->status().code(), Errc::kClosed);
  }
}

TEST_P(Ordered, AKeyspaceOfAStoreWithoutOrderSaysWhatToDo) {
  auto store = open();
  auto space = store.create_space("space").value();
  EXPECT_TRUE(mentions(space.cursor().error(), "order=true"));
  EXPECT_EQ(space.count_prefix("").code(), Errc::kInvalidOption);
  EXPECT_EQ(space.erase_prefix("").code(), Errc::kInvalidOption);
  EXPECT_EQ(space.erase_range("a", "b").code(), Errc::kInvalidOption);
}

}  // namespace
}  // namespace holdfast::kv
