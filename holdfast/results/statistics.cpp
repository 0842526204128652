#include <holdfast/results/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace holdfast::results {
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

std::vector<double> positive_numbers(std::span<const double> values) {
  std::vector<double> numbers;
  std::copy_if(values.begin(), values.end(), std::back_inserter(numbers),
               [](double v) { return v > 0 && std::isfinite(v); });
  return numbers;
}

// Probabilities that the rank-sum statistic U of samples of n and m values is at most 0, 1, …,
// n x m, if both are of the same distribution.
std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m) {
  const auto pairs = n * m;
  std::vector<double> at_most(pairs + 1, 0);
  if (n > 50 || m > 50) {
    const auto mean = static_cast<double>(pairs) / 2;
    const auto deviation =
        std::sqrt(static_cast<double>(pairs) * static_cast<double>(n + m + 1) / 12);
    for (std::size_t u = 0; u <= pairs; ++u) {
      at_most[u] = 0.5 * std::erfc(-(static_cast<double>(u) + 0.5 - mean) / deviation / M_SQRT2);
    }
    return at_most;
  }
  // The number of orders with U = u is a coefficient of the Gaussian binomial (n + m choose n),
  // the product over i of (1 - q^(m+i)) / (1 - q^i): one multiplication and one division each.
  auto& orders = at_most;
  orders[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = pairs + 1; u-- > m + i;)
      orders[u] -= orders[u - (m + i)];
    for (std::size_t u = i; u <= pairs; ++u)
      orders[u] += orders[u - i];
  }
  double sum = 0;
  for (auto& order : orders)
    order = sum += order;
  for (auto& probability : at_most)
    probability /= sum;
  return at_most;
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

RatioEstimate unpaired_ratio(std::span<const double> before, std::span<const double> after) {
  const auto a = positive_numbers(before), b = positive_numbers(after);
  std::vector<double> ratios;
  ratios.reserve(a.size() * b.size());
  for (const auto numerator : b) {
    for (const auto denominator : a)
      ratios.push_back(numerator / denominator);
  }
  std::sort(ratios.begin(), ratios.end());
  RatioEstimate result;
  result.median = middle(ratios);
  result.low = result.high = result.median;
  result.too_few = true;
  if (ratios.empty()) return result;
  const auto at_most = rank_sum_distribution(a.size(), b.size());
  constexpr double kTail = (1 - kWantedCoverage) / 2;
  // The interval from the k-th smallest ratio to the k-th largest misses if U < k or symmetrically.
  std::size_t k = 0;
  while (k < ratios.size() / 2 && at_most[k] < kTail)
    ++k;
  result.too_few = k == 0;
  const auto bound =
      std::max<std::size_t>(k, 1);  // Too few: the whole range, for what it is worth.
  result.low = ratios[bound - 1];
  result.high = ratios[ratios.size() - bound];
  result.coverage = std::max(0.0, 1 - 2 * at_most[bound - 1]);
  // A tie counts against a difference, so that the p-value and the interval agree.
  const auto below = static_cast<std::size_t>(std::upper_bound(ratios.begin(), ratios.end(), 1.0) -
                                              ratios.begin());
  const auto above =
      static_cast<std::size_t>(ratios.end() - std::lower_bound(ratios.begin(), ratios.end(), 1.0));
  result.p_value = std::min(1.0, 2 * at_most[std::min(below, above)]);
  return result;
}

}  // namespace holdfast::results
