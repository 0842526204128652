// key_choice.hpp: the keys of an index benchmark, and which of them an operation takes.
//
// Key number n is mix64(n + 1), so that numbers in order are keys in no order, and values follow
// from keys. Choices are drawn before the clock starts.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/bench/unmix.hpp>

namespace holdfast::bench::index {

enum class Distribution : std::uint8_t { kUniform, kZipf, kSelfSimilar };

constexpr std::uint64_t key_of(std::uint64_t number) { return mix64(number + 1); }
constexpr std::uint64_t number_of(std::uint64_t key) { return unmix64(key) - 1; }
// The lowest byte is left to updates.
constexpr std::uint64_t kVersionMask = 0xff;
constexpr std::uint64_t value_of(std::uint64_t key, std::uint64_t version = 0) {
  return (mix64(key ^ 0x5bd1e995) & ~kVersionMask) | (version & kVersionMask);
}
constexpr bool is_value_of(std::uint64_t value, std::uint64_t key) {
  return ((value ^ value_of(key)) & ~kVersionMask) == 0;
}

class KeyChoice {
 public:
  // exponent: of Zipf's distribution, above 0 and below 1.
  KeyChoice(Distribution distribution, std::uint64_t records, std::uint64_t seed,
            double exponent = Zipf::kYcsbTheta)
      : numbers_(kListed) {
    Random random(seed);
    const Zipf zipf(records, exponent);
    for (auto& number : numbers_)
      number = draw(distribution, records, zipf, random);
  }
  // Of operation i.
  std::uint64_t key(std::uint64_t i) const { return key_of(numbers_[i & (kListed - 1)]); }

 private:
  static constexpr std::size_t kListed = 1 << 20;

  static std::uint64_t draw(Distribution distribution, std::uint64_t records, const Zipf& zipf,
                            Random& random) {
    if (distribution == Distribution::kUniform) return random.below(records);
    if (distribution == Distribution::kZipf) return zipf.scrambled(random);
    // Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994): of any
    // range, a fifth gets four fifths of the draws. Scattered, as the Zipf ranks are.
    static const double kExponent = std::log(0.2) / std::log(0.8);
    const auto rank = static_cast<std::uint64_t>(static_cast<double>(records) *
                                                 std::pow(random.unit(), kExponent));
    return mix64(rank + 1) % records;
  }

  std::vector<std::uint64_t> numbers_;
};

}  // namespace holdfast::bench::index
