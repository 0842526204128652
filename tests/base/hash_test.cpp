#include <holdfast/base/hash.hpp>
#include <holdfast/base/hash_vectors.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace holdfast {
namespace {

// What is on media depends on these. Computed with PyPI's xxhash 3 on bytes 3, 10, 17, … (mod 256);
// the lengths are both sides of each border between the algorithm's cases.
TEST(Hash64, GivesTheSameNumbersForEver) {
  struct Pinned {
    std::size_t bytes;
    std::uint64_t plain;
  };
  constexpr Pinned kPinned[] = {
      {0, 0x2d06800538d394c2u},    {1, 0x13e608bc156defedu},   {3, 0xa9088dda485b481cu},
      {4, 0x6d9253b16c8b1ed3u},    {8, 0x60539db630471163u},   {9, 0xfeff668361d723a8u},
      {16, 0xb8c859b0f030b585u},   {17, 0x714a04408e79b80fu},  {128, 0x67425a03650261bfu},
      {129, 0xc664bf3311c6abc4u},  {240, 0x64556dc6b462a6cfu}, {241, 0x8beadd3a8874fe17u},
      {1000, 0x6c4f14bd97bd9e82u},
  };
  std::vector<std::byte> bytes;
  for (unsigned i = 0; i < 1000; ++i)
    bytes.push_back(static_cast<std::byte>(i * 7 + 3));
  for (const auto& pinned : kPinned) {
    const auto part = std::span<const std::byte>(bytes).first(pinned.bytes);
    EXPECT_EQ(hash64(part), pinned.plain) << pinned.bytes;
  }
  EXPECT_EQ(hash64("key"), hash64(std::as_bytes(std::span("key", 3))));
}

// What vectors chosen at run time make of it, beyond the 1024 bytes after which XXH3 stirs its
// sums.
TEST(Hash64, OfManyBytesIsWhatThePortableCodeMakes) {
  std::vector<std::byte> bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * i >> 3);
  for (const std::size_t count : {240, 241, 255, 256, 512, 1023, 1024, 1025, 2048, 5000})
    EXPECT_EQ(hash64(std::span(bytes).first(count)), XXH3_64bits(bytes.data(), count)) << count;
}

// Also those that this CPU would not choose.
TEST(Hash64, EachWidthOfVectorsMakesTheSame) {
  std::vector<std::byte> bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * i * i >> 5);
  for (const std::size_t count : {241, 256, 1024, 1025, 2049, 5000}) {
    const std::uint64_t portable = XXH3_64bits(bytes.data(), count);
    if (__builtin_cpu_supports("avx2")) {
      EXPECT_EQ(detail::hash64_avx2(bytes.data(), count), portable) << count;
    }
    if (__builtin_cpu_supports("avx512f")) {
      EXPECT_EQ(detail::hash64_avx512(bytes.data(), count), portable) << count;
    }
  }
}

std::uint64_t inverse(std::uint64_t odd) {  // Modulo 2^64, by Newton's method.
  std::uint64_t result = odd;
  for (int step = 0; step < 6; ++step)
    result *= 2 - odd * result;
  return result;
}

std::uint64_t unmix64(std::uint64_t value) {
  value ^= (value >> 31) ^ (value >> 62);
  value *= inverse(0x94d049bb133111ebu);
  value ^= (value >> 27) ^ (value >> 54);
  value *= inverse(0xbf58476d1ce4e5b9u);
  return value ^ (value >> 30) ^ (value >> 60);
}

TEST(Mix64, IsABijectionWithPinnedValues) {
  static_assert(mix64(0) == 0);
  static_assert(mix64(1) == 0x5692161d100b05e5u);
  // splitmix64's first from seed 0.
  static_assert(mix64(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu);
  std::uint64_t value = 1;
  for (int i = 0; i < 100'000; ++i, value = value * 6364136223846793005u + 1) {
    ASSERT_EQ(unmix64(mix64(value)), value);
  }
}

TEST(Mix64, EveryInputBitReachesAboutHalfOfTheOutput) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    double flipped = 0;
    std::uint64_t value = 12345;
    for (int i = 0; i < 1000; ++i, value = value * 6364136223846793005u + 1) {
      flipped += std::popcount(mix64(value) ^ mix64(value ^ (std::uint64_t{1} << bit)));
    }
    EXPECT_NEAR(flipped / 1000, 32, 1.5) << bit;
  }
}

}  // namespace
}  // namespace holdfast
