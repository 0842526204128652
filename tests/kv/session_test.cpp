// Sessions: made by a thread's first use, given back at its exit, reused by the next.
#include <atomic>
#include <thread>

#include "support.hpp"

namespace holdfast::kv {
namespace {

using ThreadSessions = OnEveryPlace;
INSTANTIATE_TEST_SUITE_P(Everywhere, ThreadSessions, kEveryPlace, place_name);

TEST_P(ThreadSessions, OfThreadsThatCameAndWentAreReused) {
  auto store = open();
  ASSERT_TRUE(store.put("main", "v"));
  Contents expected{{"main", "v"}};
  for (int i = 0; i < 300; ++i) {
    const std::string key = "thread" + std::to_string(i);
    std::thread([&] { ASSERT_TRUE(store.put(key, key)); }).join();
    expected[key] = key;
  }
  const auto stats = store.stats();
  EXPECT_EQ(stats.sessions, 1u);  // Those in use.
  EXPECT_LE(stats.open_blocks, 4u);
  EXPECT_LT(stats.used_bytes, 20 * 8 * KiB);
  expect_contents(store, expected);
  ASSERT_TRUE(store.close());
  store = open();
  EXPECT_TRUE(store.recovery().clean);
  expect_contents(store, expected);
}

TEST_P(ThreadSessions, AreAsManyAsThreadsAtATime) {
  auto store = open();
  for (int wave = 0; wave < 5; ++wave) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        ASSERT_TRUE(store.put("thread" + std::to_string(i), std::to_string(wave)));
        ++ready;
        while (ready < 8)
          std::this_thread::yield();
      });
    }
    for (auto& thread : threads)
      thread.join();
    const auto stats = store.stats();
    EXPECT_LE(stats.sessions, 1u);
    EXPECT_LE(stats.open_blocks, 9u);
  }
  EXPECT_EQ(store.count(), 8u);
}

TEST_P(ThreadSessions, OfAThreadThatOutlivesItsStoreAreForgotten) {
  std::atomic<int> step{0};
  std::string first_spec = spec("first"), second_spec = spec("second");
  auto first = open(tiny(), "first");
  std::thread thread([&] {
    ASSERT_TRUE(first.put("k", "1"));
    step = 1;
    while (step < 2)
      std::this_thread::yield();
    auto second = Store<>::open(second_spec, tiny()).value();
    ASSERT_TRUE(second.put("k", "2"));
    EXPECT_EQ(get(second, "k"), "2");
  });
  while (step < 1)
    std::this_thread::yield();
  ASSERT_TRUE(first.close());
  step = 2;
  thread.join();
  first = open(tiny(), "first");
  EXPECT_EQ(get(first, "k"), "1");
}

TEST_P(ThreadSessions, OfSeveralStoresInOneThreadDoNotMix) {
  std::vector<Store<>> stores;
  for (int i = 0; i < 5; ++i)
    stores.push_back(open(tiny(), "store" + std::to_string(i)));
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(stores[i].put("key" + std::to_string(round), std::to_string(i)));
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(stores[i].count(), 50u);
    for (int round = 0; round < 50; ++round)
      EXPECT_EQ(get(stores[i], "key" + std::to_string(round)), std::to_string(i));
    EXPECT_TRUE(stores[i].verify().ok());
  }
}

// A thread's first use of a store that was opened at the address of one that is gone.
TEST_P(ThreadSessions, OfAReopenedStoreAreNew) {
  for (int round = 0; round < 20; ++round) {
    auto store = open();
    ASSERT_TRUE(store.put("round", std::to_string(round)));
    EXPECT_EQ(store.stats().sessions, 1u);
    ASSERT_TRUE(store.close());
  }
  EXPECT_EQ(get(open(), "round"), "19");
}

}  // namespace
}  // namespace holdfast::kv
