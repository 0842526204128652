// What takes minutes or gigabytes. By hand and in full checks: kv_slow_test.
#include <cstdlib>

#include <holdfast/base/meminfo.hpp>

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
