#include <holdfast/blocks/field/fam_kernels.hpp>

#include <immintrin.h>

#include <cstring>

namespace holdfast::blocks::field_detail {
namespace {

// The word that block `block` becomes when it takes `value`, in a field of the next version.
std::uint64_t next_block(std::uint64_t block, std::uint64_t version, std::uint64_t value) {
  return version | (block & kFamMask) << 31 | (value & kFamMask);
}
std::uint64_t next_version(const std::uint64_t* blocks) {
  return ((blocks[0] >> kFamVersionShift) + 1) << kFamVersionShift;  // Four versions: 3 + 1 is 0.
}
void put(std::uint64_t* block, std::uint64_t value) {
  __atomic_store_n(block, value, __ATOMIC_RELAXED);  // One store, never split.
}

// Bit i of `tops` is the top bit of word i.
void put_tops(std::uint64_t* blocks, std::uint64_t version, std::uint64_t tops, std::size_t count) {
  for (std::size_t g = 0; g * 31 < count; ++g) {
    auto* const block = blocks + count + g;
    put(block, next_block(*block, version, tops >> (31 * g)));
  }
}

void update_scalar(std::uint64_t* blocks, const std::uint32_t* words, std::size_t count) {
  const auto version = next_version(blocks);
  std::uint64_t tops = 0;
  for (std::size_t i = 0; i < count; ++i) {
    put(blocks + i, next_block(blocks[i], version, words[i]));
    tops |= static_cast<std::uint64_t>(words[i] >> 31) << i;
  }
  put_tops(blocks, version, tops, count);
}

void read_scalar(const std::uint64_t* blocks, std::uint32_t* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto top = blocks[count + i / 31] >> (i % 31) & 1;
    words[i] = static_cast<std::uint32_t>((blocks[i] & kFamMask) | top << 31);
  }
}

__attribute__((target("avx2"))) void update_avx2(std::uint64_t* blocks, const std::uint32_t* words,
                                                 std::size_t count) {
  const auto version = next_version(blocks);
  const auto versions = _mm256_set1_epi64x(static_cast<long long>(version));
  const auto mask = _mm256_set1_epi64x(kFamMask);
  std::uint64_t tops = 0;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const auto input = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + i));
    const auto fresh = _mm256_and_si256(_mm256_cvtepu32_epi64(input), mask);
    auto* const at = reinterpret_cast<__m256i*>(blocks + i);
    const auto old = _mm256_slli_epi64(_mm256_and_si256(_mm256_loadu_si256(at), mask), 31);
    _mm256_storeu_si256(at, _mm256_or_si256(versions, _mm256_or_si256(old, fresh)));
    tops |= static_cast<std::uint64_t>(_mm_movemask_ps(_mm_castsi128_ps(input))) << i;
  }
  for (; i < count; ++i) {
    put(blocks + i, next_block(blocks[i], version, words[i]));
    tops |= static_cast<std::uint64_t>(words[i] >> 31) << i;
  }
  put_tops(blocks, version, tops, count);
}

__attribute__((target("avx2"))) void read_avx2(const std::uint64_t* blocks, std::uint32_t* words,
                                               std::size_t count) {
  std::uint64_t tops = 0;
  for (std::size_t g = 0; g * 31 < count; ++g)
    tops |= (blocks[count + g] & kFamMask) << (31 * g);
  const auto mask = _mm256_set1_epi64x(kFamMask);
  const auto lanes = _mm256_set_epi64x(3, 2, 1, 0);
  const auto one = _mm256_set1_epi64x(1);
  const auto gather = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);  // Low halves to the front.
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const auto block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(blocks + i));
    const auto bits =
        _mm256_srlv_epi64(_mm256_set1_epi64x(static_cast<long long>(tops >> i)), lanes);
    const auto top = _mm256_slli_epi64(_mm256_and_si256(bits, one), 31);
    const auto whole = _mm256_or_si256(_mm256_and_si256(block, mask), top);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words + i),
                     _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(whole, gather)));
  }
  for (; i < count; ++i)
    words[i] = static_cast<std::uint32_t>((blocks[i] & kFamMask) | (tops >> i & 1) << 31);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) void update_avx512(
    std::uint64_t* blocks, const std::uint32_t* words, std::size_t count) {
  const auto version = next_version(blocks);
  const auto versions = _mm512_set1_epi64(static_cast<long long>(version));
  const auto mask = _mm512_set1_epi64(kFamMask);
  std::uint64_t tops = 0;
  for (std::size_t i = 0; i < count; i += 8) {
    const auto lanes = static_cast<__mmask8>(count - i >= 8 ? 0xff : (1u << (count - i)) - 1);
    const auto input = _mm256_maskz_loadu_epi32(lanes, words + i);
    const auto fresh = _mm512_and_si512(_mm512_maskz_cvtepu32_epi64(lanes, input), mask);
    const auto before = _mm512_maskz_loadu_epi64(lanes, blocks + i);
    const auto old = _mm512_maskz_slli_epi64(lanes, _mm512_and_si512(before, mask), 31);
    _mm512_mask_storeu_epi64(blocks + i, lanes,
                             _mm512_or_si512(versions, _mm512_or_si512(old, fresh)));
    tops |= static_cast<std::uint64_t>(_mm256_movepi32_mask(input)) << i;
  }
  put_tops(blocks, version, tops, count);
}

}  // namespace

FamKernels fam_kernels(VectorWidth width) {
  switch (width) {
    case VectorWidth::kAvx512: return {&update_avx512, &read_avx2};
    case VectorWidth::kAvx2: return {&update_avx2, &read_avx2};
    case VectorWidth::kPortable: break;
  }
  return {&update_scalar, &read_scalar};
}

const FamKernels& default_fam_kernels() {
  static const FamKernels kernels = fam_kernels(
      cpu().vectors == VectorWidth::kPortable ? VectorWidth::kPortable : VectorWidth::kAvx2);
  return kernels;
}

}  // namespace holdfast::blocks::field_detail
