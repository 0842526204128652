// Logs in a region that was opened read-only: they are read as far as they are whole, and every
// verb that writes is refused.
#include <gtest/gtest.h>

#include "../memory/scratch.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

constexpr std::uint64_t kSegment = 8 * KiB;

// By medium: a mapping that may not be written to ends the process where a write is not refused.
class ReadOnlyLog : public testing::TestWithParam<const char*> {
 protected:
  Region region(RegionAccess access) const {
    RegionOptions options;
    options.access = access;
    options.layout = RegionLayout::kFile;
    options.size_bytes = options.unit_bytes = options.reserve_bytes = kPageBytes + 4 * kSegment;
    return Region::open(scratch_.path("log") + "?granularity=" + GetParam(), options).value();
  }
  static LogOptions options() { return LogKind{}.options(kSegment, 2); }
  // Leaves a log with these records.
  std::vector<std::string> make() const {
    auto region = this->region(RegionAccess::kCreate);
    auto log = Log::create(region, whole(region), options()).value();
    std::vector<std::string> expected;
    for (std::uint64_t i = 0; i < 60; ++i) {
      expected.push_back(pattern(i, 200));
      log.append(bytes(expected.back())).value();
    }
    log.sync().value();
    return expected;
  }
  const Scratch scratch_ = Scratch::tmpfs();
};
INSTANTIATE_TEST_SUITE_P(Media, ReadOnlyLog, testing::Values("line", "byte", "page"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(ReadOnlyLog, IsReadAndRefusesEveryVerbThatWrites) {
  const auto expected = make();
  auto region = this->region(RegionAccess::kOpenReadOnly);
  const std::vector<std::byte> before(region.data(), region.data() + region.size_bytes());
  auto log = Log::open(region, whole(region)).value();
  EXPECT_EQ(records(log), expected);
  const auto refused = [](const auto& result) {
    EXPECT_EQ(result.code(), Errc::kReadOnly);
    EXPECT_NE(result.error().detail.find("read-only"), std::string::npos);
  };
  refused(log.append(bytes("no")));
  const std::vector<Record> group{bytes("no"), bytes("nor this")};
  refused(log.append_many(group));
  refused(log.appender());
  refused(log.truncate(log.stable()));
  refused(Log::create(region, whole(region), options()));
  EXPECT_TRUE(log.sync());
  EXPECT_EQ(records(log), expected);
  EXPECT_EQ(std::vector(region.data(), region.data() + region.size_bytes()), before);
}

// Its next opening for writing makes the tail durable and repairs it; a reader leaves it as it is.
TEST_P(ReadOnlyLog, ATornTailIsReadUpToWhereItIsWholeAndStays) {
  const auto expected = make();
  {
    auto region = this->region(RegionAccess::kOpen);
    auto log = Log::open(region, whole(region)).value();
    log.append(bytes(pattern(1'000, 500))).value();
    log.sync().value();
  }
  std::vector<std::byte> before;
  {
    auto region = this->region(RegionAccess::kOpen);
    // The record's end, which is the last that is not zero behind the header page.
    auto at = region.size_bytes();
    while (region.data()[at - 1] == std::byte{0})
      --at;
    const std::byte zero{};
    region.write(at - 1, {&zero, 1}).value();
    region.sync().value();
    before.assign(region.data(), region.data() + region.size_bytes());
  }
  auto region = this->region(RegionAccess::kOpenReadOnly);
  auto log = Log::open(region, whole(region)).value();
  EXPECT_EQ(records(log), expected);
  EXPECT_EQ(log.append(bytes("no")).code(), Errc::kReadOnly);
  EXPECT_EQ(std::vector(region.data(), region.data() + region.size_bytes()), before);
}

}  // namespace
}  // namespace holdfast::blocks
