// value_kernels.hpp: filling and summing the words of a value, as fast as this CPU can.
//
// A benchmark that builds and checks values must not hide what it measures, and every subject pays the
// same. Word j of a value (counted from the third) is `tag + j * kStep`; so its words are filled and
// summed by a few vector instructions, and the expected sum is one multiplication (workload.hpp).
//
// The widest of AVX-512, AVX2 and portable code is chosen once, at the first use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

inline constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

struct ValueKernels {
  // to[j] = tag + j * kStep for j in [0, words). Any alignment.
  void (*fill)(void* to, std::size_t words, std::uint64_t tag);
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
