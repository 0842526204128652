#include <holdfast/base/histogram.hpp>

#include <algorithm>
#include <cmath>

namespace holdfast {

void Histogram::merge(const Histogram& other) {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
    counts_[bucket] += other.counts_[bucket];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() { *this = Histogram(); }

std::uint64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  // 99.9 % of 20,000 are 19,980, although 99.9 / 100 * 20,000 is a little more in doubles.
  const auto exact = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_);
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(exact * (1 - 0x1.0p-50))));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) return std::min(largest_of(bucket), max_);
  }
  return max_;
}

std::uint64_t Histogram::largest_of(std::size_t bucket) {
  constexpr auto kLinear = std::size_t{1} << kLinearBits;
  if (bucket < kLinear) return bucket;
  // The inverse of bucket_of: its upper part is shift + 1, since a value's leading bit adds one.
  const auto shift = (bucket >> kPrecisionBits) - 1;
  const auto leading =
      (bucket & ((std::size_t{1} << kPrecisionBits) - 1)) + (std::size_t{1} << kPrecisionBits);
  return ((static_cast<std::uint64_t>(leading) + 1) << shift) - 1;
}

}  // namespace holdfast
