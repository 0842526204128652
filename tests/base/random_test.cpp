#include <holdfast/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace holdfast {
namespace {

// From the published algorithms (xoshiro256++ 1.0, splitmix64), computed in Python.
TEST(Random, GivesTheSameNumbersForEver) {
  Random random(42);
  EXPECT_EQ(random.next(), 0xd0764d4f4476689fu);
  EXPECT_EQ(random.next(), 0x519e4174576f3791u);
  EXPECT_EQ(random.next(), 0xfbe07cfb0c24ed8cu);
  static_assert(Random(42).next() == 0xd0764d4f4476689fu);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(7);
  for (const std::uint64_t bound : {1ull, 2ull, 3ull, 10ull, 1000ull}) {
    std::vector<std::uint64_t> counts(bound, 0);
    const std::uint64_t draws = 10'000 * bound;
    for (std::uint64_t i = 0; i < draws; ++i)
      ++counts.at(random.below(bound));
    // 10,000 expected, standard deviation 100: six of them do not happen by chance.
    const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_GT(*low, 9'400u) << bound;
    EXPECT_LT(*high, 10'600u) << bound;
  }
  // Close to 2^64 the fair method draws again about half of the time; an unfair one would be
  // biased.
  const std::uint64_t bound = (std::uint64_t{1} << 63) + 1;
  std::uint64_t lower_half = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto value = random.below(bound);
    ASSERT_LT(value, bound);
    lower_half += value < bound / 2;
  }
  EXPECT_NEAR(static_cast<double>(lower_half), 5'000, 300);
}

TEST(Random, UnitStaysBelowOneAndCoversTheRange) {
  Random random(3);
  double low = 1, high = 0, sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    low = std::min(low, value), high = std::max(high, value), sum += value;
  }
  EXPECT_LT(low, 0.001);
  EXPECT_GT(high, 0.999);
  EXPECT_NEAR(sum / 100'000, 0.5, 0.01);
}

TEST(Zipf, ZetaIsTheSum) {
  // The first value is the constant of YCSB's ScrambledZipfianGenerator for 10^10 items.
  EXPECT_NEAR(Zipf::zeta(10'000'000'000, 0.99), 26.46902820178302, 1e-7);
  double sum = 0;
  for (int i = 1; i <= 300'000; ++i)
    sum += std::pow(i, -0.5);
  EXPECT_NEAR(Zipf::zeta(300'000, 0.5), sum, 1e-6);
  EXPECT_DOUBLE_EQ(Zipf::zeta(1, 0.99), 1.0);
}

TEST(Zipf, HeadComesAsOftenAsItShould) {
  constexpr std::uint64_t kN = 1000;
  constexpr int kDraws = 400'000;
  const Zipf zipf(kN);
  Random random(11);
  std::vector<double> counts(kN, 0);
  for (int i = 0; i < kDraws; ++i)
    ++counts.at(zipf.rank(random));
  const double zeta = Zipf::zeta(kN, Zipf::kYcsbTheta);
  EXPECT_NEAR(counts[0] / kDraws, 1 / zeta, 0.005);
  EXPECT_NEAR(counts[1] / kDraws, std::pow(2, -0.99) / zeta, 0.004);
  // The approximation further on, as a sum: ranks 10 … 99.
  double seen = 0, expected = 0;
  for (std::size_t rank = 10; rank < 100; ++rank) {
    seen += counts[rank] / kDraws;
    expected += std::pow(static_cast<double>(rank + 1), -0.99) / zeta;
  }
  EXPECT_NEAR(seen, expected, 0.02);
  EXPECT_GT(counts[kN - 1] + counts[kN - 2] + counts[kN - 3], 0);
}

TEST(Zipf, ScramblingKeepsTheSkewAndScattersIt) {
  const Zipf zipf(1'000'000);
  Random random(5);
  std::vector<std::uint64_t> drawn;
  for (int i = 0; i < 100'000; ++i)
    drawn.push_back(zipf.scrambled(random));
  EXPECT_LT(*std::max_element(drawn.begin(), drawn.end()), 1'000'000u);
  EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()), 900'000u);
  std::sort(drawn.begin(), drawn.end());
  const auto hottest = mix64(1) % 1'000'000;
  const auto times = std::count(drawn.begin(), drawn.end(), hottest);
  EXPECT_GT(times, 5'000);  // About 1 / zeta = 6.5 % of them.
}

TEST(Zipf, SmallestSizesWork) {
  Random random(1);
  const Zipf one(1), two(2);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(one.rank(random), 0u);
    seen.insert(two.rank(random));
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1}));
}

}  // namespace
}  // namespace holdfast
