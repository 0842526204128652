// random.hpp: seeded generators for tests and benchmarks. The same seed gives the same numbers on
// every machine, compiler and version; tests/base/random_test.cpp pins them. Not for secrets.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include <holdfast/base/check.hpp>
#include <holdfast/base/hash.hpp>

namespace holdfast {

// xoshiro256++: four words of state, about 1 ns per number, period 2^256 - 1. One per thread: give
// each its own seed (neighbouring seeds are fine, the state is drawn from them by splitmix64).
class Random {
 public:
  using result_type = std::uint64_t;  // A UniformRandomBitGenerator, for <algorithm>.

  explicit constexpr Random(std::uint64_t seed) {
    for (auto& word : state_)
      word = mix64(seed += 0x9e3779b97f4a7c15u);
  }

  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }
  constexpr std::uint64_t operator()() { return next(); }

  constexpr std::uint64_t next() {
    const auto result = rotate(state_[0] + state_[3], 23) + state_[0];
    const auto shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform over 0 … bound - 1, without bias; bound > 0. A multiplication instead of a division;
  // the few values that would make some results likelier are drawn again.
  constexpr std::uint64_t below(std::uint64_t bound) {
    HF_DCHECK(bound > 0);
    auto product = multiply(next(), bound);
    if (product.low < bound) {
      const auto unfair = (0 - bound) % bound;
      while (product.low < unfair)
        product = multiply(next(), bound);
    }
    return product.high;
  }

  // Uniform over [0, 1), in steps of 2^-53.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  struct Product {
    std::uint64_t high;
    std::uint64_t low;
  };
  static constexpr Product multiply(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(a) * b;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
  }
  static constexpr std::uint64_t rotate(std::uint64_t value, int by) {
    return (value << by) | (value >> (64 - by));
  }

  std::array<std::uint64_t, 4> state_{};
};

// Zipf distribution over ranks 0 … n - 1: rank r comes with a probability proportional to
// 1 / (r + 1)^theta. As in YCSB (theta 0.99), by the method of Gray et al., "Quickly generating
// billion-record synthetic databases", SIGMOD 1994: exact for the two likeliest ranks, a close
// approximation for the others. Construction takes some 20 µs for any n, a draw some 20 ns (one
// pow).
class Zipf {
 public:
  static constexpr double kYcsbTheta = 0.99;

  // n > 0; 0 < theta < 1.
  explicit Zipf(std::uint64_t n, double theta = kYcsbTheta) : n_(n) {
    HF_CHECK(n > 0 && theta > 0 && theta < 1);
    zeta_ = zeta(n, theta);
    alpha_ = 1 / (1 - theta);
    second_ = 1 + std::pow(0.5, theta);
    eta_ = (1 - std::pow(2.0 / static_cast<double>(n), 1 - theta)) / (1 - second_ / zeta_);
  }

  std::uint64_t n() const { return n_; }

  std::uint64_t rank(Random& random) const {
    const double u = random.unit();
    const double uz = u * zeta_;
    if (uz < 1 || n_ == 1) return 0;
    if (uz < second_ || n_ == 2) return 1;
    const auto rank =
        static_cast<std::uint64_t>(static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_));
    return rank < n_ ? rank : n_ - 1;
  }

  // The rank scattered over 0 … n - 1, so that hot keys are not neighbours: YCSB's scrambled
  // zipfian. As there, two ranks may fall on one number and some numbers never come.
  std::uint64_t scrambled(Random& random) const { return mix64(rank(random) + 1) % n_; }

  // Sum of 1 / i^theta for i = 1 … n; the tail beyond 10,000 by the Euler-Maclaurin formula,
  // relative error below 1e-9.
  static double zeta(std::uint64_t n, double theta) {
    constexpr std::uint64_t kExact = 10'000;
    double sum = 0;
    for (auto i = n < kExact ? n : kExact; i > 0; --i)
      sum += std::pow(static_cast<double>(i), -theta);
    if (n <= kExact) return sum;
    const auto a = static_cast<double>(kExact);
    const auto b = static_cast<double>(n);
    sum += (std::pow(b, 1 - theta) - std::pow(a, 1 - theta)) / (1 - theta);
    sum += (std::pow(b, -theta) - std::pow(a, -theta)) / 2;
    return sum + theta * (std::pow(a, -theta - 1) - std::pow(b, -theta - 1)) / 12;
  }

 private:
  std::uint64_t n_;
  double zeta_ = 0;
  double alpha_ = 0;
  double second_ = 0;
  double eta_ = 0;
};

}  // namespace holdfast
