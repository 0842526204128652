// Where a log may be made, and how many objects may hold it.
#include <gtest/gtest.h>

#include <cstring>

#include <holdfast/blocks/page/page_store.hpp>

#include "../memory/scratch.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

constexpr std::uint64_t kSegment = 8 * KiB;
LogOptions options() { return LogKind{}.options(kSegment, 2); }

template <class T>
void expect_error(const Result<T>& result, Errc code, const std::string& says) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.code(), code);
  EXPECT_NE(result.error().detail.find(says), std::string::npos) << result.error().detail;
}

TEST(LogCreation, RefusesToOverwriteALogAndReplacesItWhenAsked) {
  auto region = dram(256 * KiB);
  Log::create(region, whole(region), options()).value().append(bytes("precious")).value();
  expect_error(Log::create(region, whole(region), options()), Errc::kAlreadyExists, "a log");
  EXPECT_EQ(records(Log::open(region, whole(region)).value()),
            std::vector<std::string>{"precious"});
  EXPECT_TRUE(records(Log::replace(region, whole(region), options()).value()).empty());
  EXPECT_TRUE(records(Log::open(region, whole(region)).value()).empty());
}

TEST(LogCreation, RefusesToOverwriteAPageStoreAndIsNotOverwrittenByOne) {
  auto region = dram(4 * MiB);
  const Extent low{0, 2 * MiB}, high{2 * MiB, 2 * MiB};
  PageStoreOptions pages;
  pages.pages = 10;
  {
    const auto store = PageStore::create(region, low, pages).value();
  }
  expect_error(Log::create(region, low, options()), Errc::kAlreadyExists, "page store");
  expect_error(Log::open_or_create(region, low, options()), Errc::kAlreadyExists, "no log");
  EXPECT_TRUE(PageStore::open(region, low));
  {
    const auto log = Log::create(region, high, options()).value();
  }
  EXPECT_EQ(PageStore::create(region, high, pages).code(), Errc::kAlreadyExists);
  EXPECT_TRUE(Log::open(region, high));
}

TEST(LogCreation, OpenOrCreateMakesOneOnFreshMediaOnly) {
  auto region = dram(256 * KiB);
  Log::open_or_create(region, whole(region), options()).value().append(bytes("x")).value();
  {
    auto others = options();
    others.lanes = 7;
    const auto log = Log::open_or_create(region, whole(region), others).value();
    EXPECT_EQ(records(log), std::vector<std::string>{"x"});
    EXPECT_EQ(log.options().lanes, options().lanes);
  }
  // Damage is told, not replaced; nor is a file that is none of ours.
  region.data()[20] ^= std::byte{1};
  expect_error(Log::open_or_create(region, whole(region), options()), Errc::kCorrupt, "checksum");
  std::memcpy(region.data(), "%PDF-1.7", 8);
  expect_error(Log::open_or_create(region, whole(region), options()), Errc::kAlreadyExists,
               "Log::replace()");
  EXPECT_EQ(std::memcmp(region.data(), "%PDF-1.7", 8), 0);
}

// Both appended where the other one had, and half of what was acknowledged was gone.
TEST(LogSharing, ASecondObjectOverAnExtentThatOverlapsIsBusy) {
  auto region = dram(256 * KiB);
  const Extent low{0, 128 * KiB}, middle{64 * KiB, 128 * KiB}, high{128 * KiB, 128 * KiB};
  {
    auto log = Log::create(region, low, options()).value();
    expect_error(Log::open(region, low), Errc::kBusy, "a log");
    expect_error(Log::replace(region, low, options()), Errc::kBusy, "a log");
    expect_error(Log::open_or_create(region, low), Errc::kBusy, "a log");
    expect_error(Log::create(region, middle, options()), Errc::kBusy, "a log");
    EXPECT_TRUE(Log::create(region, high, options()));
    // The claim goes where the log goes.
    auto moved = std::move(log);
    expect_error(Log::open(region, low), Errc::kBusy, "a log");
    EXPECT_TRUE(moved.append(bytes("x")));
  }
  EXPECT_EQ(records(Log::open(region, low).value()), std::vector<std::string>{"x"});
}

TEST(LogSharing, ReadersOfAReadOnlyRegionDoNotShutOneAnotherOut) {
  const auto scratch = Scratch::tmpfs();
  RegionOptions region_options;
  region_options.layout = RegionLayout::kFile;
  region_options.size_bytes = region_options.unit_bytes = 256 * KiB;
  const auto spec = scratch.path("log") + "?granularity=line";
  {
    auto region = Region::open(spec, region_options).value();
    Log::create(region, whole(region), options()).value().append(bytes("x")).value();
  }
  region_options.access = RegionAccess::kOpenReadOnly;
  auto region = Region::open(spec, region_options).value();
  const auto one = Log::open(region, whole(region)).value();
  const auto other = Log::open(region, whole(region)).value();
  EXPECT_EQ(records(one), records(other));
}

}  // namespace
}  // namespace holdfast::blocks
