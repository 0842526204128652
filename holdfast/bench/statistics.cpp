#include <holdfast/bench/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace holdfast::bench {
namespace {

constexpr double kWantedCoverage = 0.95;

std::vector<double> sorted_numbers(std::span<const double> values) {
  std::vector<double> numbers;
  std::copy_if(values.begin(), values.end(), std::back_inserter(numbers),
               [](double v) { return !std::isnan(v); });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

double middle(const std::vector<double>& sorted) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

double median(std::span<const double> values) { return middle(sorted_numbers(values)); }

double order_statistics_coverage(unsigned n, unsigned k) {
  // Each value lies below the true median with probability 1/2, so the count below it is binomial;
  // the interval misses if fewer than k values lie on one side.
  double tail = 0;
  double term = std::pow(0.5, n);  // C(n, 0) / 2^n
  for (unsigned i = 0; i < k; ++i) {
    tail += term;
    term *= static_cast<double>(n - i) / (i + 1);
  }
  return std::max(0.0, 1 - 2 * tail);
}

Estimate estimate(std::span<const double> values) {
  const auto sorted = sorted_numbers(values);
  const auto n = static_cast<unsigned>(sorted.size());
  Estimate result;
  result.median = middle(sorted);
  if (n == 0) {
    result.low = result.high = result.median;
    return result;
  }
  unsigned k = 1;
  while (2 * (k + 1) <= n && order_statistics_coverage(n, k + 1) >= kWantedCoverage)
    ++k;
  result.low = sorted[k - 1];
  result.high = sorted[n - k];
  result.coverage = n < 2 ? 0 : order_statistics_coverage(n, k);
  return result;
}

std::vector<double> paired_ratios(std::span<const double> numerator,
                                  std::span<const double> denominator) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(numerator.size(), denominator.size()); ++i) {
    const auto ratio = numerator[i] / denominator[i];
    if (std::isfinite(ratio)) ratios.push_back(ratio);
  }
  return ratios;
}

}  // namespace holdfast::bench
