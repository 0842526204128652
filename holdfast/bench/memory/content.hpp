// content.hpp: what lies in a measured range, so that a checksum of everything that was read can be
// known without reading.
//
// The 8-byte word number w of a range holds kContentSeed + (w + 1) * kContentStep. A line is 8
// lanes; the sum of lane j over any set of lines then follows from how many lines there are and the
// sum of their numbers. Writers store the same again, plus a tag in lane 7, which differs in each
// repetition. So lanes 0 to 6 can be checked while writers run, and lane 7 shows that a write
// arrived.
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

// 0 + 1 + … + count - 1.
constexpr std::uint64_t sum_below(std::uint64_t count) {
  // Exact: one of the two is even.
  return count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
}

// Sum of lane `lane` over `count` lines from line `first` on.
constexpr std::uint64_t content_of_lane(std::uint64_t first, std::uint64_t count, unsigned lane) {
  return count * content_of_word(first * kLanes + lane) + sum_below(count) * kLanes * kContentStep;
}

// The numbers of what was read: enough to know what it adds up to.
struct NumbersRead {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;

  constexpr void add(std::uint64_t first, std::uint64_t several) {
    add_accesses(1, several, first);
  }
  // `accesses` of `each` numbers one after another; their first numbers add up to `sum_of_firsts`.
  constexpr void add_accesses(std::uint64_t accesses, std::uint64_t each,
                              std::uint64_t sum_of_firsts) {
    count += accesses * each;
    sum += each * sum_of_firsts + accesses * sum_below(each);
  }
};

struct LinesRead : NumbersRead {
  constexpr std::uint64_t lane(unsigned lane) const {
    return count * content_of_word(lane) + sum * kLanes * kContentStep;
  }
};

struct WordsRead : NumbersRead {
  constexpr std::uint64_t content() const {
    return count * content_of_word(0) + sum * kContentStep;
  }
};

}  // namespace holdfast::bench::memory
