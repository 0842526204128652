// sealed_word.hpp: a value and its check in one aligned 8-byte word, which no crash can tear.
//
// The check binds the word to a context: its structure's id and its place. So a word is
// refused that is damaged, lies in another place or belongs to another structure. Three codes are
// on media, all frozen. New formats use SealedWord.
//
//   code             value      check              unnoticed flips    used by
//   SealedWord       48, low    16, a product      none               key-value store
//   MixedWord        48, low    16, mix64          1 in 65,536        page store
//   ShortCheckWord   56, high    8, mix64          1 in 256           log
//
// "Unnoticed flips" are single flipped bits of the value. A word of another place or of another
// structure passes by chance: once in 65,536 times, with ShortCheckWord once in 256.
//
// A zero word is what media contain that were never written. It is damage unless the caller says
// that it is allowed, with open_or_unwritten().
#pragma once

#include <cstdint>
#include <optional>

#include <holdfast/base/check.hpp>
#include <holdfast/base/hash.hpp>

namespace holdfast {

struct SealedWord {
  static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 48) - 1;
  // Every flipped bit of the value changes the check: no window of 16 bits of the multiplier is all
  // zero or all one.
  static constexpr std::uint64_t seal(std::uint64_t value, std::uint64_t context) {
    return value | ((value ^ context) * 0x9E3779B97F4A7C15) >> 48 << 48;
  }
  static constexpr std::uint64_t value(std::uint64_t word) { return word & kMaxValue; }
};

struct MixedWord {
  static constexpr std::uint64_t kMaxValue = SealedWord::kMaxValue;
  static constexpr std::uint64_t seal(std::uint64_t value, std::uint64_t context) {
    return value | mix64(value ^ context) >> 48 << 48;
  }
  static constexpr std::uint64_t value(std::uint64_t word) { return word & kMaxValue; }
};

struct ShortCheckWord {
  static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 56) - 1;
  static constexpr std::uint64_t seal(std::uint64_t value, std::uint64_t id, std::uint64_t place) {
    return value << 8 | (mix64(mix64(value + id) + place) & 0xff);
  }
  static constexpr std::uint64_t value(std::uint64_t word) { return word >> 8; }
};

// The word for `value`, which is at most Code::kMaxValue.
template <class Code, class... Context>
std::uint64_t seal_word(std::uint64_t value, Context... context) {
  HF_CHECK(value <= Code::kMaxValue);
  return Code::seal(value, context...);
}

// The value of a word as found on a medium; nothing if its check does not hold.
template <class Code, class... Context>
constexpr std::optional<std::uint64_t> open_word(std::uint64_t word, Context... context) {
  const auto value = Code::value(word);
  if (Code::seal(value, context...) == word) return value;
  return std::nullopt;
}

// The same, where a word may never have been written: that reads as 0.
template <class Code, class... Context>
constexpr std::optional<std::uint64_t> open_or_unwritten(std::uint64_t word, Context... context) {
  if (word == 0) return 0;
  return open_word<Code>(word, context...);
}

}  // namespace holdfast
