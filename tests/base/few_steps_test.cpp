#include <holdfast/base/few_steps.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace holdfast {
namespace {

TEST(FewSteps, AreAllOfThemInOrder) {
  for (std::uint64_t count = 0; count < 10; ++count) {
    std::vector<std::uint64_t> expected(count), seen;
    std::iota(expected.begin(), expected.end(), 0u);
    for_few(count, [&](std::uint64_t i) { seen.push_back(i); });
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace holdfast
