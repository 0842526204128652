// keyed_hash.hpp: a 64-bit hash for keys that an enemy may choose.
//
// Claim      Without the HashKey nobody can name keys that collide more often than random ones do,
//            in all 64 bits or in any of them: to do so is to tell AES-128 from random, or to beat
//            the bound of (2). Seeing other hashes does not help. n keys then collide in b bits
//            about n^2 / 2^(b + 1) times.
// Why (1)    Up to 16 bytes: the lower half of AES-128 of the bytes xor a secret that depends on
//            their count. Different bytes of one count are different inputs of a permutation, and
//            of two counts the inputs meet only where the difference of two secrets was guessed.
//     (2)    More than 16: their count, then their blocks, chained. Three blocks pass four rounds
//            each, under secret and independent round keys, every fourth one and the last pass
//            AES-128. This follows the periodic CBC of Minematsu and Tsunoo, "Provably Secure MACs
//            from Differentially-Uniform Permutations and AES-Based Implementations" (FSE 2006),
//            except that the count comes first, so that no message is a prefix of another, and
//            that all round keys are drawn from the 16 secret bytes by AES-128 in counter mode.
//            Two chains that differ meet in a block with a probability below 2^-113: the maximum
//            expected differential probability of four rounds, by Keliher and Sui, "Exact Maximum
//            Expected Differential and Linear Probability for Two-Round Advanced Encryption
//            Standard" (IET Information Security, 2007).
//            Four rounds alone would be too few, also for short keys: half of the bits are dropped,
//            and over all 2^64 differences of that half the bound of (2) adds up to 2^-49. For the
//            45 bits that an index uses it is 2^-30.
// No claim   About time: how long a look-up takes tells how many keys share a bucket, and without
//            the instruction, tables leak by the cache which bytes were looked up. About readers of
//            the process's memory, or of the superblock that the key is in.
// Values     The same on every CPU. They are written to media and may never change:
//            tests/base/keyed_hash_test.cpp pins them.
// Reads      Nothing outside of the span.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <holdfast/base/aes.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast {

// 16 secret bytes, drawn when a store is created, and what is made of them. Some 700 bytes: one per
// store, shared by its threads.
class HashKey {
 public:
  static constexpr std::size_t kBytes = 16;
  static constexpr std::size_t kShortBytes = 16;         // Keys up to here are one block.
  static constexpr std::size_t kLong = kShortBytes + 1;  // Place of the longer ones in start.

  explicit HashKey(std::span<const std::byte, kBytes> bytes);
  // From the system's generator. kIo: it has none.
  static Result<HashKey> draw();

  // What a superblock stores, and nobody else.
  std::span<const std::byte, kBytes> bytes() const { return bytes_; }

  struct Schedule {
    std::array<AesBlock, kShortBytes + 2> start;   // By count of bytes: its secret xor keys[0].
    AesKeys keys;                                  // Of AES-128 under the 16 bytes.
    std::array<std::array<AesBlock, 4>, 3> chain;  // Four rounds for each of three blocks.
  };
  const Schedule& schedule() const { return schedule_; }
  bool uses_instruction() const { return uses_instruction_; }
  // For tests and benchmarks: the same values by tables.
  void use_tables() { uses_instruction_ = false; }

 private:
  Schedule schedule_;
  bool uses_instruction_;
  std::array<std::byte, kBytes> bytes_;
};

namespace detail {

inline std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
// Fewer than 8 bytes in a word; together with `count` it says what they were.
inline std::uint64_t below_word(const std::byte* bytes, std::size_t count) {
  if (count >= 4) {
    std::uint32_t first, last;  // They overlap.
    std::memcpy(&first, bytes, sizeof first);
    std::memcpy(&last, bytes + count - sizeof last, sizeof last);
    return first | static_cast<std::uint64_t>(last) << 32;
  }
  if (count == 0) return 0;
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint64_t>(bytes[at]); };
  return byte(0) | byte(count / 2) << 8 | byte(count - 1) << 16;
}

// At most kShortBytes. From 8 bytes on the first and the last word, which overlap: two loads of 8
// bytes, since one of 16 would wait for keys that were just stored by words.
[[gnu::target("aes")]] inline std::uint64_t keyed_hash_short(const HashKey& key,
                                                             const std::byte* bytes,
                                                             std::size_t count) {
  const HashKey::Schedule& with = key.schedule();
  const __m128i block =
      count >= 8
          ? _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)),
                               _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + count - 8)))
          : _mm_cvtsi64_si128(static_cast<long long>(below_word(bytes, count)));
  __m128i state = _mm_xor_si128(block, with.start[count].vector());
#pragma GCC unroll 9
  for (std::size_t round = 1; round < 10; ++round)
    state = aes_round(state, with.keys[round].vector());
  state = aes_last_round(state, with.keys[10].vector());
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(state));
}

// More than kShortBytes; only where the CPU has the instruction.
std::uint64_t keyed_hash_long(const HashKey& key, const std::byte* bytes, std::size_t count);
// Any count, any CPU.
std::uint64_t keyed_hash_portable(const HashKey& key, const std::byte* bytes, std::size_t count);

// The whole of keyed_hash() where the CPU is known to have the instruction: verbs with a target
// attribute inline it.
[[gnu::target("aes")]] inline std::uint64_t keyed_hash_by_instruction(const HashKey& key,
                                                                      const std::byte* bytes,
                                                                      std::size_t count) {
  if (count <= HashKey::kShortBytes) [[likely]]
    return keyed_hash_short(key, bytes, count);
  return keyed_hash_long(key, bytes, count);
}
template <std::size_t kCount>
[[gnu::target("aes")]] inline std::uint64_t keyed_hash_of(const HashKey& key,
                                                          const std::byte* bytes) {
  return keyed_hash_by_instruction(key, bytes, kCount);
}

}  // namespace detail

inline std::uint64_t keyed_hash(const HashKey& key, std::span<const std::byte> bytes) {
  if (!key.uses_instruction()) [[unlikely]]
    return detail::keyed_hash_portable(key, bytes.data(), bytes.size());
  return detail::keyed_hash_by_instruction(key, bytes.data(), bytes.size());
}
template <std::size_t kCount>
  requires(kCount != std::dynamic_extent)
inline std::uint64_t keyed_hash(const HashKey& key, std::span<const std::byte, kCount> bytes) {
  if (!key.uses_instruction()) [[unlikely]]
    return detail::keyed_hash_portable(key, bytes.data(), kCount);
  return detail::keyed_hash_of<kCount>(key, bytes.data());
}
inline std::uint64_t keyed_hash(const HashKey& key, std::string_view bytes) {
  return keyed_hash(key, std::as_bytes(std::span(bytes)));
}

}  // namespace holdfast
