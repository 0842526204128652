// A log without memory for what it is asked to do.
#include <gtest/gtest.h>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/log/log.hpp>

#include "../base/allocations.hpp"

namespace holdfast::blocks {
namespace {

// Free segments of a log that is cut, after a reader whose n-th allocation failed; it says whether
// that came.
std::uint64_t free_after_reader(std::size_t nth, bool& failed) {
  RegionOptions of_region;
  of_region.size_bytes = of_region.unit_bytes = 1 * MiB;
  auto region = Region::open("dram?granularity=line", of_region).value();
  LogOptions options;
  options.segment_bytes = 64 * KiB;
  options.lanes = 2;
  auto log = Log::create(region, whole(region), options).value();
  const std::vector<std::byte> record(10'000, std::byte{1});
  for (int i = 0; i < 40; ++i)
    log.append(record).value();
  failed = fails_at(nth, [&] { const auto reader = log.read(); });
  log.truncate({log.stable().value + 1}).value();
  return log.free_segments();
}

// What it had pinned stayed so, and its segments were never used again.
TEST(LogWithoutMemory, AReaderThatFailsKeepsNoSegment) {
  bool failed = false;
  const auto expected = free_after_reader(0, failed);
  std::size_t nth = 1;
  for (failed = true; failed; ++nth)
    EXPECT_EQ(free_after_reader(nth, failed), expected) << nth;
  EXPECT_GT(nth, 3u);
}

}  // namespace
}  // namespace holdfast::blocks
