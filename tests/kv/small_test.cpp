// Small stores: all room of the medium is there for each purpose.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace holdfast::kv {
namespace {

class Small : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, Small, kEveryPlace, place_name);

// KV-10: each session took a block for good, so that 200 threads filled a store of 128 blocks that
// holds 200 records.
TEST_P(Small, MoreSessionsThanBlocksHaveRoom) {
  constexpr int kThreads = 200;
  for (const bool background : {false, true}) {
    StoreOptions options = tiny();
    options.max_bytes = 1 * MiB;
    options.background = background;
    const std::string name = background ? "with" : "without";
    auto store = open(options, name);
    std::atomic<int> wrote{0};
    std::vector<std::string> refused(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const auto put = store.put("key" + std::to_string(i), "v");
        if (!put) refused[i] = put.error().message();
        // Every session lives until all have written.
        ++wrote;
        while (wrote < kThreads)
          std::this_thread::yield();
      });
    }
    for (auto& thread : threads)
      thread.join();
    Contents expected;
    for (int i = 0; i < kThreads; ++i) {
      EXPECT_EQ(refused[i], "") << i;
      expected["key" + std::to_string(i)] = "v";
    }
    expect_contents(store, expected);
  }
}

// KV-10: 500 threads that had ended left 502 blocks open.
TEST_P(Small, ThreadsThatEndedHoldNoBlocks) {
  auto store = open();
  std::atomic<int> wrote{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&, i] {
      ASSERT_TRUE(store.put("key" + std::to_string(i), "v"));
      ++wrote;
      while (wrote < 100)
        std::this_thread::yield();
    });
  }
  for (auto& thread : threads)
    thread.join();
  ASSERT_TRUE(store.reclaim());
  EXPECT_LE(store.stats().open_blocks, 3u);
  EXPECT_LT(store.stats().used_bytes, 8 * 8 * KiB);
}

// KV-13: a value of several blocks was refused where the free blocks did not lie side by side.
TEST_P(Small, AValueOfManyBlocksFindsRoomAmongScatteredRecords) {
  StoreOptions options = tiny();
  options.max_bytes = 1 * MiB;
  auto store = open(options);
  Contents expected;
  // 40 blocks live, each among others that die.
  for (int i = 0; i < 110; ++i)
    ASSERT_TRUE(store.put("block" + std::to_string(i), text_of(i, 6000))) << i;
  for (int i = 0; i < 110; ++i) {
    const std::string key = "block" + std::to_string(i);
    if (i % 3 == 0)
      expected[key] = text_of(i, 6000);
    else
      ASSERT_TRUE(store.erase(key));
  }
  expected["large"] = text_of(1000, 300'000);
  const auto put = store.put("large", expected["large"]);
  EXPECT_TRUE(put) << put.error().message();
  expect_contents(store, expected);
}

// KV-13: of two limits that contradict each other both are named.
TEST(SmallOptions, AContradictionNamesBothLimits) {
  StoreOptions options = tiny();
  options.initial_bytes = 4 * MiB;
  options.max_bytes = 1 * MiB;
  const auto refused = options.validate();
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(refused.error(), "initial_bytes=4194304")) << refused.error().message();
  EXPECT_TRUE(mentions(refused.error(), "max_bytes=1048576")) << refused.error().message();
}

// A block of the table describes so many blocks, and no run crosses it: 4 MiB of 8 KiB blocks.
TEST_P(Small, AValueThatItsBlocksDoNotHoldIsRefusedWithTheWayOut) {
  auto store = open();
  const std::string large = text_of(1, 5 * MiB), part = large.substr(0, 1 * MiB);
  const auto expect_refused = [](const auto& outcome) {
    EXPECT_EQ(outcome.code(), Errc::kTooLarge);
    for (const char* said : {"takes 5251072 bytes", "block_bytes=8192", "4186112", "append()"})
      EXPECT_TRUE(mentions(outcome.error(), said)) << outcome.error().detail;
  };
  expect_refused(store.put("key", large));
  ASSERT_TRUE(store.put("key", part));
  expect_refused(store.update("key", [&](std::string& value) { value = large; }));
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(store.append("key", part));
  expect_contents(store, {{"key", part + part + part + part + part}});
  expect_refused(store.update("key", [&](std::string& value) { value = large; }));
  expect_contents(store, {{"key", part + part + part + part + part}});
  ASSERT_TRUE(store.put("fits", large.substr(0, 4'100'000)));
}

}  // namespace
}  // namespace holdfast::kv
