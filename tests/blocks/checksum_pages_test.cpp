// Pages with checksums on ordinary memory: a dull model, and any bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include <holdfast/base/random.hpp>
#include <holdfast/baselines/checksum_pages.hpp>

namespace holdfast::blocks {
namespace {

using namespace holdfast::baselines;  // NOLINT: what this tests.

using Content = std::vector<std::byte>;
constexpr std::uint32_t kPages = 16, kBytes = 512;

Region memory() {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = 64 * KiB;
  return Region::open("dram?granularity=line", options).value();
}

std::unique_ptr<ChecksumPages> create(Region& region) {
  ChecksumPagesOptions options;
  options.page_bytes = kBytes;
  options.pages = kPages;
  return ChecksumPages::create(region, whole(region), options).value();
}

TEST(ChecksumPages, AgreeWithAMapOfPagesThroughReopenings) {
  auto region = memory();
  auto pages = create(region);
  std::map<std::uint32_t, Content> model;
  Random random(5);
  for (int step = 0; step < 20'000; ++step) {
    const PageId page{static_cast<std::uint32_t>(random.below(kPages))};
    const auto what = random.below(1000);
    if (what < 600) {
      auto& content = model.try_emplace(page.value, Content(kBytes)).first->second;
      LineSet dirty;
      for (auto changes = 1 + random.below(6); changes > 0; --changes) {
        const auto at = random.below(kBytes);
        content[at] = std::byte(random());
        dirty.mark(at, 1);
      }
      ASSERT_TRUE(pages->flush({page, content.data(), what % 3 == 0 ? nullptr : &dirty}));
    } else if (what < 995) {
      Content found(kBytes);
      const auto status = pages->read(page, found);
      const auto expected = model.find(page.value);
      if (expected == model.end()) {
        ASSERT_EQ(status.code(), Errc::kNotFound) << "step " << step;
      } else {
        ASSERT_TRUE(status) << status.error().message();
        ASSERT_EQ(found, expected->second) << "step " << step;
      }
    } else {
      ASSERT_TRUE(pages->verify().empty());
      pages.reset();
      pages = ChecksumPages::open(region, whole(region)).value();
    }
  }
}

// Refused by name, or pages of which each is what it was, torn, or never flushed, and can be
// flushed.
TEST(ChecksumPages, AnyBytesAreRefusedOrPagesThatKnowThemselves) {
  auto region = memory();
  {
    auto pages = create(region);
    for (std::uint32_t page = 0; page < kPages / 2; ++page)
      ASSERT_TRUE(pages->flush({page}, Content(kBytes, std::byte(page + 1))));
  }
  const Content good(region.data(), region.data() + region.size_bytes());
  unsigned refused = 0, torn = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    std::memcpy(region.data(), good.data(), good.size());
    for (auto changes = 1 + random.below(8); changes > 0; --changes) {
      // Every eighth in the superblock.
      const auto at = random.below(8) == 0 ? random.below(8) : random.below(24 * KiB / 8);
      const auto word = random();
      std::memcpy(region.data() + at * 8, &word, sizeof word);
    }
    auto pages = ChecksumPages::open(region, whole(region));
    if (!pages) {
      EXPECT_FALSE(pages.error().detail.empty());
      ++refused;
      continue;
    }
    ASSERT_EQ((*pages)->pages(), kPages);
    for (std::uint32_t page = 0; page < kPages; ++page) {
      Content found(kBytes);
      const auto status = (*pages)->read({page}, found);
      torn += status.code() == Errc::kCorrupt;
      if (status) {
        EXPECT_LT(page, kPages / 2) << "seed " << seed;
        EXPECT_EQ(found, Content(kBytes, std::byte(page + 1))) << "seed " << seed;
      } else {
        EXPECT_TRUE(status.code() == Errc::kCorrupt || status.code() == Errc::kNotFound);
      }
      EXPECT_TRUE((*pages)->flush({page}, Content(kBytes, std::byte{9})));
    }
    EXPECT_TRUE((*pages)->verify().empty());
  }
  EXPECT_GT(refused, 20u);
  EXPECT_GT(torn, 100u);
}

}  // namespace
}  // namespace holdfast::blocks
