#include <holdfast/base/keyed_hash.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast {
namespace {

HashKey key_of(unsigned first) {
  std::array<std::byte, HashKey::kBytes> bytes;
  for (unsigned i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(first + i);
  return HashKey(bytes);
}
const HashKey kKey = key_of(1);

HashKey by_tables(const HashKey& key) {
  HashKey copy = key;
  copy.use_tables();
  return copy;
}

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<std::byte>(i * 7 + 3));
  return bytes;
}

// What is on media depends on these. Computed in Python: AES-128 from PyPI's cryptography, a single
// round from the definition in FIPS 197. The counts are both sides of each border.
TEST(KeyedHash, GivesTheSameNumbersForEver) {
  struct Pinned {
    std::size_t bytes;
    std::uint64_t hash;
  };
  constexpr Pinned kPinned[] = {
      {0, 0x1081a30425f18c7cu},   {1, 0x4f409ef2483252deu},    {2, 0x1a8f9434a6f85d0bu},
      {3, 0xff5a3b00fbcade7au},   {4, 0xde6ddb147b36ee67u},    {7, 0xd6f86b5948768a48u},
      {8, 0x1cc9e550a304d6d8u},   {9, 0x0bf8575234c043b5u},    {15, 0x92273a2a48c93cf6u},
      {16, 0xb4b946a49177c756u},  {17, 0xf8b832f4a8a58e95u},   {31, 0x272bb2bcfb7ff995u},
      {32, 0x9097bff5a26f646fu},  {33, 0x3b9af593f949f1e6u},   {48, 0x70eb919896a5eb35u},
      {49, 0x8e29c7cb42602273u},  {64, 0xb72a05060e01f5e7u},   {65, 0x8bd6f5c1ae854191u},
      {100, 0x8c351602091af97cu}, {1100, 0x10ddc6f6869582b2u},
  };
  const auto bytes = some_bytes(1100);
  for (const Pinned& pinned : kPinned) {
    const auto part = std::span(bytes).first(pinned.bytes);
    EXPECT_EQ(keyed_hash(kKey, part), pinned.hash) << pinned.bytes;
  }
}

TEST(KeyedHash, InstructionAndTablesAgreeAtEveryLength) {
  if (!kKey.uses_instruction()) GTEST_SKIP() << "this CPU has no AES instructions";
  const HashKey tables = by_tables(kKey);
  const auto bytes = some_bytes(1107);
  for (std::size_t count = 0; count <= 1100; ++count) {
    const auto part = std::span(bytes).subspan(count % 8, count);
    ASSERT_EQ(keyed_hash(kKey, part), keyed_hash(tables, part)) << count;
  }
}

TEST(KeyedHash, OfAFixedExtentIsThatOfTheSameBytes) {
  const auto bytes = some_bytes(40);
  const std::span all(bytes);
  EXPECT_EQ(keyed_hash(kKey, all.first<8>()), keyed_hash(kKey, all.first(8)));
  EXPECT_EQ(keyed_hash(kKey, all.first<16>()), keyed_hash(kKey, all.first(16)));
  EXPECT_EQ(keyed_hash(kKey, all.first<3>()), keyed_hash(kKey, all.first(3)));
  EXPECT_EQ(keyed_hash(kKey, all.first<40>()), keyed_hash(kKey, all.first(40)));
}

// Pages that cannot be read on both sides.
TEST(KeyedHash, ReadsNothingOutsideOfTheSpan) {
  auto* pages = static_cast<std::byte*>(
      mmap(nullptr, 3 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, kPageBytes, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages + 2 * kPageBytes, kPageBytes, PROT_NONE), 0);
  const HashKey tables = by_tables(kKey);
  for (std::size_t count = 0; count <= 1100; ++count) {
    const std::span<const std::byte> first(pages + kPageBytes, count);
    const std::span<const std::byte> last(pages + 2 * kPageBytes - count, count);
    const auto hash = keyed_hash(kKey, first);
    ASSERT_EQ(keyed_hash(kKey, last), hash);
    ASSERT_EQ(keyed_hash(tables, last), hash);
    ASSERT_EQ(keyed_hash(tables, first), hash);
  }
  munmap(pages, 3 * kPageBytes);
}

// A byte that did not count would be a collision for everybody, whatever the secret.
TEST(KeyedHash, DependsOnEveryBitOnTheCountAndOnTheSecret) {
  auto bytes = some_bytes(200);
  for (std::size_t count = 0; count <= bytes.size(); ++count) {
    const auto part = std::span(bytes).first(count);
    const auto hash = keyed_hash(kKey, part);
    ASSERT_NE(keyed_hash(key_of(2), part), hash) << count;
    for (std::size_t bit = 0; bit < count * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      ASSERT_NE(keyed_hash(kKey, part), hash) << count << " " << bit;
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
  }
  // Zeros of different counts differ in nothing but the count; so do equal bytes.
  for (const std::byte value : {std::byte{0}, std::byte{0x5a}}) {
    const std::vector<std::byte> same(300, value);
    std::vector<std::uint64_t> seen;
    for (std::size_t count = 0; count <= same.size(); ++count)
      seen.push_back(keyed_hash(kKey, std::span(same).first(count)));
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  }
}

TEST(KeyedHash, SecretsThatAreDrawnDiffer) {
  const HashKey a = HashKey::draw().value();
  const HashKey b = HashKey::draw().value();
  EXPECT_FALSE(std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin()));
  EXPECT_NE(keyed_hash(a, "key"), keyed_hash(b, "key"));
  EXPECT_EQ(keyed_hash(HashKey(a.bytes()), "key"), keyed_hash(a, "key"));
}

TEST(KeyedHash, EveryInputBitFlipsEveryOutputBitHalfOfTheTime) {
  constexpr int kTrials = 1000;
  const double bound = 6 * std::sqrt(kTrials / 4.0);  // Six deviations of a fair coin.
  Random random(7);
  for (const std::size_t count : {8, 16, 24, 50}) {
    for (std::size_t bit = 0; bit < count * 8; bit += count > 16 ? 7 : 1) {
      std::array<int, 64> flipped{};
      for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<std::byte> bytes(count);
        for (auto& byte : bytes)
          byte = static_cast<std::byte>(random.next());
        const auto before = keyed_hash(kKey, bytes);
        bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        const auto changed = before ^ keyed_hash(kKey, bytes);
        for (unsigned out = 0; out < 64; ++out)
          flipped[out] += static_cast<int>(changed >> out & 1);
      }
      for (unsigned out = 0; out < 64; ++out)
        ASSERT_NEAR(flipped[out], kTrials / 2, bound) << count << " " << bit << " " << out;
    }
  }
}

// Chi-square over 4096 buckets, by bits from `shift` on.
double unevenness(const std::vector<std::uint64_t>& hashes, unsigned shift) {
  std::vector<double> buckets(4096);
  for (const auto hash : hashes)
    ++buckets[hash >> shift & 4095];
  const double expected = static_cast<double>(hashes.size()) / 4096;
  return std::accumulate(buckets.begin(), buckets.end(), 0.0, [&](double sum, double count) {
    return sum + (count - expected) * (count - expected) / expected;
  });
}

// 4095 degrees of freedom: the mean is 4095, the deviation 90.5. Six of them.
void expect_even(const std::vector<std::uint64_t>& hashes, const std::string& what) {
  for (const unsigned shift : {0u, 12u, 19u, 31u, 43u, 52u})
    EXPECT_NEAR(unevenness(hashes, shift), 4095, 6 * 90.5) << what << ", from bit " << shift;
}

template <class Make>
std::vector<std::uint64_t> hashes_of(std::size_t count, Make&& make) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    hashes.push_back(keyed_hash(kKey, make(i)));
  return hashes;
}

TEST(KeyedHash, SpreadsSequentialAndStructuredKeys) {
  constexpr std::size_t kKeys = 100'000;
  std::array<std::uint64_t, 2> words{};
  const auto as_key = [&](std::size_t count) {
    return std::as_bytes(std::span(words)).first(count);
  };
  expect_even(hashes_of(kKeys, [&](std::size_t i) { return words = {i, 0}, as_key(8); }),
              "8 bytes, little-endian");
  expect_even(
      hashes_of(kKeys,
                [&](std::size_t i) { return words = {0, __builtin_bswap64(i)}, as_key(16); }),
      "16 bytes, big-endian");
  expect_even(hashes_of(kKeys, [&](std::size_t i) { return words = {i << 40, i}, as_key(16); }),
              "both words");
  expect_even(hashes_of(kKeys, [&](std::size_t i) { return words = {i * 4096, 7}, as_key(13); }),
              "multiples of a page, 13 bytes");
  std::string text;
  expect_even(hashes_of(kKeys,
                        [&](std::size_t i) {
                          text = "user:" + std::to_string(i) + ":profile/settings";
                          return std::as_bytes(std::span(text));
                        }),
              "texts");
}

// ---- Keys made to collide under XXH3 ----

std::uint64_t secret_word(std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, XXH3_kSecret + at, sizeof word);
  return word;
}

// XXH3 of 16 bytes stirs a = 16 + swap(low) + high + (product's low half xor its high half), where
// low and high are the key's words xor constants. For an even `low` that is small, the xor changes
// few bits of the product; each guess of that change gives `high` by an inverse modulo 2^64.
std::vector<std::array<std::uint64_t, 2>> colliding_16(std::size_t wanted) {
  constexpr std::uint64_t kTarget = 0x123456789abcdef0;
  std::vector<std::array<std::uint64_t, 2>> keys;
  for (std::uint64_t low = 2; keys.size() < wanted; low += 2) {
    const std::uint64_t sum = kTarget - 16 - __builtin_bswap64(low);
    std::uint64_t inverse = low + 1;
    for (int step = 0; step < 6; ++step)
      inverse *= 2 - (low + 1) * inverse;
    const auto change = static_cast<std::int64_t>(std::bit_ceil(low + 1));
    for (std::int64_t guess = -change; guess <= change; ++guess) {
      const std::uint64_t high = (sum - static_cast<std::uint64_t>(guess)) * inverse;
      const std::uint64_t folded = XXH3_mul128_fold64(low, high);
      if (high + folded == sum)
        keys.push_back(
            {low ^ secret_word(24) ^ secret_word(32), high ^ secret_word(40) ^ secret_word(48)});
    }
  }
  return keys;
}

// XXH3 of 17 to 32 bytes adds two products: where a factor of the first is zero, the other factor
// does not count.
std::vector<std::array<std::uint64_t, 4>> colliding_32(std::size_t wanted) {
  std::vector<std::array<std::uint64_t, 4>> keys;
  for (std::size_t i = 0; i < wanted; ++i)
    keys.push_back({secret_word(0), i, 1, 2});
  return keys;
}

template <class Key>
void expect_spread(const std::vector<Key>& keys) {
  const auto bytes_of = [](const Key& key) { return std::as_bytes(std::span(key)); };
  for (const Key& key : keys)
    ASSERT_EQ(hash64(bytes_of(key)), hash64(bytes_of(keys[0]))) << "they do not collide";
  const auto hashes = hashes_of(keys.size(), [&](std::size_t i) { return bytes_of(keys[i]); });
  std::vector<std::uint64_t> upper;  // The bits that the index uses.
  for (const auto hash : hashes)
    upper.push_back(hash >> 19);
  std::sort(upper.begin(), upper.end());
  EXPECT_EQ(std::adjacent_find(upper.begin(), upper.end()), upper.end());
  expect_even(hashes, "keys of one XXH3");
}

TEST(KeyedHash, SpreadsKeysMadeToCollideUnderXxh3) {
  expect_spread(colliding_16(3'000));
  expect_spread(colliding_32(25'000));
}

}  // namespace
}  // namespace holdfast
