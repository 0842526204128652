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
  for (std::size_t j = 0; j < words; ++j, tag += kStep) std::memcpy(out + 8 * j, &tag, 8);
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

constexpr ValueKernels kPortable{fill_portable, sum_portable, copy_portable, "portable"};

#if defined(__x86_64__)

__attribute__((target("avx2"))) void fill_avx2(void* to, std::size_t words, std::uint64_t tag) {
  auto* out = static_cast<std::uint64_t*>(to);
  const auto step = static_cast<long long>(kStep);
  auto vector = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(tag)),
                                 _mm256_set_epi64x(static_cast<long long>(3 * kStep), static_cast<long long>(2 * kStep), step, 0));
  const auto four = _mm256_set1_epi64x(static_cast<long long>(4 * kStep));
  std::size_t j = 0;
  for (; j + 4 <= words; j += 4) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j), vector);
    vector = _mm256_add_epi64(vector, four);
  }
  fill_portable(out + j, words - j, tag + j * kStep);
}

__attribute__((target("avx2"))) std::uint64_t sum_avx2(const void* from, std::size_t words) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  auto sums = _mm256_setzero_si256();
  std::size_t j = 0;
  for (; j + 4 <= words; j += 4) {
    sums = _mm256_add_epi64(sums, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + j)));
  }
  const auto half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const auto sum = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))));
  return sum + sum_portable(in + j, words - j);
}

__attribute__((target("avx2"))) void copy_avx2(void* to, const void* from, std::size_t bytes) {
  if (bytes < 32) return copy_portable(to, from, bytes);
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const auto last = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + bytes - 32));
  for (std::size_t i = 0; i + 32 < bytes; i += 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + bytes - 32), last);  // Overlaps the one before.
}

constexpr ValueKernels kAvx2{fill_avx2, sum_avx2, copy_avx2, "avx2"};

#define HF_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))

HF_AVX512 void fill_avx512(void* to, std::size_t words, std::uint64_t tag) {
  auto* out = static_cast<std::uint64_t*>(to);
  const auto step = _mm512_set_epi64(static_cast<long long>(7 * kStep), static_cast<long long>(6 * kStep),
                                     static_cast<long long>(5 * kStep), static_cast<long long>(4 * kStep),
                                     static_cast<long long>(3 * kStep), static_cast<long long>(2 * kStep),
                                     static_cast<long long>(kStep), 0);
  auto vector = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(tag)), step);
  const auto eight = _mm512_set1_epi64(static_cast<long long>(8 * kStep));
  std::size_t j = 0;
  for (; j + 8 <= words; j += 8) {
    _mm512_storeu_si512(out + j, vector);
    vector = _mm512_add_epi64(vector, eight);
  }
  const auto rest = static_cast<__mmask8>((1u << (words - j)) - 1);
  _mm512_mask_storeu_epi64(out + j, rest, vector);
}

HF_AVX512 std::uint64_t sum_avx512(const void* from, std::size_t words) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  auto sums = _mm512_setzero_si512();
  std::size_t j = 0;
  for (; j + 8 <= words; j += 8) sums = _mm512_add_epi64(sums, _mm512_loadu_si512(in + j));
  const auto rest = static_cast<__mmask8>((1u << (words - j)) - 1);
  sums = _mm512_add_epi64(sums, _mm512_maskz_loadu_epi64(rest, in + j));
  // By hand: g++ 12 warns of its own reduction.
  const auto four = _mm256_add_epi64(_mm512_castsi512_si256(sums), _mm512_maskz_extracti64x4_epi64(0xf, sums, 1));
  const auto two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))));
}

HF_AVX512 void copy_avx512(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  std::size_t i = 0;
  for (; i + 64 <= bytes; i += 64) _mm512_storeu_si512(out + i, _mm512_loadu_si512(in + i));
  const auto rest = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(bytes - i));
  _mm512_mask_storeu_epi8(out + i, rest, _mm512_maskz_loadu_epi8(rest, in + i));
}

constexpr ValueKernels kAvx512{fill_avx512, sum_avx512, copy_avx512, "avx512"};

#endif

}  // namespace

const ValueKernels* value_kernels(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "portable") return &kPortable;
#if defined(__x86_64__)
  if (wanted == "avx2" && __builtin_cpu_supports("avx2")) return &kAvx2;
  if (wanted == "avx512" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
    return &kAvx512;
  }
#endif
  return nullptr;
}

const ValueKernels& best_value_kernels() {
  static const ValueKernels& best = [] () -> const ValueKernels& {
    for (const auto* name : {"avx512", "avx2"}) {
      if (const auto* kernels = value_kernels(name)) return *kernels;
    }
    return kPortable;
  }();
  return best;
}

}  // namespace holdfast::bench
