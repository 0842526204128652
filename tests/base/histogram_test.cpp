#include <holdfast/base/histogram.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <holdfast/base/random.hpp>

namespace holdfast {
namespace {

// The definition, on the sorted values themselves and in whole numbers.
std::uint64_t exact_percentile(const std::vector<std::uint64_t>& sorted, std::uint64_t hundredths) {
  const auto wanted = (hundredths * sorted.size() + 9'999) / 10'000;
  return sorted[std::max<std::size_t>(wanted, 1) - 1];
}

TEST(Histogram, EmptyReportsZeros) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.percentile(50), 0u);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 256; ++value)
    histogram.record(value);
  EXPECT_EQ(histogram.percentile(50), 127u);
  EXPECT_EQ(histogram.percentile(100), 255u);
  EXPECT_EQ(histogram.percentile(0), 0u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 127.5);
}

TEST(Histogram, EveryPowerOfTwoAndItsNeighboursStayWithinTheError) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t delta : {-1, 0, 1}) {
      const auto value = (std::uint64_t{1} << bit) + delta;
      Histogram histogram;
      histogram.record(value);
      histogram.record(~std::uint64_t{0});  // So that the maximum does not clip the answer.
      const auto reported = histogram.percentile(50);
      EXPECT_GE(reported, value);
      EXPECT_LE(static_cast<double>(reported - value),
                static_cast<double>(value) * Histogram::kRelativeErrorMax)
          << value;
      EXPECT_EQ(histogram.min(), value);
    }
  }
}

TEST(Histogram, PercentilesOfRandomValuesStayWithinTheError) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    Histogram histogram;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 50'000; ++i) {
      values.push_back(random.next() >> random.below(60));
      histogram.record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const std::uint64_t hundredths : {0, 100, 2500, 5000, 9000, 9900, 9990, 9999, 10'000}) {
      const auto percent = static_cast<double>(hundredths) / 100;
      const auto exact = exact_percentile(values, hundredths);
      const auto reported = histogram.percentile(percent);
      EXPECT_GE(reported, exact) << "seed=" << seed << " percent=" << percent;
      EXPECT_LE(static_cast<double>(reported),
                static_cast<double>(exact) * (1 + Histogram::kRelativeErrorMax))
          << "seed=" << seed << " percent=" << percent;
    }
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
  }
}

TEST(Histogram, MergedIsTheSameAsRecordedTogether) {
  Random random(9);
  Histogram left, right, both;
  for (int i = 0; i < 10'000; ++i) {
    const auto value = random.below(1'000'000);
    (i % 3 == 0 ? left : right).record(value, 2);
    both.record(value, 2);
  }
  left.merge(right);
  left.merge(Histogram());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> merged, together;
  left.for_each([&](auto value, auto count) { merged.emplace_back(value, count); });
  both.for_each([&](auto value, auto count) { together.emplace_back(value, count); });
  EXPECT_EQ(merged, together);
  EXPECT_EQ(left.count(), 20'000u);
  EXPECT_DOUBLE_EQ(left.mean(), both.mean());
  EXPECT_EQ(left.min(), both.min());
  EXPECT_EQ(left.max(), both.max());
  left.clear();
  EXPECT_EQ(left.count(), 0u);
}

TEST(Histogram, PercentilesOfWholeCountsAreNotPushedUpByRounding) {
  Histogram histogram;
  histogram.record(1, 19'980);
  histogram.record(200, 20);
  // hdrhistogram says so too; 99.9 / 100 * 20,000 > 19,980.
  EXPECT_EQ(histogram.percentile(99.9), 1u);
  EXPECT_EQ(histogram.percentile(99.91), 200u);
}

TEST(Histogram, RecordingNothingChangesNothing) {
  Histogram histogram;
  histogram.record(5, 0);
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
}

}  // namespace
}  // namespace holdfast
