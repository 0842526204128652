// aes.hpp: rounds of AES (FIPS 197), the building block of keyed_hash.hpp and of record sums.
//
// A round replaces bytes, shifts rows, mixes columns and adds a round key; the last round of the
// cipher mixes no columns. Each exists twice with the same value: as one instruction, in functions
// with the target attribute "aes" (they are inlined only into functions that have it, too), and
// portably by tables. The tables leak by the cache which bytes were looked up; the instruction does
// not.
// Values are written to media, so they may never change. FIPS 197 pins them:
// tests/base/aes_test.cpp.
#pragma once

#include <wmmintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast {

// Whether this CPU has the instruction; asked once, at run time.
bool cpu_has_aes();

// 128 bits: the bytes of the cipher's state in memory order.
struct alignas(16) AesBlock {
  std::array<std::uint64_t, 2> words{};

  friend AesBlock operator^(const AesBlock& a, const AesBlock& b) {
    return {{a.words[0] ^ b.words[0], a.words[1] ^ b.words[1]}};
  }
  friend bool operator==(const AesBlock&, const AesBlock&) = default;
  // Aligned: one load, or the memory operand of the instruction that uses it.
  __m128i vector() const { return _mm_load_si128(reinterpret_cast<const __m128i*>(this)); }
};
static_assert(sizeof(AesBlock) == 16);

AesBlock aes_round_portable(const AesBlock& state, const AesBlock& key);
AesBlock aes_last_round_portable(const AesBlock& state, const AesBlock& key);

// Only where cpu_has_aes().
[[gnu::target("aes")]] inline __m128i aes_round(__m128i state, __m128i key) {
  return _mm_aesenc_si128(state, key);
}
[[gnu::target("aes")]] inline __m128i aes_last_round(__m128i state, __m128i key) {
  return _mm_aesenclast_si128(state, key);
}

// AES-128: the key before the first round, and those of the ten rounds.
using AesKeys = std::array<AesBlock, 11>;
AesKeys expand_aes_key(const AesBlock& key);
AesBlock aes128_portable(const AesKeys& keys, const AesBlock& block);

}  // namespace holdfast
