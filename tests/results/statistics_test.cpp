#include <holdfast/results/statistics.hpp>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace holdfast::results {
namespace {

constexpr auto kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
  EXPECT_TRUE(std::isnan(median(std::vector<double>{})));
}

TEST(Statistics, RepetitionsThatDidNotCountAreLeftOut) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{kNaN, 5, kNaN, 1, 3}), 3);
  EXPECT_TRUE(std::isnan(median(std::vector<double>{kNaN, kNaN})));
}

// The values every table of the sign test has.
TEST(Statistics, CoverageOfOrderStatisticsIsThatOfTheSignTest) {
  EXPECT_DOUBLE_EQ(order_statistics_coverage(5, 1), 0.9375);
  EXPECT_DOUBLE_EQ(order_statistics_coverage(6, 1), 0.96875);
  EXPECT_NEAR(order_statistics_coverage(10, 2), 0.978515625, 1e-12);
  EXPECT_NEAR(order_statistics_coverage(10, 3), 0.890625, 1e-12);
  EXPECT_NEAR(order_statistics_coverage(20, 6), 0.958610535, 1e-9);
}

TEST(Statistics, FiveRepetitionsGiveTheirRangeAndSayThatItIsNotQuite95Percent) {
  const auto e = estimate(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(e.median, 3);
  EXPECT_DOUBLE_EQ(e.low, 1);
  EXPECT_DOUBLE_EQ(e.high, 5);
  EXPECT_DOUBLE_EQ(e.coverage, 0.9375);
}

TEST(Statistics, TenRepetitionsLeaveTheExtremesOut) {
  const auto e = estimate(std::vector<double>{10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_DOUBLE_EQ(e.median, 5.5);
  EXPECT_DOUBLE_EQ(e.low, 2);
  EXPECT_DOUBLE_EQ(e.high, 9);
  EXPECT_GE(e.coverage, 0.95);
}

TEST(Statistics, OneRepetitionHasNoInterval) {
  const auto e = estimate(std::vector<double>{42});
  EXPECT_DOUBLE_EQ(e.low, 42);
  EXPECT_DOUBLE_EQ(e.high, 42);
  EXPECT_EQ(e.coverage, 0);
}

// A disturbance that hits both subjects of a repetition vanishes from the ratio.
TEST(Statistics, PairedRatiosCancelWhatDisturbsBoth) {
  const std::vector<double> ours{100, 50, 100}, theirs{200, 100, 200};
  const auto ratio = estimate(paired_ratios(theirs, ours));
  EXPECT_DOUBLE_EQ(ratio.median, 2);
  EXPECT_DOUBLE_EQ(ratio.low, 2);
  EXPECT_DOUBLE_EQ(ratio.high, 2);
}

TEST(Statistics, ARepetitionThatOneSubjectLacksMakesNoPair) {
  EXPECT_EQ(paired_ratios(std::vector<double>{1, kNaN, 3}, std::vector<double>{1, 2, 0}),
            (std::vector<double>{1}));
}

}  // namespace
}  // namespace holdfast::results
