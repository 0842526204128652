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

}  // namespace
}  // namespace holdfast::kv
