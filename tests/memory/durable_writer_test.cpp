// What a DurableWriter costs and where its bytes go, by granularity. That they are durable in
// order: superblock_crash_test.cpp.
#include <holdfast/memory/durable_writer.hpp>

#include <gtest/gtest.h>

#include <fstream>

#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

class DurableWriters : public testing::TestWithParam<const char*> {
 protected:
  std::string granularity() const { return GetParam(); }
  Region region(RegionAccess access = RegionAccess::kOpenOrCreate) const {
    auto options = with(access, small(RegionLayout::kFile));
    return Region::open(scratch_.path("file") + "?granularity=" + granularity(), options).value();
  }
  Scratch scratch_ = Scratch::tmpfs();
};
INSTANTIATE_TEST_SUITE_P(Media, DurableWriters, testing::Values("byte", "line", "page", "none"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(DurableWriters, BytesAndWordsArriveWhereTheExtentSays) {
  auto medium = region();
  const DurableWriter writer(medium, {8192, 4096});
  EXPECT_EQ(writer.paged(), granularity() == "page");
  writer.put(100, bytes("hello")).value();
  writer.put_word(8, 0x1122334455667788).value();
  writer.order().value();
  EXPECT_EQ(text_at(medium, 8192 + 100, 5), "hello");
  EXPECT_EQ(writer.word(8), 0x1122334455667788u);
  EXPECT_EQ(text_at(medium, 8192 + 8, 1), "\x88");
  EXPECT_EQ(writer.at(100), medium.data() + 8292);
  EXPECT_EQ(text_at(medium, 8192 + 99, 1)[0], '\0');
  EXPECT_EQ(text_at(medium, 8192 + 105, 1)[0], '\0');
}

TEST_P(DurableWriters, CostWriteBacksOnLineMediaAndAFenceOnByteMediaToo) {
  auto medium = region();
  const DurableWriter writer(medium);
  const auto before = persist_counts();
  writer.put(60, bytes("two lines")).value();
  writer.put_word(4096, 1).value();
  const auto put = persist_counts();
  writer.order().value();
  EXPECT_EQ(put.fences, before.fences);
  EXPECT_EQ(put.lines_written_back - before.lines_written_back, granularity() == "line" ? 3u : 0u);
  EXPECT_EQ(persist_counts().fences - put.fences,
            granularity() == "line" || granularity() == "byte" ? 1u : 0u);
}

TEST_P(DurableWriters, AReadOnlyRegionIsAnErrorAndNotACrash) {
  {
    region();
  }
  auto medium = region(RegionAccess::kOpenReadOnly);
  const DurableWriter writer(medium);
  EXPECT_EQ(writer.put(0, bytes("x")).code(), Errc::kReadOnly);
  EXPECT_EQ(writer.put_word(0, 1).code(), Errc::kReadOnly);
  EXPECT_EQ(writer.word(0), 0u);
}

}  // namespace
}  // namespace holdfast
