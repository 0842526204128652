// hash.hpp: hashing of bytes and mixing of words. XXH3 of xxHash, which every build of ours shares:
// its values are part of the medium format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace holdfast {

// XXH3, 64 bits, seed 0.
inline std::uint64_t hash64(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// A bijection of 64-bit words in which every input bit reaches every output bit (splitmix64's finaliser).
constexpr std::uint64_t mix64(std::uint64_t word) {
  word += 0x9E3779B97F4A7C15;
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
  word = (word ^ word >> 27) * 0x94D049BB133111EB;
  return word ^ word >> 31;
}

// hash64 of pieces as if they lay together.
class Hash64Stream {
 public:
  Hash64Stream() { XXH3_64bits_reset(&state_); }
  void add(const void* bytes, std::size_t count) { XXH3_64bits_update(&state_, bytes, count); }
  std::uint64_t digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace holdfast
