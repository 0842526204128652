// Page stores that an older build left on a medium open, hold what was acknowledged, and go on.
#include <gtest/gtest.h>

#include <cstring>

#include "golden_pages.hpp"

namespace holdfast::blocks {
namespace {

class GoldenPages : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = read_golden(std::string(HOLDFAST_PAGE_GOLDENS) + "/" + GetParam() + ".hex");
    ASSERT_FALSE(bytes_.empty());
    RegionOptions options;
    options.access = RegionAccess::kCreate;
    options.size_bytes = options.unit_bytes = bytes_.size();
    region_.emplace(Region::open("dram", options).value());
    std::memcpy(region_->data(), bytes_.data(), bytes_.size());
  }
  bool unfinished() const { return std::string_view(GetParam()).starts_with("unfinished"); }
  std::vector<std::byte> expected(std::uint32_t page) const {
    return unfinished() && page == kGoldenChangedPage ? golden_changed_content()
                                                      : golden_content(page, 1);
  }

  void expect_contents(const PageStore& store) const {
    std::vector<std::byte> content(kGoldenPageBytes);
    for (std::uint32_t page = 0; page < kGoldenPages; ++page) {
      if (page == kGoldenFreedPage || page + 1 == kGoldenPages) {
        EXPECT_FALSE(store.contains(PageId{page})) << page;
      } else {
        EXPECT_TRUE(store.read(PageId{page}, content)) << page;
        EXPECT_EQ(content, expected(page)) << page;
      }
    }
  }

  std::string bytes_;
  std::optional<Region> region_;
};
INSTANTIATE_TEST_SUITE_P(Pages, GoldenPages,
                         testing::Values("whole.v2", "unfinished.v2", "whole.v3", "unfinished.v3"),
                         [](const auto& test) {
                           std::string name = test.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

TEST_P(GoldenPages, HoldWhatWasAcknowledged) {
  const auto store = PageStore::open(*region_, whole(*region_)).value();
  EXPECT_EQ(store->page_bytes(), kGoldenPageBytes);
  EXPECT_EQ(store->pages(), kGoldenPages);
  expect_contents(*store);
}

TEST_P(GoldenPages, GoOnInTheirOwnFormat) {
  {
    const auto store = PageStore::open(*region_, whole(*region_)).value();
    store->flush(PageId{kGoldenFreedPage}, golden_content(kGoldenFreedPage, 5)).value();
    store->free(PageId{0}).value();
  }
  // The superblock is as it was: the build that wrote it can read on.
  EXPECT_EQ(std::memcmp(region_->data(), bytes_.data(), kCacheLineBytes), 0);
  const auto store = PageStore::open(*region_, whole(*region_)).value();
  EXPECT_FALSE(store->contains(PageId{0}));
  std::vector<std::byte> content(kGoldenPageBytes);
  store->read(PageId{kGoldenFreedPage}, content).value();
  EXPECT_EQ(content, golden_content(kGoldenFreedPage, 5));
}

}  // namespace
}  // namespace holdfast::blocks
