// Cursors beside writers, and what the order has when they have ended.
#include <atomic>
#include <thread>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

#ifdef HF_TSAN
constexpr int kSteps = 2'000;
#else
constexpr int kSteps = 20'000;
#endif
constexpr std::uint64_t kStable = 300;

std::string stable_key(std::uint64_t i) { return "k" + std::to_string(1000 + i); }

class OrderedConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, OrderedConcurrent, kEveryPlace, place_name);

// Keys that stay are seen exactly once by each scan, in order; the others come and go by all verbs,
// of several threads at the same keys.
TEST_P(OrderedConcurrent, KeysThatStayAreSeenOnceAndTheOrderAgreesInTheEnd) {
  StoreOptions options = tiny();
  options.order = true;
  options.background = true;
  auto store = open(options);
  for (std::uint64_t i = 0; i < kStable; ++i)
    ASSERT_TRUE(store.put(stable_key(i), "stays"));
  std::atomic<int> wrong{0}, writing{3};
  std::vector<std::thread> threads;
  for (std::uint64_t w = 0; w < 3; ++w) {
    threads.emplace_back([&, w] {
      Random random(w);
      for (int step = 0; step < kSteps; ++step) {
        // Some between the stable keys, and all of 16 bytes now and then, which take other paths.
        std::string key = stable_key(random.below(kStable)) + "x";
        if (random.below(2) == 0) key.append(16 - key.size(), '-');
        switch (random.below(5)) {
          case 0: wrong += !store.put(key, "comes"); break;
          case 1: wrong += !store.erase(key).has_value(); break;
          case 2: {
            WriteBatch batch;
            batch.put(key, "batch");
            batch.erase(key + "y");
            wrong += !store.write(batch);
            break;
          }
          case 3: {
            const auto put = store.put_if_absent(key, "if");
            wrong += !put && put.code() != Errc::kAlreadyExists;
            break;
          }
          default: {
            const Snapshot snapshot = store.snapshot();
            wrong += !store.put(stable_key(random.below(kStable)), "stays");
            wrong += !store.erase(key).has_value();
          }
        }
      }
      --writing;
    });
  }
  const auto scan = [&](bool forward) {
    auto cursor = store.cursor().value();
    std::uint64_t next = forward ? 0 : kStable;
    std::string last;
    for (bool at = forward ? cursor.first() : cursor.last(); at;
         at = forward ? cursor.next() : cursor.prev()) {
      if (!last.empty()) wrong += forward ? cursor.key() <= last : cursor.key() >= last;
      last = cursor.key();
      if (last.size() != 5) continue;
      wrong += forward ? last != stable_key(next++) : last != stable_key(--next);
      wrong += cursor.value() != "stays";
    }
    wrong += next != (forward ? kStable : 0) || !cursor.status();
  };
  // The same packed, many leaves at once or a few records.
  const auto fill = [&](std::size_t bytes) {
    auto cursor = store.cursor().value();
    std::vector<std::byte> buffer(bytes);
    std::uint64_t next = 0;
    std::string last;
    for (auto used = cursor.fill_from("", buffer); used && *used != 0; used = cursor.fill(buffer)) {
      auto rest = std::span<const std::byte>(buffer).first(*used);
      while (const auto record = unpack(rest)) {
        if (!last.empty()) wrong += record->key <= last;
        last = record->key;
        if (last.size() != 5) continue;
        wrong += last != stable_key(next++) || record->value != "stays";
      }
    }
    wrong += next != kStable || !cursor.status();
  };
  for (int i = 0; writing != 0; ++i) {
    scan(i % 2 == 0);
    fill(i % 2 == 0 ? 1'000 : 1'000'000);
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  Contents by_hash;
  ASSERT_TRUE(store.snapshot().for_each([&](std::string_view key, std::string_view value, Version) {
    return by_hash.emplace(key, value).second;
  }));
  auto cursor = store.cursor().value();
  auto wanted = by_hash.begin();
  for (cursor.first(); cursor; cursor.next(), ++wanted) {
    ASSERT_NE(wanted, by_hash.end());
    ASSERT_EQ(cursor.key(), wanted->first);
  }
  EXPECT_EQ(wanted, by_hash.end());
  ASSERT_TRUE(store.reclaim());
  const KeyOrder& order = *ForTests::rooms(store).index.order();
  EXPECT_EQ(order.state(), KeyOrder::State::kComplete);
  EXPECT_EQ(order.keys().count(), by_hash.size()) << "no key of a tombstone is left";
}

// The order is built while writers go on: what they insert and erase meanwhile is in it.
TEST_P(OrderedConcurrent, AnOpenLoadsTheOrderBesideWriters) {
  constexpr int kKeys = 30'000;
  const auto key_of = [](int i) { return "key" + std::to_string(100'000 + i); };
  Contents expected;
  {
    auto store = open();
    for (int i = 0; i < kKeys; i += 2)
      ASSERT_TRUE(store.put(key_of(i), expected[key_of(i)] = "0"));
  }
  for (int round = 0; round < 4; ++round) {
    StoreOptions options = with_access(RegionAccess::kOpen);
    options.order = true;
    options.background = true;
    auto store = open(options);
    // At once, in all corners: the load is under way.
    for (int i = round; i < kKeys; i += 37) {
      const std::string key = key_of(i);
      if (i % 3 == 0) {
        store.erase(key).value();
        expected.erase(key);
      } else {
        ASSERT_TRUE(store.put(key, expected[key] = std::to_string(round)));
      }
    }
    Cursor cursor = store.cursor().value();
    auto wanted = expected.begin();
    for (cursor.first(); cursor; cursor.next(), ++wanted) {
      ASSERT_NE(wanted, expected.end()) << cursor.key();
      ASSERT_EQ(cursor.key(), wanted->first) << "round " << round;
      ASSERT_EQ(cursor.value(), wanted->second);
    }
    EXPECT_TRUE(cursor.status()) << cursor.status().error().message();
    EXPECT_EQ(wanted, expected.end());
    ASSERT_TRUE(store.close());
  }
}

// The same of keyspaces; one of them is dropped while it is loaded.
TEST_P(OrderedConcurrent, AnOpenLoadsTheOrderOfKeyspacesBesideWritersAndADrop) {
  constexpr int kKeys = 10'000;
  const auto key_of = [](int i) { return "key" + std::to_string(100'000 + i); };
  Contents expected;
  {
    auto store = open();
    auto space = store.create_space("space").value();
    for (int i = 0; i < kKeys; i += 2)
      ASSERT_TRUE(space.put(key_of(i), expected[key_of(i)] = "0"));
  }
  for (int round = 0; round < 4; ++round) {
    {
      auto store = open(with_access(RegionAccess::kOpen));
      auto other = store.create_space("dropped" + std::to_string(round)).value();
      for (int i = 0; i < kKeys / 4; ++i)
        ASSERT_TRUE(other.put(key_of(i), "0"));
    }
    StoreOptions options = with_access(RegionAccess::kOpen);
    options.order = true;
    options.background = true;
    auto store = open(options);
    auto space = store.space("space").value();
    std::atomic<int> wrong{0};
    std::thread dropping(
        [&] { wrong += !store.drop_space("dropped" + std::to_string(round)).has_value(); });
    std::thread writing([&] {
      for (int i = round; i < kKeys; i += 37) {
        const std::string key = key_of(i);
        if (i % 3 == 0) {
          wrong += !space.erase(key).has_value();
          expected.erase(key);
        } else {
          wrong += !space.put(key, expected[key] = std::to_string(round)).has_value();
        }
      }
    });
    Cursor beside = space.cursor().value();
    std::string last;
    for (beside.first(); beside; beside.next()) {
      wrong += beside.key() <= last;
      last = beside.key();
    }
    wrong += !beside.status();
    writing.join();
    dropping.join();
    EXPECT_EQ(wrong, 0);
    Cursor cursor = space.cursor().value();
    auto wanted = expected.begin();
    for (cursor.first(); cursor; cursor.next(), ++wanted) {
      ASSERT_NE(wanted, expected.end()) << cursor.key();
      ASSERT_EQ(cursor.key(), wanted->first) << "round " << round;
      ASSERT_EQ(cursor.value(), wanted->second);
    }
    EXPECT_TRUE(cursor.status()) << cursor.status().error().message();
    EXPECT_EQ(wanted, expected.end());
    ASSERT_TRUE(store.close());
  }
}

TEST_P(OrderedConcurrent, ACloseDoesNotWaitForTheLoad) {
  {
    auto store = open();
    for (int i = 0; i < 20'000; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), "0"));
  }
  for (int round = 0; round < 10; ++round) {
    StoreOptions options =
        with_access(round % 2 == 0 ? RegionAccess::kOpen : RegionAccess::kOpenReadOnly);
    options.order = true;
    options.background = true;
    auto store = open(options);
    EXPECT_EQ(get(store, "key77"), "0") << "before the keys are in order";
    ASSERT_TRUE(store.close());
  }
}

// The loader waits for the latch of a key that changed meanwhile: here the verb has it.
TEST_P(OrderedConcurrent, ACursorInsideOfAVerbDoesNotWaitForTheLoad) {
  {
    auto store = open();
    for (int i = 0; i < 20'000; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), "0"));
  }
  int busy = 0;
  for (int round = 0; round < 30 && busy == 0; ++round) {
    StoreOptions options = with_access(RegionAccess::kOpen);
    options.order = true;
    options.background = true;
    auto store = open(options);
    const std::string key = "new" + std::to_string(round);
    ASSERT_TRUE(store.put(key, "0"));
    Cursor cursor = store.cursor().value();
    const auto inside = [&](std::string& value) {
      if (!cursor.first()) {
        EXPECT_EQ(cursor.status().code(), Errc::kBusy);
        ++busy;
      }
      value = "1";
    };
    ASSERT_TRUE(store.update(key, inside));
    EXPECT_TRUE(cursor.first()) << "outside it waits";
    ASSERT_TRUE(store.close());
  }
  if (GetParam().name == kPagePlace.name)
    EXPECT_EQ(busy, 0) << "the open waits for the order there";
  else
    EXPECT_GT(busy, 0) << "the order was there before each update: add keys";
}

}  // namespace
}  // namespace holdfast::kv
