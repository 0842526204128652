// What the sum of a record finds, and how it is carried to another place.
#include <holdfast/kv/record_sum.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>

#include "record_support.hpp"

namespace holdfast::kv {
namespace {

constexpr std::uint64_t kSeed = 0x123456789abcdef0;
using Offsets = std::vector<std::uint32_t>;

// A record on lines, with room behind it, as in a run.
class OnMedium {
 public:
  static constexpr std::uint64_t kRoom = 4096;

  explicit OnMedium(const std::vector<std::byte>& record) {
    Random random(9);
    for (std::byte& byte : bytes_)
      byte = static_cast<std::byte>(random.next());
    std::memcpy(bytes_, record.data(), record.size());
  }
  std::byte* data() { return bytes_; }
  std::uint64_t word(std::size_t at) const { return record_detail::load_word(bytes_ + at); }
  void flip(std::size_t bit) { bytes_[bit / 8] ^= static_cast<std::byte>(1u << bit % 8); }

  // As a reader sees it: lengths from the header first, the sum over what they say then.
  bool is_whole(std::uint64_t seed, const PatchableWords& words) const {
    const RecordExtent shape(word(16), word(24), !words.empty());
    if (shape.padded_bytes() > kRoom) return false;
    return is_record_whole(bytes_, shape.padded_bytes(), seed, words);
  }

 private:
  alignas(64) std::byte bytes_[kRoom];
};

struct Case {
  std::size_t key, value;
  Offsets offsets;
};
// 256 bytes each.
const std::vector<Case> kCases = {
    {16, 200, {}}, {16, 200, {0}}, {16, 200, {8, 64, 192}}, {7, 180, {0, 8}}, {100, 80, {}}};

OnMedium made(const Case& of) {
  const TestRecord record{pattern(of.key, 7), pattern(of.value, 11)};
  return OnMedium(model_record(record, kSeed, of.offsets));
}

// On media: new numbers are a new version of the format. Computed in Python from the definition in
// record_sum.hpp and FIPS 197.
TEST(RecordSum, GivesTheSameNumbersForEver) {
  struct Pinned {
    std::size_t key, value;
    Offsets offsets;
    std::uint64_t flags, keyspace, expiry, fixed, whole;
  };
  const std::vector<Pinned> kPinned = {
      {16, 200, {}, 0, 0, 0, 0x91d59fb30b7a86cf, 0x91d59fb30b7a86cf},
      {16, 200, {0}, 0, 0, 0, 0x5785c97ed5219536, 0x15c0a457d2b0975a},
      {8, 100, {8, 24}, 0, 7, 0, 0xb48817d26e53af0c, 0xef84409bc91333ea},
      {0, 0, {}, 0, 0, 0, 0xa1cd846caf0f2441, 0xa1cd846caf0f2441},
      {24, 0, {0}, 0, 0, 0, 0x92c4cabdc977860f, 0x92c4cabdc977860f},
      {130, 601, {}, 1, 2, 77777, 0x46e57094e8ee9a56, 0x46e57094e8ee9a56},
      {16, 1000, {0, 8, 512, 600}, 1, 65535, 1ull << 60, 0xd02218451b33ac88, 0x319c27aa66c82874},
  };
  for (const Pinned& pinned : kPinned) {
    TestRecord record{pattern(pinned.key, 7), pattern(pinned.value, 11)};
    record.flags = pinned.flags;
    record.keyspace = pinned.keyspace;
    record.expiry = pinned.expiry;
    alignas(64) std::byte medium[2048];
    const RecordSums expected{pinned.fixed, pinned.whole};
    EXPECT_EQ(compose_record_by(record_isa(), Persist::none(), medium, record.parts(), kSeed,
                                PatchableWords(pinned.offsets)),
              expected)
        << pinned.key << " + " << pinned.value;
  }
}

TEST(RecordSum, AcceptsWhatWasStored) {
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    EXPECT_TRUE(made(of).is_whole(kSeed, words));
  }
}

TEST(RecordSum, FindsEverySingleAndDoubleBitError) {
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    OnMedium medium = made(of);
    for (std::size_t first = 0; first < 2048; ++first) {
      medium.flip(first);
      ASSERT_FALSE(medium.is_whole(kSeed, words)) << first;
#ifndef HF_SANITIZED  // There all pairs take minutes.
      constexpr std::size_t kStep = 1;
#else
      constexpr std::size_t kStep = 97;
#endif
      for (std::size_t second = first + 1; second < 2048; second += kStep) {
        medium.flip(second);
        ASSERT_FALSE(medium.is_whole(kSeed, words)) << first << " " << second;
        medium.flip(second);
      }
      medium.flip(first);
    }
    EXPECT_TRUE(medium.is_whole(kSeed, words));
  }
}

// Words of the record replaced by what lay there before: another record, zeros, or noise.
TEST(RecordSum, FindsTornWords) {
  Random random(5);
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    TestRecord older{pattern(of.key, 7), pattern(of.value, 13)};
    older.sequence = 40;
    older.ordinal = 4;
    const std::vector<std::vector<std::byte>> before = {
        model_record(older, kSeed, of.offsets), std::vector<std::byte>(256), pattern(256, 101)};
    const OnMedium intact = made(of);
    for (int trial = 0; trial < 20'000; ++trial) {
      OnMedium medium = intact;
      const auto& old = before[random.below(before.size())];
      const std::uint64_t torn = trial % 3 == 0 ? random.next() : random.next() & random.next();
      bool changed = false;
      for (std::size_t word = 0; word < 32; ++word) {
        if ((torn >> word & 1) == 0 || word_of(old, word * 8) == medium.word(word * 8)) continue;
        std::memcpy(medium.data() + word * 8, old.data() + word * 8, 8);
        changed = true;
      }
      ASSERT_NE(medium.is_whole(kSeed, words), changed) << trial;
    }
  }
}

TEST(RecordSum, FindsEveryWordAndLineThatIsZeroOrInAnothersPlace) {
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    for (const std::size_t unit : {8, 16, 64}) {
      for (std::size_t a = 0; a < 256; a += unit) {
        OnMedium medium = made(of);
        OnMedium zeroed = medium;
        std::memset(zeroed.data() + a, 0, unit);
        const bool was_zero = std::memcmp(zeroed.data(), medium.data(), 256) == 0;
        ASSERT_EQ(zeroed.is_whole(kSeed, words), was_zero) << unit << " " << a;
        for (std::size_t b = a + unit; b < 256; b += unit) {
          OnMedium swapped = medium;
          std::memcpy(swapped.data() + a, medium.data() + b, unit);
          std::memcpy(swapped.data() + b, medium.data() + a, unit);
          const bool were_equal = std::memcmp(swapped.data(), medium.data(), 256) == 0;
          ASSERT_EQ(swapped.is_whole(kSeed, words), were_equal) << unit << " " << a << " " << b;
        }
      }
    }
  }
}

TEST(RecordSum, FindsWhatAnotherGenerationWrote) {
  Random random(6);
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    const OnMedium medium = made(of);
    for (int bit = 0; bit < 64; ++bit)
      ASSERT_FALSE(medium.is_whole(kSeed ^ std::uint64_t{1} << bit, words));
    for (int i = 0; i < 1000; ++i)
      ASSERT_FALSE(medium.is_whole(random.next(), words));
  }
}

TEST(RecordSum, OfPatchedWordsChangesOnlyInTheChecksum) {
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    const std::uint64_t value_at = RecordExtent(0, of.key, !words.empty()).value_at;
    for (const std::uint32_t offset : of.offsets) {
      OnMedium medium = made(of);
      const RecordSums before = record_sum_of(medium.data(), 256, kSeed, words);
      medium.flip((value_at + offset) * 8 + 3);
      const RecordSums after = record_sum_of(medium.data(), 256, kSeed, words);
      EXPECT_EQ(after.fixed, before.fixed);
      EXPECT_NE(after.whole, before.whole);
      EXPECT_TRUE(is_record_fixed(medium.data(), 256, kSeed, words));
      EXPECT_FALSE(is_record_whole(medium.data(), 256, kSeed, words));
      EXPECT_EQ(after.whole,
                after.fixed + patchable_sum(medium.data() + value_at, of.value, words));
    }
  }
}

TEST(RecordSum, IsCarriedToAnotherPlaceWithoutALookAtTheBytes) {
  Random random(8);
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    for (int trial = 0; trial < 200; ++trial) {
      OnMedium medium = made(of);
      const RecordSums old = record_sum_of(medium.data(), 256, kSeed, words);
      const std::uint64_t place = medium.word(24);
      TestRecord record{pattern(of.key, 7), pattern(of.value, 11)};
      record.ordinal = static_cast<std::uint32_t>(random.next());
      const std::uint64_t seed = random.next();
      const auto moved = model_record(record, seed, of.offsets);
      ASSERT_EQ(carry_sum(old.fixed, place, kSeed, word_of(moved, 24), seed),
                word_of(moved, of.offsets.empty() ? 0 : 32));
    }
  }
}

// Moved without a look at it, a damaged record must not become a sound one.
TEST(RecordSum, CarriedFromADamagedRecordStaysWrong) {
  constexpr std::uint64_t kNewSeed = 77;
  for (const Case& of : kCases) {
    const PatchableWords words(of.offsets);
    const std::size_t stored_at = words.empty() ? 0 : 32;
    for (std::size_t bit = 0; bit < 2048; ++bit) {
      OnMedium medium = made(of);
      medium.flip(bit);
      if (is_record_fixed(medium.data(), 256, kSeed, words)) continue;  // A patchable word.
      const std::uint64_t place = medium.word(24);
      const std::uint64_t new_place = (place & 0xffffffff) | std::uint64_t{9} << 32;
      const std::uint64_t carried =
          carry_sum(medium.word(stored_at), place, kSeed, new_place, kNewSeed);
      std::memcpy(medium.data() + 24, &new_place, 8);
      std::memcpy(medium.data() + stored_at, &carried, 8);
      ASSERT_FALSE(is_record_fixed(medium.data(), 256, kNewSeed, words)) << bit;
    }
  }
}

// A header may say anything; the caller gives the bytes that there are. A sanitizer watches the
// heap here, and tests/fuzz/record_sum_fuzz.cpp puts them before a page that cannot be read.
TEST(RecordSum, OfAnyBytesReadsNothingBehindThem) {
  Random random(10);
  const std::vector<Offsets> sets = {{}, {0}, {0, 8, 56}, {504, 512, 4000}};
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::size_t bytes = 64 * (1 + random.below(6));
    const std::unique_ptr<std::byte, decltype(&std::free)> record(
        static_cast<std::byte*>(std::aligned_alloc(64, bytes)), &std::free);
    for (std::size_t at = 0; at < bytes; at += 8) {
      const std::uint64_t word = random.next() >> random.below(64);
      std::memcpy(record.get() + at, &word, 8);
    }
    const PatchableWords words(sets[random.below(sets.size())]);
    const RecordSums sums = record_sum_of(record.get(), bytes, kSeed, words);
    ASSERT_EQ(record_sum_by(RecordIsa::kPortable, record.get(), bytes, kSeed, words), sums);
  }
}

}  // namespace
}  // namespace holdfast::kv
