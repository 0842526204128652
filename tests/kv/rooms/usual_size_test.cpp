// The size that values usually have: what is asked for comes out, whatever was usual before.
#include <gtest/gtest.h>

#include <holdfast/kv/sessions.hpp>

namespace holdfast::kv {
namespace {

TEST(UsualSize, IsAlwaysTheOneThatWasAsked) {
  UsualSize sizes;
  for (const std::uint64_t bytes : {0u, 200u, 1u, 4'000'000'000u}) {
    for (int times = 0; times < 50; ++times)
      ASSERT_EQ(sizes.of(bytes), bytes);
    ASSERT_EQ(sizes.of(bytes + 1), bytes + 1);
    ASSERT_EQ(sizes.of(bytes), bytes);
  }
  for (std::uint64_t i = 0; i < 1'000; ++i)
    ASSERT_EQ(sizes.of(i % 3), i % 3);
  ASSERT_EQ(sizes.of(~std::uint64_t{0}), ~std::uint64_t{0});  // What it holds before the first one.
}

}  // namespace
}  // namespace holdfast::kv
