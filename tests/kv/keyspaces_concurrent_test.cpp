// Threads that use keyspaces beside others that drop them or write batches over several.
#include <atomic>
#include <chrono>
#include <thread>

#include <holdfast/kv/space.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

std::string value_of(const Space& space) {
  std::string value;
  EXPECT_TRUE(space.get("key", value));
  return value;
}

class KeyspacesConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, KeyspacesConcurrent, kEveryPlace, place_name);

// Each verb ends before the drop, or is refused.
TEST_P(KeyspacesConcurrent, WritersBesideADrop) {
  auto store = open();
  for (int round = 0; round < 5; ++round) {
    auto space = store.create_space("busy").value();
    std::vector<std::thread> writers;
    for (int w = 0; w < 3; ++w) {
      writers.emplace_back([&, w] {
        for (int i = 0;; ++i) {
          const auto put = space.put(std::to_string(w * 100'000 + i), text_of(i, 100));
          if (put) continue;
          EXPECT_EQ(put.code(), Errc::kClosed);
          break;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(store.drop_space("busy"));
    for (std::thread& writer : writers)
      writer.join();
    EXPECT_TRUE(store.verify().ok());
  }
  EXPECT_TRUE(store.spaces().empty());
}

// What a verb is walking through stays until it has ended.
TEST_P(KeyspacesConcurrent, ADropWaitsForAWalk) {
  auto store = open();
  auto space = store.create_space("walked").value();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(space.put(std::to_string(i), text_of(i, 100)));
  std::atomic<int> seen{0};
  std::thread walker([&] {
    EXPECT_TRUE(space.for_each([&](std::string_view, std::string_view, Version) {
      if (++seen == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return true;
    }));
  });
  while (seen == 0)
    std::this_thread::yield();
  EXPECT_TRUE(store.drop_space("walked"));
  EXPECT_EQ(seen, 100);
  walker.join();
}

// Readers of two spaces see a batch in both or in none.
TEST_P(KeyspacesConcurrent, ABatchBecomesVisibleInAllAtOnce) {
  auto store = open();
  auto one = store.create_space("one").value(), two = store.create_space("two").value();
  const auto both = [&](int i) {
    WriteBatch batch;
    batch.put(one, "key", std::to_string(i));
    batch.put(two, "key", std::to_string(i));
    return store.write(batch);
  };
  ASSERT_TRUE(both(0));
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      // What is read later is not older.
      const int first = std::stoi(value_of(one));
      const int second = std::stoi(value_of(two));
      const int third = std::stoi(value_of(one));
      EXPECT_LE(first, second);
      EXPECT_LE(second, third);
    }
  });
  const int batches = paged() ? 200 : 5'000;
  for (int i = 1; i <= batches; ++i)
    ASSERT_TRUE(both(i));
  done = true;
  reader.join();
}

}  // namespace
}  // namespace holdfast::kv
