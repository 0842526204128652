// Stores written by format version 1 when it was released, checked in as text, open with the same
// content.
#include "golden_content.hpp"
#include "golden_file.hpp"

namespace holdfast::kv {
namespace {

class GoldenStores : public testing::TestWithParam<Golden> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        unpack_golden(std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/" + GetParam().name + ".v1.hex",
                      scratch_.path("golden")));
    const Scratch fresh = Scratch::tmpfs();
    auto store = Store<>::open(fresh.path("store"), GetParam().options).value();
    expected_ = GetParam().fill(store);
  }
  Scratch scratch_ = Scratch::tmpfs();
  Contents expected_;
};
INSTANTIATE_TEST_SUITE_P(Version1, GoldenStores, testing::ValuesIn(golden_stores()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(GoldenStores, OpenReadOnlyWithTheSameContent) {
  auto store =
      Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpenReadOnly)).value();
  EXPECT_EQ(store.recovery().clean, GetParam().clean);
  expect_contents(store, expected_);
}

TEST_P(GoldenStores, OpenAndGoOn) {
  for (const char* granularity : {"", "?granularity=line", "?granularity=page"}) {
    auto store =
        Store<>::open(scratch_.path("golden") + granularity, with_access(RegionAccess::kOpen))
            .value();
    expect_contents(store, expected_);
    ASSERT_TRUE(store.put("added", granularity));
    expected_["added"] = granularity;
    ASSERT_TRUE(store.reclaim());
    expect_contents(store, expected_);
    ASSERT_TRUE(store.close());
  }
}

// The first writing open of a store of version 1 makes it one of version 2 by one word, when the new
// superblock is durable. Whatever a crash leaves of that superblock before, it is one of version 1.
TEST_P(GoldenStores, AnUpgradeThatWasCutShortLeavesVersion1) {
  const Image old = Image::of(scratch_.path("golden"));
  const auto version = [](const Image& image) { return image.read<std::uint32_t>(kVersionWordAt); };
  ASSERT_EQ(version(old), 1u);
  {
    auto store = Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpen)).value();
    expect_contents(store, expected_);
    ASSERT_TRUE(store.close());
  }
  const Image upgraded = Image::of(scratch_.path("golden"));
  ASSERT_EQ(version(upgraded), 2u);
  const auto superblock = upgraded.read<Superblock>(kSuperblockAt);
  EXPECT_EQ(superblock.incompatible_features, kRunsOfVersion1);
  EXPECT_EQ(superblock.hash_kind, HashKind::kXxh3) << "its summaries were hashed so";
  // Each prefix of the superblock by words, in either order of arrival; the word comes last.
  for (const bool forwards : {true, false}) {
    for (std::uint64_t words = 0; words <= sizeof(Superblock) / 8; words += 5) {
      Image cut = old;
      for (std::uint64_t i = 0; i < words; ++i) {
        const std::uint64_t at =
            kSuperblockAt + 8 * (forwards ? i : sizeof(Superblock) / 8 - 1 - i);
        cut.write(at, upgraded.read<std::uint64_t>(at));
      }
      cut.write_to(scratch_.path("cut"));
      auto store = Store<>::open(scratch_.path("cut"), with_access(RegionAccess::kOpen)).value();
      expect_contents(store, expected_);
    }
  }
}

TEST_P(GoldenStores, OpenedReadOnlyStayWhatTheyAre) {
  const Image old = Image::of(scratch_.path("golden"));
  {
    auto store =
        Store<>::open(scratch_.path("golden"), with_access(RegionAccess::kOpenReadOnly)).value();
    EXPECT_TRUE(store.verify().ok());
  }
  EXPECT_TRUE(Image::of(scratch_.path("golden")).bytes() == old.bytes());
}

}  // namespace
}  // namespace holdfast::kv
