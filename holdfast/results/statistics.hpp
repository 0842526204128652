// statistics.hpp: what a handful of repetitions says, and how sure one may be of it.
//
// A benchmark repeats a measurement 3 to 30 times, with a skewed distribution nobody knows. So all
// here is distribution-free: the middle is the median, the interval is bounded by order statistics
// of the sample (the sign test turned round). With fewer than 6 repetitions no such interval
// reaches 95 %; the whole range is given then, and `coverage` says what it is worth (5
// repetitions: 93.75 %).
//
// Cost O(n log n). Threads: pure functions. Errors: none; an empty sample gives NaN.
#pragma once

#include <span>
#include <vector>

namespace holdfast::results {

struct Estimate {
  double median = 0;
  double low = 0;  // The interval that covers the true median with probability `coverage`.
  double high = 0;
  double coverage = 0;  // 0 to 1; 0 for fewer than 2 values.
};

// Values that are NaN (a repetition that did not count) are left out everywhere below.

double median(std::span<const double> values);

// Probability that [smallest but k-1, largest but k-1] of n values covers the true median; k
// from 1.
double order_statistics_coverage(unsigned n, unsigned k);

// The narrowest symmetric pair of order statistics with at least 95 %, else smallest and largest.
Estimate estimate(std::span<const double> values);

// numerator[i] / denominator[i], where both count: repetition i of two subjects ran side by side,
// so what disturbed the machine then disturbs both and leaves the ratio alone.
std::vector<double> paired_ratios(std::span<const double> numerator,
                                  std::span<const double> denominator);

struct RatioEstimate : Estimate {
  // Two-sided: how often two samples of the same thing differ at least so much. 1 where there is
  // too little to tell.
  double p_value = 1;
  // Repetitions too few for any difference to be significant at 5 %: 3 and 3, 2 and 5.
  bool too_few = false;
};

// after over before, where repetitions do not belong together: two runs at two times. The middle is
// the median of all |before| x |after| ratios (Hodges and Lehmann), the interval their order
// statistics that the exact distribution of the rank sum allows at 95 % (Mann and Whitney; normal
// from 50 repetitions on). The interval leaves 1 out exactly if p_value < 0.05. Values must be
// positive; others are left out. Cost O(n m log n m).
RatioEstimate unpaired_ratio(std::span<const double> before, std::span<const double> after);

}  // namespace holdfast::results
