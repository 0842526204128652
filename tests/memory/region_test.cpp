// The verbs of Region on every place that this machine has: anonymous memory, tmpfs, a file system.
#include <holdfast/memory/region.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "scratch.hpp"

namespace holdfast {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string text_at(const Region& region, std::uint64_t offset, std::size_t length) {
  return {reinterpret_cast<const char*>(region.data()) + offset, length};
}

RegionOptions small(RegionLayout layout = RegionLayout::kDirectory) {
  RegionOptions options;
  options.layout = layout;
  options.size_bytes = 4 * MiB;
  options.unit_bytes = 2 * MiB;
  return options;
}

RegionOptions with(RegionAccess access, RegionOptions options = small()) {
  options.access = access;
  return options;
}

struct Place {
  std::string name;
  bool on_disk;  // In the working directory; else on tmpfs.
  RegionLayout layout;
  std::string options;
};

class RegionOn : public testing::TestWithParam<Place> {
 protected:
  Scratch scratch{GetParam().on_disk ? Scratch::disk() : Scratch::tmpfs()};
  std::string spec = scratch.path("region") + GetParam().options;
  RegionOptions options = small(GetParam().layout);
};

TEST_P(RegionOn, KeepsWhatWasWrittenAfterReopening) {
  {
    auto region = Region::open(spec, options).value();
    EXPECT_EQ(region.size_bytes(), 4 * MiB);
    ASSERT_TRUE(region.write(2 * MiB - 3, bytes("across the border")));
    ASSERT_TRUE(region.sync());
    EXPECT_EQ(text_at(region, 2 * MiB - 3, 17), "across the border");
  }
  auto region = Region::open(spec, with(RegionAccess::kOpen, options)).value();
  EXPECT_EQ(region.size_bytes(), 4 * MiB);
  EXPECT_EQ(text_at(region, 2 * MiB - 3, 17), "across the border");
}

TEST_P(RegionOn, GathersBuffersAcrossFiles) {
  auto region = Region::open(spec, options).value();
  const std::string large(3 * MiB, 'x');
  const std::span<const std::byte> buffers[] = {bytes("ab"), bytes(""), bytes(large), bytes("yz"),
                                                bytes("")};
  ASSERT_TRUE(region.write(1000, buffers));
  EXPECT_EQ(text_at(region, 1000, large.size() + 4), "ab" + large + "yz");
  EXPECT_EQ(text_at(region, 999, 1), std::string(1, '\0'));
  EXPECT_EQ(text_at(region, 1004 + large.size(), 1), std::string(1, '\0'));
}

TEST_P(RegionOn, GrowsWithZerosInPlaceAndShrinksAgain) {
  auto region = Region::open(spec, options).value();
  const auto* data = region.data();
  ASSERT_TRUE(region.write(0, bytes("stays")));
  ASSERT_TRUE(region.grow(10 * MiB));
  EXPECT_EQ(region.data(), data);
  EXPECT_EQ(region.size_bytes(), 10 * MiB);
  for (auto at = 4 * MiB; at < 10 * MiB; at += 8) {
    ASSERT_EQ(Persist::load(reinterpret_cast<const std::uint64_t*>(data + at)), 0u) << at;
  }
  ASSERT_TRUE(region.write(10 * MiB - 4, bytes("last")));
  ASSERT_TRUE(region.sync());
  ASSERT_TRUE(region.shrink(2 * MiB));
  EXPECT_EQ(region.size_bytes(), 2 * MiB);
  ASSERT_TRUE(region.sync());
  ASSERT_TRUE(region.grow(10 * MiB));
  EXPECT_EQ(text_at(region, 10 * MiB - 4, 4), std::string(4, '\0'));
  EXPECT_EQ(text_at(region, 0, 5), "stays");
  region = Region::open("dram", small()).value();  // Closes it.
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kOpen, options)).value().size_bytes(), 10 * MiB);
}

TEST_P(RegionOn, PrefaultChangesNothing) {
  options.prefault = true;
  auto region = Region::open(spec, options).value();
  ASSERT_TRUE(region.write(4 * MiB - 5, bytes("there")));
  ASSERT_TRUE(region.prefault(0, region.size_bytes()));
  ASSERT_TRUE(region.prefault(4 * MiB - 1, 1));
  ASSERT_TRUE(region.prefault(0, 0));
  EXPECT_EQ(text_at(region, 4 * MiB - 5, 5), "there");
  EXPECT_EQ(region.prefault(0, 4 * MiB + 1).code(), Errc::kInvalidOption);
}

TEST_P(RegionOn, ReadOnlyOpensShareAndWriteNothing) {
  { ASSERT_TRUE(Region::open(spec, options).value().write(0, bytes("seen"))); }
  auto first = Region::open(spec, with(RegionAccess::kOpenReadOnly, options)).value();
  auto second = Region::open(spec, with(RegionAccess::kOpenReadOnly, options)).value();
  EXPECT_EQ(text_at(second, 0, 4), "seen");
  EXPECT_TRUE(second.read_only());
  EXPECT_EQ(second.write(0, bytes("no")).code(), Errc::kReadOnly);
  EXPECT_EQ(second.grow(8 * MiB).code(), Errc::kReadOnly);
  EXPECT_EQ(second.shrink(2 * MiB).code(), Errc::kReadOnly);
  EXPECT_TRUE(second.prefault(0, 4 * MiB));
  EXPECT_TRUE(second.sync());
  const auto refused = Region::open(spec, options);
  ASSERT_EQ(refused.code(), Errc::kBusy);
  EXPECT_NE(refused.error().detail.find(std::to_string(getpid())), std::string::npos)
      << refused.error().detail;
}

TEST_P(RegionOn, AccessModesAreKept) {
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kOpen, options)).code(), Errc::kNotFound);
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kOpenReadOnly, options)).code(), Errc::kNotFound);
  EXPECT_TRUE(scratch.empty());
  { ASSERT_TRUE(Region::open(spec, with(RegionAccess::kCreate, options))); }
  EXPECT_EQ(Region::open(spec, with(RegionAccess::kCreate, options)).code(), Errc::kAlreadyExists);
  EXPECT_TRUE(Region::open(spec, with(RegionAccess::kOpenOrCreate, options)));
}

TEST_P(RegionOn, RefusesRangesAndSizesThatDoNotFit) {
  auto region = Region::open(spec, options).value();
  EXPECT_EQ(region.write(4 * MiB - 1, bytes("ab")).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.write(~std::uint64_t{0}, bytes("ab")).code(), Errc::kInvalidOption);
  EXPECT_TRUE(region.write(4 * MiB, bytes("")));
  EXPECT_EQ(region.grow(5 * MiB).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.grow(2 * MiB).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.shrink(0).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.shrink(6 * MiB).code(), Errc::kInvalidOption);
  EXPECT_EQ(region.grow(region.max_size_bytes() + 2 * MiB).code(), Errc::kNoSpace);
  EXPECT_EQ(region.size_bytes(), 4 * MiB);
}

INSTANTIATE_TEST_SUITE_P(
    Places, RegionOn,
    testing::Values(Place{"TmpfsDirectory", false, RegionLayout::kDirectory, ""},
                    Place{"TmpfsFile", false, RegionLayout::kFile, ""},
                    Place{"TmpfsLine", false, RegionLayout::kDirectory, "?granularity=line"},
                    Place{"TmpfsLineFileSmallPages", false, RegionLayout::kFile, "?granularity=line&huge=off"},
                    Place{"TmpfsByte", false, RegionLayout::kDirectory, "?granularity=byte"},
                    Place{"TmpfsPage", false, RegionLayout::kDirectory, "?granularity=page"},
                    Place{"DiskDirectory", true, RegionLayout::kDirectory, ""},
                    Place{"DiskFile", true, RegionLayout::kFile, ""},
                    Place{"DiskLine", true, RegionLayout::kFile, "?granularity=line"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace holdfast
