#include <holdfast/bench/value_kernels.hpp>

#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace holdfast::bench {
namespace {

void fill_portable(void* to, std::size_t words, std::uint64_t tag) {
  auto* out = static_cast<std::byte*>(to);
  for (std::size_t j = 2; j < words; ++j) {
    const auto word = tag + j * kStep;
    std::memcpy(out + 8 * j, &word, 8);
  }
}

std::uint64_t differs_portable(const void* from, std::size_t words, std::uint64_t tag) {
  const auto* in = static_cast<const std::byte*>(from);
  std::uint64_t differs = 0;
  for (std::size_t j = 2; j < words; ++j) {
    std::uint64_t word;
    std::memcpy(&word, in + 8 * j, 8);
    differs |= word ^ (tag + j * kStep);
  }
  return differs;
}

std::uint64_t sum_portable(const void* from, std::size_t words) {
  const auto* in = static_cast<const std::byte*>(from);
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < words; ++j) {
    std::uint64_t word;
    std::memcpy(&word, in + 8 * j, 8);
    sum += word;
  }
  return sum;
}

void copy_portable(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

constexpr ValueKernels kPortable{fill_portable, differs_portable, sum_portable, copy_portable,
                                 "portable"};

#if defined(__x86_64__)

alignas(64) constexpr std::uint64_t kSteps[8] = {0,         kStep,     2 * kStep, 3 * kStep,
                                                 4 * kStep, 5 * kStep, 6 * kStep, 7 * kStep};
alignas(64) constexpr std::uint64_t kEightSteps[8] = {8 * kStep, 8 * kStep, 8 * kStep, 8 * kStep,
                                                      8 * kStep, 8 * kStep, 8 * kStep, 8 * kStep};

__attribute__((target("avx2"))) void fill_avx2(void* to, std::size_t words, std::uint64_t tag) {
  auto* out = static_cast<std::uint64_t*>(to);
  auto vector = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(tag + 2 * kStep)),
                                 _mm256_load_si256(reinterpret_cast<const __m256i*>(kSteps)));
  const auto four = _mm256_set1_epi64x(static_cast<long long>(4 * kStep));
  std::size_t j = 2;
  for (; j + 4 <= words; j += 4) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j), vector);
    vector = _mm256_add_epi64(vector, four);
  }
  for (; j < words; ++j)
    out[j] = tag + j * kStep;
}

__attribute__((target("avx2"))) std::uint64_t differs_avx2(const void* from, std::size_t words,
                                                           std::uint64_t tag) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  auto expected = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(tag + 2 * kStep)),
                                   _mm256_load_si256(reinterpret_cast<const __m256i*>(kSteps)));
  const auto four = _mm256_set1_epi64x(static_cast<long long>(4 * kStep));
  auto differs = _mm256_setzero_si256();
  std::size_t j = 2;
  for (; j + 4 <= words; j += 4) {
    const auto seen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + j));
    differs = _mm256_or_si256(differs, _mm256_xor_si256(seen, expected));
    expected = _mm256_add_epi64(expected, four);
  }
  std::uint64_t rest = 0;
  for (; j < words; ++j)
    rest |= in[j] ^ (tag + j * kStep);
  return rest | static_cast<std::uint64_t>(_mm256_testz_si256(differs, differs) == 0);
}

__attribute__((target("avx2"))) std::uint64_t sum_avx2(const void* from, std::size_t words) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  auto sums = _mm256_setzero_si256();
  std::size_t j = 0;
  for (; j + 4 <= words; j += 4) {
    sums = _mm256_add_epi64(sums, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + j)));
  }
  const auto half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const auto sum = static_cast<std::uint64_t>(
      _mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))));
  return sum + sum_portable(in + j, words - j);
}

__attribute__((target("avx2"))) void copy_avx2(void* to, const void* from, std::size_t bytes) {
  if (bytes < 32) return copy_portable(to, from, bytes);
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const auto last = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + bytes - 32));
  for (std::size_t i = 0; i + 32 < bytes; i += 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + bytes - 32),
                      last);  // Overlaps the one before.
}

constexpr ValueKernels kAvx2{fill_avx2, differs_avx2, sum_avx2, copy_avx2, "avx2"};

#define HF_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))

// The vector of words [j, j + 8).
HF_AVX512 inline __m512i words_from(std::uint64_t tag, std::size_t j) {
  return _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(tag + j * kStep)),
                          _mm512_load_si512(kSteps));
}

// Whole vectors, and at the end one that overlaps its predecessor: masked stores are slow on some
// CPUs, and a load is forwarded from a store still under way only where both begin alike.
HF_AVX512 void fill_avx512(void* to, std::size_t words, std::uint64_t tag) {
  auto* out = static_cast<std::uint64_t*>(to);
  if (words < 10) return fill_portable(to, words, tag);
  const auto first = out[0], second = out[1];
  std::size_t j = 0;
  for (; j + 8 < words; j += 8)
    _mm512_storeu_si512(out + j, words_from(tag, j));
  _mm512_storeu_si512(out + words - 8, words_from(tag, words - 8));
  out[0] = first;
  out[1] = second;
}

HF_AVX512 std::uint64_t differs_avx512(const void* from, std::size_t words, std::uint64_t tag) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  if (words < 10) return differs_portable(from, words, tag);
  auto expected = words_from(tag, 0);
  const auto eight = _mm512_load_si512(kEightSteps);
  auto differs =
      _mm512_maskz_xor_epi64(0xfc, _mm512_loadu_si512(in), expected);  // Not the words 0 and 1.
  for (std::size_t j = 8; j + 8 < words; j += 8) {
    expected = _mm512_add_epi64(expected, eight);
    // differs |= seen ^ expected, in one instruction: the truth table of a | (b ^ c).
    differs = _mm512_ternarylogic_epi64(differs, _mm512_loadu_si512(in + j), expected, 0xf6);
  }
  differs = _mm512_ternarylogic_epi64(differs, _mm512_loadu_si512(in + words - 8),
                                      words_from(tag, words - 8), 0xf6);
  return static_cast<std::uint64_t>(_mm512_test_epi64_mask(differs, differs));
}

HF_AVX512 std::uint64_t sum_avx512(const void* from, std::size_t words) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  auto sums = _mm512_setzero_si512();
  std::size_t j = 0;
  for (; j + 8 <= words; j += 8)
    sums = _mm512_add_epi64(sums, _mm512_loadu_si512(in + j));
  const auto rest = static_cast<__mmask8>((1u << (words - j)) - 1);
  sums = _mm512_add_epi64(sums, _mm512_maskz_loadu_epi64(rest, in + j));
  // By hand: g++ 12 warns of its own reduction.
  alignas(64) std::uint64_t lanes[8];
  _mm512_store_si512(lanes, sums);
  return sum_portable(lanes, 8);
}

HF_AVX512 void copy_avx512(void* to, const void* from, std::size_t bytes) {
  if (bytes < 64) return copy_avx2(to, from, bytes);
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const auto last = _mm512_loadu_si512(in + bytes - 64);
  for (std::size_t i = 0; i + 64 < bytes; i += 64)
    _mm512_storeu_si512(out + i, _mm512_loadu_si512(in + i));
  _mm512_storeu_si512(out + bytes - 64, last);
}

constexpr ValueKernels kAvx512{fill_avx512, differs_avx512, sum_avx512, copy_avx512, "avx512"};

#endif

}  // namespace

const ValueKernels* value_kernels(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "portable") return &kPortable;
#if defined(__x86_64__)
  if (wanted == "avx2" && __builtin_cpu_supports("avx2")) return &kAvx2;
  if (wanted == "avx512" && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("bmi2")) {
    return &kAvx512;
  }
#endif
  return nullptr;
}

const ValueKernels& best_value_kernels() {
  static const ValueKernels& best = []() -> const ValueKernels& {
    for (const auto* name : {"avx512", "avx2"}) {
      if (const auto* kernels = value_kernels(name)) return *kernels;
    }
    return kPortable;
  }();
  return best;
}

}  // namespace holdfast::bench
