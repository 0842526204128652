// What a block may be given as its place in a region.
#include <gtest/gtest.h>

#include <holdfast/blocks/extent.hpp>

namespace holdfast::blocks {
namespace {

TEST(Extent, LiesInItsRegionAndIsAligned) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = 64 * KiB;
  const auto region = Region::open("dram", options).value();
  EXPECT_TRUE(check_extent("log", region, whole(region)));
  EXPECT_TRUE(check_extent("log", region, {4096, 60 * KiB}));
  for (const Extent& bad :
       {Extent{0, 0}, Extent{8, 4096}, Extent{0, 4095}, Extent{0, 68 * KiB}, Extent{64 * KiB, 4096},
        Extent{~std::uint64_t{0} & ~std::uint64_t{4095}, 8192}}) {
    const auto status = check_extent("log", region, bad);
    ASSERT_FALSE(status) << bad.offset_bytes << " " << bad.size_bytes;
    EXPECT_EQ(status.code(), Errc::kInvalidOption);
    EXPECT_TRUE(status.error().detail.starts_with("log: extent.")) << status.error().detail;
  }
}

}  // namespace
}  // namespace holdfast::blocks
