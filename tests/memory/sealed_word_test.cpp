// The three codes of sealed words: their bits are frozen, and a damaged word shows itself.
#include <holdfast/memory/sealed_word.hpp>

#include <gtest/gtest.h>

#include <holdfast/base/random.hpp>

namespace holdfast {
namespace {

// As the structures on media have them; made with the code before there was one place for it.
TEST(SealedWords, AreBitForBitWhatIsOnMedia) {
  constexpr std::uint64_t kId = 0x1122334455667788;
  // Key-value store: generation 12345, sealed, block 42; the largest of a store with id 1.
  EXPECT_EQ(seal_word<SealedWord>(12345 | 3ull << 40, mix64(kId + 42)), 0x270d'0300'0000'3039u);
  EXPECT_EQ(seal_word<SealedWord>(0x5ff'ffff'ffff, mix64(1)), 0x2a16'05ff'ffff'ffffu);
  // Page store: word of freed page 42, version 12345; page 0 of slot 0.
  EXPECT_EQ(seal_word<MixedWord>(12345, mix64(kId ^ (42 * 4 + 2))), 0xd0a1'0000'0000'3039u);
  EXPECT_EQ(seal_word<MixedWord>(0, mix64(1)), 0x7ab4'0000'0000'0000u);
  // Log: head 12345; LSN limit 1.
  EXPECT_EQ(seal_word<ShortCheckWord>(12345, kId, 1), 0x3039b2u);
  EXPECT_EQ(seal_word<ShortCheckWord>(1, std::uint64_t{7}, 0), 0x11au);
}

TEST(SealedWords, GiveTheirValueBack) {
  Random random(1);
  for (int i = 0; i < 1'000; ++i) {
    const auto value = random.next() >> 16, context = random.next();
    EXPECT_EQ(open_word<SealedWord>(seal_word<SealedWord>(value, context), context), value);
    EXPECT_EQ(open_word<MixedWord>(seal_word<MixedWord>(value, context), context), value);
    EXPECT_EQ(open_word<ShortCheckWord>(seal_word<ShortCheckWord>(value, context, 3), context, 3),
              value);
  }
  for (const auto value : {std::uint64_t{0}, SealedWord::kMaxValue})
    EXPECT_EQ(open_word<SealedWord>(seal_word<SealedWord>(value, 5), 5), value);
  EXPECT_EQ(
      open_word<ShortCheckWord>(seal_word<ShortCheckWord>(ShortCheckWord::kMaxValue, 5, 1), 5, 1),
      ShortCheckWord::kMaxValue);
}

TEST(SealedWords, AZeroWordIsAnErrorUnlessTheCallerAllowsIt) {
  EXPECT_EQ(open_word<SealedWord>(0, mix64(7)), std::nullopt);
  EXPECT_EQ(open_word<MixedWord>(0, mix64(7)), std::nullopt);
  EXPECT_EQ(open_word<ShortCheckWord>(0, 7, 1), std::nullopt);
  EXPECT_EQ(open_or_unwritten<SealedWord>(0, mix64(7)), 0u);
  EXPECT_EQ(open_or_unwritten<SealedWord>(1, mix64(7)), std::nullopt);
}

// Flipped bits that a code does not notice, of `words` words with 64 flips each.
template <class Seal, class Open>
std::uint64_t unnoticed(unsigned words, Seal seal, Open open) {
  Random random(2);
  std::uint64_t count = 0;
  for (unsigned i = 0; i < words; ++i) {
    const auto context = random.next();
    const auto word = seal(random.next() >> (16 + i % 48), context);
    for (unsigned bit = 0; bit < 64; ++bit)
      count += open(word ^ std::uint64_t{1} << bit, context).has_value();
  }
  return count;
}

TEST(SealedWords, EverySingleFlippedBitIsNoticed) {
  EXPECT_EQ(
      unnoticed(
          20'000, [](auto value, auto context) { return seal_word<SealedWord>(value, context); },
          [](auto word, auto context) { return open_word<SealedWord>(word, context); }),
      0u);
}

// 20,000 words have 960,000 flips of value bits, of which 2^-16 pass: 14.6 on average. The check's
// own bits are always noticed.
TEST(SealedWords, OfAMixedWordOneFlippedBitIn65536Passes) {
  const auto count = unnoticed(
      20'000, [](auto value, auto context) { return seal_word<MixedWord>(value, context); },
      [](auto word, auto context) { return open_word<MixedWord>(word, context); });
  EXPECT_GT(count, 2u);
  EXPECT_LT(count, 40u);
}

// 1,120,000 flips, 2^-8: 4,375 on average.
TEST(SealedWords, OfAWordWithAShortCheckOneFlippedBitIn256Passes) {
  const auto count = unnoticed(
      20'000, [](auto value, auto context) { return seal_word<ShortCheckWord>(value, context, 1); },
      [](auto word, auto context) { return open_word<ShortCheckWord>(word, context, 1); });
  EXPECT_GT(count, 4'000u);
  EXPECT_LT(count, 4'750u);
}

TEST(SealedWords, AWordOfAnotherPlaceOrStructureIsNoticed) {
  Random random(3);
  unsigned passed = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto value = random.next() >> 16, id = random.next();
    passed += open_word<SealedWord>(seal_word<SealedWord>(value, mix64(id + 1)), mix64(id + 2))
                  .has_value();
    passed +=
        open_word<SealedWord>(seal_word<SealedWord>(value, mix64(id)), mix64(~id)).has_value();
  }
  EXPECT_LT(passed, 4u);  // 0.3 on average.
}

}  // namespace
}  // namespace holdfast
