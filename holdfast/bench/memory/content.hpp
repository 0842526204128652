// content.hpp: what lies in a measured range, so that a checksum of everything that was read can be
// known without reading.
//
// The 8-byte word number w of a range holds kContentSeed + (w + 1) * kContentStep. A line is 8
// lanes; the sum of lane j over any set of lines then follows from how many lines there are and the
// sum of their numbers. Writers store the same again, plus a tag in lane 7, which is another one in
// each repetition: so lanes 0 to 6 can be checked whoever writes beside the reader, and lane 7
// shows that a write arrived.
//
// All arithmetic is modulo 2^64. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::bench::memory {

inline constexpr std::uint64_t kContentStep = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t kContentSeed = 0x2545f4914f6cdd1d;
inline constexpr unsigned kLanes = 8;

constexpr std::uint64_t content_of_word(std::uint64_t word) {
  return kContentSeed + (word + 1) * kContentStep;
}

// Sum of lane `lane` over `count` lines from line `first` on.
constexpr std::uint64_t content_of_lane(std::uint64_t first, std::uint64_t count, unsigned lane) {
  // count * (count - 1) / 2 is exact: one of the two is even.
  const auto pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
  return count * content_of_word(first * kLanes + lane) + pairs * kLanes * kContentStep;
}

// Lines that were read: enough to know every lane's sum.
struct LinesRead {
  std::uint64_t lines = 0;
  std::uint64_t sum_of_numbers = 0;

  constexpr void add(std::uint64_t first, std::uint64_t count) {
    lines += count;
    const auto pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    sum_of_numbers += count * first + pairs;
  }
  constexpr std::uint64_t lane(unsigned lane) const {
    return lines * content_of_word(lane) + sum_of_numbers * kLanes * kContentStep;
  }
};

// The same for 8-byte words.
struct WordsRead {
  std::uint64_t words = 0;
  std::uint64_t sum_of_numbers = 0;

  constexpr void add(std::uint64_t first, std::uint64_t count) {
    words += count;
    const auto pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    sum_of_numbers += count * first + pairs;
  }
  constexpr std::uint64_t sum() const {
    return words * content_of_word(0) + sum_of_numbers * kContentStep;
  }
};

}  // namespace holdfast::bench::memory
