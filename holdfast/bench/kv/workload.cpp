#include <holdfast/bench/kv/workload.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#include <holdfast/base/random.hpp>

namespace holdfast::bench::kv {
namespace {

// The value below which a share `p` of a standard normal distribution lies, by bisection of erfc.
double normal_quantile(double p) {
  double low = -8, high = 8;
  for (int i = 0; i < 60; ++i) {
    const auto middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return low;
}

std::vector<std::uint32_t> normal_sizes(std::uint32_t mean, std::uint32_t least) {
  std::vector<std::uint32_t> sizes(256);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto z =
        normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(sizes.size()));
    const auto size = std::lround(mean + z * mean / 5.0);
    sizes[i] = static_cast<std::uint32_t>(std::max<long>(size, least));
  }
  return sizes;
}

// A permutation of the numbers below 2^bits (bits even): four Feistel rounds.
std::uint64_t feistel(std::uint64_t x, unsigned bits, std::uint64_t seed) {
  const auto half = bits / 2;
  const auto mask = (std::uint64_t{1} << half) - 1;
  auto left = x >> half, right = x & mask;
  for (std::uint64_t round = 0; round < 4; ++round) {
    const auto next = left ^ (mix(right ^ mix(seed + round)) & mask);
    left = right;
    right = next;
  }
  return (left << half) | right;
}

}  // namespace

Status Shape::validate() const {
  if (key_bytes < kMinKeyBytes || key_bytes > kMaxKeyBytes) {
    return Error{Errc::kInvalidOption, "key: " + std::to_string(key_bytes) +
                                           " bytes; allowed are " + std::to_string(kMinKeyBytes) +
                                           " to " + std::to_string(kMaxKeyBytes)};
  }
  if (value_bytes < kMinValueBytes || value_bytes > kMaxValueBytes) {
    return Error{Errc::kInvalidOption, "value: " + std::to_string(value_bytes) +
                                           " bytes; allowed are " + std::to_string(kMinValueBytes) +
                                           " to " + std::to_string(kMaxValueBytes)};
  }
  return {};
}

Records::Records(const Shape& shape)
    : shape_(shape),
      kernels_(best_value_kernels()),
      max_key_bytes_(shape.key_bytes),
      max_value_bytes_(shape.value_bytes) {
  if (shape.variable) {
    key_sizes_ = normal_sizes(shape.key_bytes, kMinKeyBytes);
    value_sizes_ = normal_sizes(shape.value_bytes, kMinValueBytes);
    max_key_bytes_ = key_sizes_.back();
    max_value_bytes_ = value_sizes_.back();
  }
}

std::vector<std::uint32_t> permutation_slice(std::uint64_t records, std::uint64_t seed,
                                             std::uint64_t first, std::uint64_t count) {
  auto bits = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(records, 4) - 1));
  bits += bits % 2;
  std::vector<std::uint32_t> slice(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    // Walk the cycle until it is back below `records`: a permutation of those below it.
    auto x = feistel(first + i, bits, seed);
    while (x >= records)
      x = feistel(x, bits, seed);
    slice[i] = static_cast<std::uint32_t>(x);
  }
  return slice;
}

std::vector<std::uint32_t> zipf_list(std::uint64_t records, std::uint64_t seed, std::size_t count,
                                     bool scramble) {
  const Zipf zipf(records);
  Random random(seed);
  std::vector<std::uint32_t> list(count);
  for (auto& number : list)
    number = static_cast<std::uint32_t>(scramble ? zipf.scrambled(random) : zipf.rank(random));
  return list;
}

}  // namespace holdfast::bench::kv
