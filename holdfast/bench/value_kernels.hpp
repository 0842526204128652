// value_kernels.hpp: filling, comparing and summing the words of a value, as fast as this CPU can.
//
// A benchmark that builds and checks values must not hide what it measures: an out-of-order
// processor overlaps the cache misses of neighbouring operations only as far as its window of some
// 300 to 500 instructions reaches. Word j of a value is `tag + j * kStep` from the third on, so
// that 200 bytes are filled or compared word by word in about 20 instructions (workload.hpp).
//
// The widest of AVX-512, AVX2 and portable code is chosen once, at the first use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

inline constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

struct ValueKernels {
  // Word j = tag + j * kStep for j in [2, words); may write up to 64 bytes from `to` in any case.
  // Any alignment.
  void (*fill)(void* to, std::size_t words, std::uint64_t tag);
  // 0 if word j is tag + j * kStep for all j in [2, words). Any alignment; no branch on the data.
  std::uint64_t (*differs)(const void* from, std::size_t words, std::uint64_t tag);
  // Sum of the words. Any alignment.
  std::uint64_t (*sum)(const void* from, std::size_t words);
  // Copies `bytes`; for values of a few hundred bytes. Ranges do not overlap.
  void (*copy)(void* to, const void* from, std::size_t bytes);
  const char* name;
};

// By name ("avx512", "avx2", "portable"), or null where this CPU lacks it.
const ValueKernels* value_kernels(const char* name);
const ValueKernels& best_value_kernels();

}  // namespace holdfast::bench
