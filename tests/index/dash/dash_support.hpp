// dash_support.hpp: keys of which a test says where they belong.
//
// An index hashes by its random id. Tests name hashes, and ask for the key that has one: the hash
// is a bijection.
#pragma once

#include <cstdint>
#include <map>

#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/dash/dash.hpp>

#include "../index_support.hpp"

namespace holdfast::index {

// The inverse of mix64.
constexpr std::uint64_t unmix64(std::uint64_t value) {
  value ^= value >> 31 ^ value >> 62;
  value *= 0x319642b2d24d8ec3;
  value ^= value >> 27 ^ value >> 54;
  value *= 0x96de1b173f119089;
  return value ^ value >> 30 ^ value >> 60;
}
static_assert(unmix64(mix64(0x0123456789abcdef)) == 0x0123456789abcdef && unmix64(mix64(7)) == 7);

inline std::uint64_t key_of_hash(std::uint64_t hash, std::uint64_t id) {
  return unmix64(hash) ^ id;
}
inline std::uint64_t hash_of_key(std::uint64_t key, std::uint64_t id) { return mix64(key ^ id); }

// A hash of bucket `bucket` of `buckets`, whose lowest bits are `pattern`. Those of different
// `number`s differ in their fingerprints.
constexpr std::uint64_t hash_in(std::uint32_t bucket, std::uint32_t buckets, std::uint32_t pattern,
                                std::uint16_t number) {
  const auto least = ((std::uint64_t{bucket} << 32) + buckets - 1) / buckets;
  // The bucket goes by the upper half as a whole: its lower 16 bits are free.
  return ((least + 0xffff) >> 16 << 16 | number) << 32 | pattern;
}

using Contents = std::map<std::uint64_t, std::uint64_t>;  // By key.

}  // namespace holdfast::index
