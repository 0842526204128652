// What takes minutes or gigabytes. By hand and in full checks: kv_slow_test.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <holdfast/base/meminfo.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/kv/checkpoint.hpp>

#include "kept_checkpoints.hpp"
#include "space.hpp"

namespace holdfast::kv {
namespace {

TEST(Slow, ValueOfExactlyFourGiBComesBackAndOneByteMoreIsRefused) {
  if (meminfo("MemAvailable") < 12 * GiB) GTEST_SKIP() << "needs 12 GiB of free memory";
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options;
  options.block_bytes = 16 * MiB;
  options.segment_bytes = 1 * GiB;
  options.initial_bytes = 1 * GiB;
  auto store = Store<>::open(scratch.path("store"), options).value();
  std::string value(kMaxValueBytes + 1, 'v');
  const auto refused = store.put("large", value);
  ASSERT_EQ(refused.code(), Errc::kTooLarge);
  EXPECT_TRUE(mentions(refused.error(), "value of 4294967297 bytes; at most 4294967296"))
      << refused.error().detail;
  EXPECT_EQ(store.put_if_absent("large", value).code(), Errc::kTooLarge);
  EXPECT_EQ(store.count(), 0u);
  value.resize(kMaxValueBytes);
  for (std::size_t i = 0; i < value.size(); i += 4096)
    std::memcpy(value.data() + i, &i, sizeof i);
  const auto put = store.put("large", value);
  ASSERT_TRUE(put) << put.error().message();
  ASSERT_TRUE(store.close());
  store = Store<>::open(scratch.path("store"), options).value();
  const auto pinned = store.get_pinned("large");
  ASSERT_TRUE(pinned) << pinned.error().message();
  EXPECT_TRUE(pinned->value() == value);
  EXPECT_TRUE(store.verify().ok());
  EXPECT_EQ(store.get("large", std::span<std::byte>{}).value(), 4 * GiB);
}

// Scans, backups and checkpoints hold a snapshot for minutes while writes go on.
TEST(Slow, FiveMillionOverwritesUnderOneSnapshotFitIntoSixteenMiB) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options;
  options.max_bytes = 16 * MiB;
  options.segment_bytes = options.initial_bytes = 2 * MiB;
  auto store = Store<>::open(scratch.path("store") + "?granularity=line", options).value();
  Contents then;
  const auto key = [](int i) { return "key" + std::to_string(i); };
  for (int i = 0; i < 1'000; ++i)
    ASSERT_TRUE(store.put(key(i), then[key(i)] = text_of(i, 1'000)));
  const Snapshot snapshot = store.snapshot();
  std::string value(1'000, 'v');
  for (int i = 0; i < 5'000'000; ++i) {
    std::memcpy(value.data(), &i, sizeof i);
    const auto put = store.put(key(i % 1'000), value);
    ASSERT_TRUE(put) << i << ": " << put.error().message();
  }
  EXPECT_TRUE(contents_of(snapshot) == then);
}

// Two writers at full speed that stand for a moment now and then: in it a checkpoint and a snapshot
// are taken. Runs are copied while they write on. HOLDFAST_TEST_SECONDS: another time.
TEST(Slow, CheckpointsUnderFullLoadAreTheSnapshotsOfTheirMoments) {
  const Scratch scratch = Scratch::tmpfs();
  const char* given = std::getenv("HOLDFAST_TEST_SECONDS");
  const std::chrono::seconds time(given != nullptr ? std::atoi(given) : 120);
  auto store = Store<>::open(scratch.path("store") + "?granularity=line").value();
  constexpr int kWriters = 2;
  std::atomic<bool> rest{false}, stop{false};
  std::atomic<int> resting{0};
  std::atomic<std::uint64_t> writes{0};
  const auto write = [&](std::uint64_t seed) {
    Random random(seed);
    for (std::uint64_t i = 0; !stop; ++i) {
      if (rest) {
        ++resting;
        while (rest)
          std::this_thread::yield();
        --resting;
      }
      const std::string key = "key" + std::to_string(random.below(100'000));
      const auto choice = random.below(10);
      if (choice < 7) {
        ASSERT_TRUE(store.put(key, text_of(i, 50 + i % 300)));
      } else if (choice < 8) {
        ASSERT_TRUE(store.append(key, text_of(i, 40)));
      } else {
        const auto erased = store.erase(key);
        ASSERT_TRUE(erased || erased.code() == Errc::kNotFound);
      }
      ++writes;
    }
  };
  std::vector<std::thread> writers;
  for (std::uint64_t i = 0; i < kWriters; ++i)
    writers.emplace_back(write, i + 1);
  Kept kept;
  int rounds = 0;
  const auto end = std::chrono::steady_clock::now() + time;
  for (; std::chrono::steady_clock::now() < end && !testing::Test::HasFailure(); ++rounds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    rest = true;
    while (resting != kWriters && !testing::Test::HasFailure())
      std::this_thread::yield();
    const Snapshot snapshot = store.snapshot();
    const Checkpoint checkpoint = store.checkpoint().value();
    rest = false;
    kept.take(checkpoint);
    std::erase_if(kept.runs, [&](const auto& run) {
      return std::ranges::none_of(checkpoint.runs(),
                                  [&](const auto& one) { return one.name == run.first; });
    });
    const std::string copy_at = scratch.path("copy");
    std::filesystem::remove_all(copy_at);
    ASSERT_TRUE(kept.restore_to(copy_at + "?granularity=line"));
    auto copy = Store<>::open(copy_at + "?granularity=line").value();
    EXPECT_TRUE(contents_of(copy) == contents_of(snapshot)) << "round " << rounds;
    while (resting != 0)
      std::this_thread::yield();
  }
  stop = true;
  for (auto& writer : writers)
    writer.join();
  std::printf("%d checkpoints beside %llu writes\n", rounds,
              static_cast<unsigned long long>(writes.load()));
  EXPECT_GT(rounds, 0);
}

// 100 M keys put and erased over 1 M that never change. HOLDFAST_TEST_KEYS: another number of them.
TEST(Slow, HundredMillionShortLivedKeysOverAMillionColdOnesStayBounded) {
  const Scratch scratch = Scratch::tmpfs();
  const char* given = std::getenv("HOLDFAST_TEST_KEYS");
  const ColdAndShortLived load{
      .cold = 1'000'000, .short_lived = given ? std::strtoull(given, nullptr, 10) : 100'000'000};
  StoreOptions options;
  options.max_bytes = 1 * GiB;  // For 183 MiB that live; 38 GiB are written.
  auto store = Store<>::open(scratch.path("store") + "?granularity=line", options).value();
  const auto peak = run(store, load);
  std::printf("peak: %.0f MiB in use for %.0f MiB live\n",
              static_cast<double>(peak.used_bytes) / MiB,
              static_cast<double>(peak.live_bytes) / MiB);
  EXPECT_LE(peak.medium_bytes, options.max_bytes);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(store.reclaim());
  const auto stats = store.stats();
  EXPECT_LT(static_cast<double>(stats.used_bytes),
            1.25 * static_cast<double>(stats.live_bytes) + 16.0 * 256 * KiB);
  EXPECT_LT(stats.medium_bytes, stats.used_bytes + 4 * 64 * MiB);
  expect_cold(store, load);
}

}  // namespace
}  // namespace holdfast::kv
