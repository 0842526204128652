// The buffer manager against a dull model, with few frames.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include <holdfast/base/random.hpp>
#include <holdfast/blocks/page/buffer_manager.hpp>

namespace holdfast::blocks {
namespace {

Region memory(std::uint64_t bytes) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  return Region::open("dram?granularity=line", options).value();
}

PageStoreOptions store_options() {
  PageStoreOptions options;
  options.page_bytes = 512;
  options.pages = 64;
  options.spare_slots = 4;
  options.micro_logs = 2;
  options.costs = FlushCosts{{{{2, 2}, {2, 2}}}, {}};
  return options;
}

BufferOptions frames(std::uint32_t count, bool background) {
  BufferOptions options;
  options.frames = count;
  options.background = background;
  options.background_interval_ms = 1;
  return options;
}

using Content = std::vector<std::byte>;

class BufferModel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Background, BufferModel, testing::Bool());

TEST_P(BufferModel, AgreesWithAMapOfPagesThroughEvictionsFreesAndReopenings) {
  constexpr std::uint64_t kSeed = 11;
  auto region = memory(1 * MiB);
  auto store = PageStore::create(region, whole(region), store_options()).value();
  auto buffers = BufferManager::create(*store, frames(5, GetParam())).value();
  std::map<std::uint32_t, Content> model;
  Random random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const PageId page{static_cast<std::uint32_t>(random.below(20))};
    const auto what = random.below(1000);
    if (what < 500) {
      auto fixed = buffers->fix(page, Access::kRead);
      const auto expected = model.find(page.value);
      ASSERT_EQ(fixed.has_value(), expected != model.end()) << "seed=" << kSeed << " step " << i;
      if (!fixed) {
        ASSERT_EQ(fixed.code(), Errc::kNotFound);
      } else {
        ASSERT_EQ(std::memcmp(fixed->bytes().data(), expected->second.data(), 512), 0)
            << "seed=" << kSeed << " step " << i;
      }
    } else if (what < 950) {
      auto fixed = buffers->fix(page, Access::kWrite).value();
      auto& content = model.try_emplace(page.value, Content(512)).first->second;
      Content bytes(1 + random.below(100), std::byte(random()));
      const auto at = static_cast<std::uint32_t>(random.below(512 - bytes.size()));
      fixed.write(at, bytes);
      std::memcpy(content.data() + at, bytes.data(), bytes.size());
    } else if (what < 980) {
      const auto status = buffers->free(page);
      ASSERT_EQ(status.has_value(), model.erase(page.value) == 1) << status.error().message();
    } else if (what < 998) {
      ASSERT_TRUE(buffers->flush(page));
    } else {
      ASSERT_TRUE(buffers->flush_all());
      buffers.reset();
      store.reset();
      store = PageStore::open(region, whole(region), store_options()).value();
      buffers = BufferManager::create(*store, frames(5, GetParam())).value();
    }
  }
  const auto counts = buffers->counts();
  EXPECT_GT(counts.evictions, 0u);
}

TEST(Buffer, FixedPagesAreNeverEvictedAndAllFixedIsAnError) {
  auto region = memory(1 * MiB);
  auto store = PageStore::create(region, whole(region), store_options()).value();
  auto buffers = BufferManager::create(*store, frames(3, false)).value();
  std::vector<FixedPage> held;
  for (std::uint32_t page = 0; page < 3; ++page) {
    held.push_back(buffers->fix({page}, Access::kWrite).value());
    held.back().change(0, 1)[0] = std::byte(page + 1);
  }
  const auto refused = buffers->fix({3}, Access::kWrite);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Errc::kNoSpace);
  EXPECT_NE(refused.error().detail.find("all 3 frames"), std::string::npos);
  for (std::uint32_t page = 0; page < 3; ++page)
    EXPECT_EQ(held[page].bytes()[0], std::byte(page + 1));
  held.pop_back();
  EXPECT_TRUE(buffers->fix({3}, Access::kWrite));
  EXPECT_EQ(buffers->fix({64}, Access::kRead).code(), Errc::kInvalidOption);
  EXPECT_EQ(BufferManager::create(*store, frames(0, false)).code(), Errc::kInvalidOption);
}

TEST(Buffer, OnlyDirtyLinesAreFlushedAndCleanPagesNotAtAll) {
  auto region = memory(1 * MiB);
  auto store = PageStore::create(region, whole(region), store_options()).value();
  auto buffers = BufferManager::create(*store, frames(3, false)).value();
  {
    buffers->fix({0}, Access::kWrite)->change(0, 512);
  }
  ASSERT_TRUE(buffers->flush_all());
  auto before = persist_counts();
  ASSERT_TRUE(buffers->flush_all());
  EXPECT_EQ(persist_counts().fences, before.fences);
  {
    buffers->fix({0}, Access::kWrite)->change(130, 10);
  }
  before = persist_counts();
  ASSERT_TRUE(buffers->flush({0}));
  EXPECT_EQ(persist_counts().fences - before.fences, 2u);
  EXPECT_EQ(persist_counts().lines_written_back - before.lines_written_back, 4u);  // By the log.
}

TEST(Buffer, AFreedPageLeavesNothingToFlushInItsFrame) {
  auto region = memory(1 * MiB);
  auto store = PageStore::create(region, whole(region), store_options()).value();
  const std::vector<std::byte> content(store->page_bytes());
  store->flush({0}, content).value();
  store->flush({1}, content).value();
  auto buffers = BufferManager::create(*store, frames(1, false)).value();
  {
    buffers->fix({0}, Access::kWrite)->change(0, 8);
  }
  ASSERT_TRUE(buffers->free({0}));
  ASSERT_TRUE(buffers->fix({1}, Access::kRead));  // In the same frame.
  const auto before = persist_counts();
  ASSERT_TRUE(buffers->flush_all());
  EXPECT_EQ(persist_counts().fences, before.fences);
}

TEST(Buffer, WhatMustPrecedeAPageIsCalledFirstAndItsErrorKeepsThePageDirty) {
  auto region = memory(1 * MiB);
  auto store = PageStore::create(region, whole(region), store_options()).value();
  auto options = frames(2, false);
  std::vector<std::uint32_t> asked;
  bool refuse = true;
  options.before_flush = [&](std::span<const PageId> pages) -> Status {
    for (const auto page : pages) {
      asked.push_back(page.value);
      EXPECT_FALSE(store->contains(page));
    }
    return refuse ? Status(Error{Errc::kIo, "the log is not durable yet"}) : Status{};
  };
  auto buffers = BufferManager::create(*store, options).value();
  {
    buffers->fix({7}, Access::kWrite)->change(0, 1)[0] = std::byte{1};
  }
  EXPECT_EQ(buffers->flush_all().code(), Errc::kIo);
  EXPECT_FALSE(store->contains({7}));
  refuse = false;
  EXPECT_TRUE(buffers->flush_all());
  EXPECT_TRUE(store->contains({7}));
  EXPECT_EQ(asked.back(), 7u);
}

}  // namespace
}  // namespace holdfast::blocks
