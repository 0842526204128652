// histogram.hpp: latencies in log-linear buckets of at most 1/32 relative width.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace holdfast::bench {

class Histogram {
 public:
  void record(std::uint64_t value) {
    ++buckets_[bucket(value)];
    ++count_;
    max_ = std::max(max_, value);
  }
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }
  // The upper end of the bucket that holds the value of rank ceil(quantile * count).
  std::uint64_t quantile(double quantile) const {
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(quantile * static_cast<double>(count_) + 0.999999));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= rank) return std::min(max_, upper(i));
    }
    return max_;
  }

 private:
  static constexpr unsigned kLinearBits = 5;
  static std::size_t bucket(std::uint64_t value) {
    if (value < (2u << kLinearBits)) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kLinearBits - 1;
    return (std::size_t{shift} << kLinearBits) + (value >> shift);
  }
  static std::uint64_t upper(std::size_t bucket) {
    if (bucket < (2u << kLinearBits)) return bucket;
    const auto shift = (bucket >> kLinearBits) - 1;
    return ((bucket - (shift << kLinearBits) + 1) << shift) - 1;
  }
  std::array<std::uint64_t, (64 - kLinearBits + 1) << kLinearBits> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace holdfast::bench
