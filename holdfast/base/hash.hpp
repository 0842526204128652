// hash.hpp: 64-bit hashes, inline up to 240 bytes. Not for adversarial input.
//
// hash64() is XXH3 and mix64() a fixed bijection: both are written to media (fingerprints,
// summaries), so neither may ever change. tests/base/hash_test.cpp pins their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace holdfast {

namespace detail {
// Inlined whole: with the length known the function is a dozen instructions.
template <std::size_t kBytes>
[[gnu::flatten]] inline std::uint64_t hash64_of(const std::byte* bytes) {
  return XXH3_64bits(bytes, kBytes);
}

// From here on XXH3 works by stripes of 64 bytes, for which vectors are worth a call.
inline constexpr std::size_t kLongBytes = 241;
// The same function by the widest vectors that this CPU has; at least kLongBytes.
std::uint64_t hash64_long(const std::byte* bytes, std::size_t count);
}  // namespace detail

// XXH3 64-bit of any number of bytes.
inline std::uint64_t hash64(std::span<const std::byte> bytes) {
  if (bytes.size() == 16) return detail::hash64_of<16>(bytes.data());  // The usual keys.
  if (bytes.size() == 8) return detail::hash64_of<8>(bytes.data());
  if (bytes.size() >= detail::kLongBytes) return detail::hash64_long(bytes.data(), bytes.size());
  return XXH3_64bits(bytes.data(), bytes.size());
}
inline std::uint64_t hash64(std::string_view bytes) {
  return hash64(std::as_bytes(std::span(bytes)));
}

// A bijection of the 64-bit integers in which every input bit flips each output bit with
// probability about one half. No two keys collide, and 0 maps to 0. (Stafford's thirteenth mix; the
// finaliser of splitmix64.)
constexpr std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// hash64 with seed 0 of pieces, as if they lay together.
class Hash64Stream {
 public:
  Hash64Stream() { XXH3_64bits_reset(&state_); }
  void add(const void* bytes, std::size_t count) { XXH3_64bits_update(&state_, bytes, count); }
  std::uint64_t digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace holdfast
