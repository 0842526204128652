#include <holdfast/bench/calibration.hpp>

#include <algorithm>

#include <gtest/gtest.h>

#include <holdfast/results/environment.hpp>

namespace holdfast::bench {
namespace {

Limits limits() {
  Limits limits;
  limits.cache_read_bytes_per_s = 100e9;
  limits.memory_read_bytes_per_s = 10e9;
  limits.persist_line_ns = 150;
  return limits;
}

results::Row reading(double bytes_per_s) {
  results::Row row("holdfast", "get", 2);
  row.set("bytes_per_s_median", bytes_per_s);
  return row;
}

TEST(Calibration, AReadFasterThanTheCacheIsInvalidAtAnySize) {
  auto row = reading(301e9);
  check_against_limits(row, limits(), 1000);
  EXPECT_FALSE(row.valid());
  row = reading(299e9);
  check_against_limits(row, limits(), 1000);
  EXPECT_TRUE(row.valid());
}

TEST(Calibration, AReadFasterThanMemoryIsInvalidOnlyIfItCannotComeFromTheCache) {
  auto row = reading(31e9);
  check_against_limits(row, limits(), 1000);
  EXPECT_TRUE(row.valid());
  check_against_limits(row, limits(), 4 * results::last_level_cache_bytes());
  EXPECT_FALSE(row.valid());
}

TEST(Calibration, FencesThatWaitedForNothingAreInvalid) {
  results::Row row("holdfast", "put", 1);
  row.set("fences_per_op", 1.0);
  row.set("ns_per_op_median", 40.0);
  check_against_limits(row, limits(), 1000);
  EXPECT_FALSE(row.valid());
  results::Row honest("holdfast", "put", 1);
  honest.set("fences_per_op", 1.0);
  honest.set("ns_per_op_median", 120.0);
  check_against_limits(honest, limits(), 1000);
  EXPECT_TRUE(honest.valid()) << honest.invalid_reason();
}

// BEN-7: 512 MiB whatever there was; a container of as much was killed.
TEST(Calibration, TakesAtMostAnEighthOfTheMemoryThatThisProcessMayHave) {
  const auto before = results::available_memory_bytes();
  const auto bytes = calibration_bytes();
  const auto available = std::max(before, results::available_memory_bytes());
  EXPECT_LE(bytes, std::max<std::uint64_t>(8 * MiB, available / 8));
  EXPECT_LE(bytes, std::max<std::uint64_t>(64 * MiB, 4 * results::last_level_cache_bytes()));
}

TEST(Calibration, MeasuresEveryLimitOfThisMachine) {
  const auto measured = calibrate(Persist::none());
  EXPECT_GT(measured.cache_read_bytes_per_s, 0);
  EXPECT_GT(measured.memory_read_bytes_per_s, 0);
  EXPECT_GT(measured.memory_write_bytes_per_s, 0);
  EXPECT_GT(measured.dependent_read_ns, 0);
  EXPECT_EQ(measured.persist_line_ns, 0);
  EXPECT_GT(measured.fields().number("seconds"), 0);
}

// A chain that lies in the first-level cache never misses, so nothing is to be seen.
TEST(CoreWindow, IsSeenByMissesOnly) {
  std::vector<std::uint64_t> few(8 * 64);
  for (std::uint64_t line = 0; line < 64; ++line)
    few[line * 8] = (line + 1) % 64;
  const auto none = core_window(few);
  results::Fields fields;
  none.add_to(fields);
  // Only that many instructions between two reads make a difference then.
  EXPECT_TRUE(none.usual == 0 || none.best <= 32) << none.usual << ' ' << none.best;
  EXPECT_EQ(fields.empty(), none.usual == 0);
}

}  // namespace
}  // namespace holdfast::bench
