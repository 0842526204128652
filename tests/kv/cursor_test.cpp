// Records in order: every verb keeps the order, whatever the medium, over closes and deaths.
#include <holdfast/kv/cursor.hpp>

#include <holdfast/base/random.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

StoreOptions ordered(StoreOptions options = tiny()) {
  options.order = true;
  return options;
}

class Ordered : public OnEveryPlace {
 protected:
  static void expect_same(Result<Cursor> opened, const Contents& expected) {
    ASSERT_TRUE(opened) << opened.error().message();
    Cursor& cursor = *opened;
    auto wanted = expected.begin();
    for (cursor.first(); cursor; cursor.next(), ++wanted) {
      ASSERT_NE(wanted, expected.end()) << cursor.key();
      ASSERT_EQ(cursor.key(), wanted->first);
      ASSERT_EQ(cursor.value(), wanted->second);
    }
    EXPECT_TRUE(cursor.status()) << cursor.status().error().message();
    EXPECT_EQ(wanted, expected.end());
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

}  // namespace
}  // namespace holdfast::kv
