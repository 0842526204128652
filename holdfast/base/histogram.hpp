// histogram.hpp: counts of 64-bit values, mostly latencies in ns, with a bounded relative error.
//
// Log-linear: each power of two is cut into 128 equal buckets, so a reported value is at most 1/128
// (0.8 %) above the recorded one; values below 256 are exact. Minimum, maximum, count and sum are
// exact. 58 KiB; recording is a bit scan and two additions, some 2 ns.
// Threads    none: one histogram per thread, merge() at the end.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace holdfast {

class Histogram {
 public:
  static constexpr unsigned kPrecisionBits = 7;
  // A reported value v' of a recorded value v: v <= v' and v' <= v * (1 + kRelativeErrorMax).
  static constexpr double kRelativeErrorMax = 1.0 / (1u << kPrecisionBits);

  Histogram() : counts_(kBuckets, 0) {}

  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)] += times;
    if (times == 0) return;
    count_ += times;
    sum_ += static_cast<long double>(value) * static_cast<long double>(times);
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  void merge(const Histogram& other);
  void clear();

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_ / static_cast<long double>(count_));
  }
  // The smallest reported value such that at least `percent` (0 … 100) of all recorded values are
  // not above it; 0 if nothing was recorded. percentile(100) is max().
  std::uint64_t percentile(double percent) const;

  // Calls visit(largest value of the bucket, count) for each bucket that is not empty, ascending.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      if (counts_[bucket] != 0) visit(largest_of(bucket), counts_[bucket]);
    }
  }

 private:
  // Values below 2^(p+1) have a bucket each. Above, a value of bit width w falls into one of the
  // 2^p buckets of its power of two, by its p bits after the leading one.
  static constexpr unsigned kLinearBits = kPrecisionBits + 1;
  static constexpr std::size_t kBuckets =
      (std::size_t{1} << kLinearBits) + (64 - kLinearBits) * (std::size_t{1} << kPrecisionBits);

  static std::size_t bucket_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kLinearBits) return value;
    const auto shift = width - kLinearBits;
    return (std::size_t{shift} << kPrecisionBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t largest_of(std::size_t bucket);

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
  long double sum_ = 0;
};

}  // namespace holdfast
