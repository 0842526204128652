// unmix.hpp: the inverse of mix64(). What is mixed from a number can be checked by its number.
#pragma once

#include <cstdint>

#include <holdfast/base/hash.hpp>

namespace holdfast::bench {

// The number whose mix64() is `value`.
constexpr std::uint64_t unmix64(std::uint64_t value) {
  value = (value ^ value >> 31 ^ value >> 62) * 0x319642b2d24d8ec3u;  // The inverses modulo 2^64.
  value = (value ^ value >> 27 ^ value >> 54) * 0x96de1b173f119089u;
  return value ^ value >> 30 ^ value >> 60;
}
static_assert(unmix64(mix64(0)) == 0 && unmix64(mix64(0x0123456789abcdef)) == 0x0123456789abcdef);

}  // namespace holdfast::bench
