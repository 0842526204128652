// Two objects of one process never get overlapping ranges of a region.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

Region memory() { return Region::open("dram", with(RegionAccess::kCreate)).value(); }

TEST(Claims, ARangeIsGrantedOnceUntilItIsGivenBack) {
  auto region = memory();
  {
    const auto first = region.claim({0, 8192}, "log").value();
    const auto second = region.claim({0, 8192}, "page store");
    ASSERT_EQ(second.code(), Errc::kBusy);
    const auto& text = second.error().detail;
    EXPECT_TRUE(text.starts_with("page store: bytes 0 to 8192 of the region")) << text;
    EXPECT_NE(text.find("(log)"), std::string::npos) << text;
  }
  EXPECT_TRUE(region.claim({0, 8192}, "page store"));
}

TEST(Claims, RangesThatShareAByteOverlapAndNeighboursDoNot) {
  auto region = memory();
  const auto middle = region.claim({8192, 4096}, "middle").value();
  const struct {
    Extent extent;
    bool granted;
  } cases[] = {
      {{0, 8192}, true},     {{0, 8193}, false},  {{12288, 4096}, true},  {{12287, 1}, false},
      {{8192, 4096}, false}, {{9000, 10}, false}, {{4096, 20480}, false}, {{0, 4 * MiB}, false},
  };
  for (const auto& [extent, granted] : cases)
    EXPECT_EQ(region.claim(extent, "other").has_value(), granted)
        << extent.offset_bytes << " " << extent.size_bytes;
}

TEST(Claims, WhatLiesOutsideOfTheRegionOrIsEmptyIsRefused) {
  auto region = memory();
  EXPECT_EQ(region.claim({4 * MiB, 4096}, "log").code(), Errc::kInvalidOption);
  EXPECT_EQ(region.claim({~std::uint64_t{0} - 4095, 8192}, "log").code(), Errc::kInvalidOption);
  EXPECT_EQ(region.claim({0, 0}, "log").code(), Errc::kInvalidOption);
}

TEST(Claims, AClaimMovesWithItsHolderAndOutlivesTheRegion) {
  auto region = memory();
  Claim holder;
  {
    auto made = region.claim({0, 4096}, "log").value();
    holder = std::move(made);
  }
  auto moved = std::move(region);
  EXPECT_EQ(moved.claim({0, 4096}, "log").code(), Errc::kBusy);
  holder = moved.claim({4096, 4096}, "log").value();  // Gives the first one back.
  EXPECT_TRUE(moved.claim({0, 4096}, "log"));
  {
    const auto gone = std::move(moved);
  }
  holder.release();
  holder.release();
}

TEST(Claims, ObjectsThatOnlyReadShareARange) {
  const auto scratch = Scratch::tmpfs();
  {
    Region::open(scratch.path("file"), small(RegionLayout::kFile)).value();
  }
  auto region = Region::open(scratch.path("file"), with(RegionAccess::kOpenReadOnly)).value();
  const auto first = region.claim({0, 4096}, "log").value();
  EXPECT_TRUE(region.claim({0, 8192}, "log"));
}

TEST(Claims, OfManyThreadsOneGetsARange) {
  auto region = memory();
  std::atomic<int> inside{0}, granted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1'000; ++round) {
        const auto claim = region.claim({0, 4096}, "log");
        if (!claim) continue;
        EXPECT_EQ(inside.fetch_add(1), 0);
        inside.fetch_sub(1);
        granted.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_GT(granted.load(), 0);
}

}  // namespace
}  // namespace holdfast
