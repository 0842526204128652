// Indexes without memory for what they are asked to do: what was acknowledged stays, and others go
// on.
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <holdfast/base/hash.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/dash/dash.hpp>

#include "../base/allocations.hpp"
#include "index_support.hpp"

namespace holdfast::index {
namespace {

// What failed was behind the moment from which a split is done. The old segment kept what had left
// it, was split once more, and what was acknowledged in between was gone.
TEST(DashWithoutMemory, ASplitThatFailsLosesNothing) {
  DashOptions options;
  options.buckets = 2, options.stash_buckets = 1;
  options.segments = 200, options.max_depth = 12;
  for (std::size_t nth = 1; nth <= 12; ++nth) {
    auto region = region_of(1 * MiB);
    const auto dash = Dash::create(region, blocks::whole(region), options).value();
    std::map<std::uint64_t, std::uint64_t> expected;
    std::set<std::uint64_t> refused, erased;
    for (std::uint64_t i = 1; i <= 600; ++i) {
      const std::uint64_t key = mix64(i);
      bool done = false;
      const auto insert = [&] { done = static_cast<bool>(dash->insert(key, i)); };
      fails_at(i % 3 == 0 ? nth : 0, insert);
      if (done)
        expected[key] = i;
      else
        refused.insert(key);
      if (i % 5 == 0 && !expected.empty()) {
        const std::uint64_t old = expected.begin()->first;
        ASSERT_TRUE(dash->erase(old));
        expected.erase(old), erased.insert(old);
      }
      if (i % 7 == 0 && !expected.empty()) {
        const std::uint64_t old = expected.rbegin()->first;
        ASSERT_TRUE(dash->update(old, expected[old] = 1'000 + i));
      }
    }
    EXPECT_GT(expected.size(), 200u);
    for (const auto& [key, value] : expected)
      ASSERT_EQ(dash->find(key).value_or(0), value) << "failure " << nth;
    for (const std::uint64_t key : erased)
      ASSERT_EQ(dash->find(key).code(), Errc::kNotFound) << "failure " << nth;
    for (const std::uint64_t key : refused)
      ASSERT_EQ(dash->find(key).code(), Errc::kNotFound) << "failure " << nth;
  }
}

}  // namespace
}  // namespace holdfast::index
