// What the map takes from the system.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {
namespace {

#ifdef HF_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

std::uint64_t anonymous_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.rfind("Anonymous:", 0) == 0)
      return std::strtoull(line.c_str() + 10, nullptr, 10) * KiB;
  }
  return 0;
}

TEST(OffsetMapSize, AnEmptyMapOfTheLeastPartitionsStaysBelow400KiB) {
  EpochDomain domain;
  const std::uint64_t before = anonymous_bytes();
  auto map = OffsetMap::create(domain).value();
  ASSERT_EQ(map->partitions(), 1024u);
  EXPECT_LT(map->dram_bytes(), 400 * KiB);
  if (!kSanitized && before != 0) {
    EXPECT_LT(anonymous_bytes() - before, 400 * KiB);
  }
}

class OffsetMapSizeAt : public testing::TestWithParam<std::uint32_t> {};

// The mean over a cycle of growth (a factor of 1.25 in records) up to 10 M, and the worst moment.
TEST_P(OffsetMapSizeAt, TenMillionKeysTakeAtMostTwelveBytesEach) {
  const std::uint64_t records = kSanitized ? 1'000'000 : 10'000'000;
  EpochDomain domain;
  auto participant = domain.join();
  const std::uint64_t before = anonymous_bytes();
  auto map = OffsetMap::create(domain, {.partitions = GetParam()}).value();
  double sum = 0, worst = 0;
  std::uint64_t samples = 0;
  for (std::uint64_t key = 1; key <= records; ++key) {
    const auto guard = domain.enter(participant);
    while (!map->latch(mixed(key)).insert(Line{key}))
      ASSERT_TRUE(map->grow(mixed(key)));
    if (key > records / 5 * 4 && key % (records / 1'000) == 0) {
      const double bytes = static_cast<double>(map->dram_bytes()) / static_cast<double>(key);
      sum += bytes, ++samples, worst = std::max(worst, bytes);
    }
  }
  domain.collect();
  const double mean = sum / static_cast<double>(samples);
  const double resident =
      static_cast<double>(anonymous_bytes() - before) / static_cast<double>(records);
  std::printf(
      "%u partitions: %.2f bytes per key in the mean, %.2f at worst, %.2f resident at the end; "
      "load %.3f\n",
      map->partitions(), mean, worst, resident,
      static_cast<double>(records) / static_cast<double>(map->slots()));
  EXPECT_EQ(map->size(), records);
  if (kSanitized) return;  // At a tenth of the size fixed costs show.
  EXPECT_LT(mean, 11.5);
  EXPECT_LT(worst, 12.0);
  EXPECT_LT(resident, 12.0);
}

INSTANTIATE_TEST_SUITE_P(Partitions, OffsetMapSizeAt, testing::Values(1024u, 4096u));

}  // namespace
}  // namespace holdfast::index
