// The kernels with AVX2 and AVX-512. Only functions with the target attribute use the instructions.
#include <holdfast/olap/kernels.hpp>

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace holdfast::olap::kernel_detail {

#if defined(__x86_64__)
namespace {

#define HF_AVX2 [[gnu::target("avx2,bmi,bmi2,popcnt")]]
#define HF_AVX512 [[gnu::target("avx512f,avx512bw,bmi,bmi2,popcnt")]]

HF_AVX2 std::uint32_t half_in_range(const std::byte* bytes, ByteRange range) {
  const auto from = _mm256_set1_epi8(static_cast<char>(range.from));
  const auto width = _mm256_set1_epi8(static_cast<char>(range.to - range.from));
  const auto above =
      _mm256_sub_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)), from);
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(above, width), above)));
}

HF_AVX2 void narrow_avx2(const ByteFilter& filter, std::uint32_t groups, std::uint64_t* masks) {
  for (std::uint32_t group = 0; group < groups; ++group) {
    if (masks[group] == 0) continue;
    const std::byte* bytes = filter.bytes + 64 * group;
    std::uint64_t hits = 0;
    for (const auto range : filter.ranges)
      hits |= half_in_range(bytes, range) | std::uint64_t{half_in_range(bytes + 32, range)} << 32;
    masks[group] &= hits;
  }
}

HF_AVX2 std::uint32_t expand_avx2(const std::uint64_t* masks, std::uint32_t groups,
                                  std::uint32_t first, std::uint32_t* rows) {
  std::uint32_t count = 0;
  for (std::uint32_t group = 0; group < groups; ++group, first += kGroupRows) {
    for (auto mask = masks[group]; mask != 0; mask = _blsr_u64(mask))
      rows[count++] = first + static_cast<std::uint32_t>(_tzcnt_u64(mask));
  }
  return count;
}

HF_AVX512 std::uint64_t in_range(__m512i bytes, ByteRange range) {
  const auto above = _mm512_sub_epi8(bytes, _mm512_set1_epi8(static_cast<char>(range.from)));
  return _mm512_cmple_epu8_mask(above, _mm512_set1_epi8(static_cast<char>(range.to - range.from)));
}

HF_AVX512 void narrow_avx512(const ByteFilter& filter, std::uint32_t groups, std::uint64_t* masks) {
  const auto first = filter.ranges.front();
  const auto more = filter.ranges.subspan(1);
  for (std::uint32_t group = 0; group < groups; ++group) {
    if (masks[group] == 0) continue;
    const auto bytes = _mm512_loadu_si512(filter.bytes + 64 * group);
    auto hits = in_range(bytes, first);
    for (const auto range : more)
      hits |= in_range(bytes, range);
    masks[group] &= hits;
  }
}

HF_AVX512 std::uint32_t expand_avx512(const std::uint64_t* masks, std::uint32_t groups,
                                      std::uint32_t first, std::uint32_t* rows) {
  const auto iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::uint32_t* to = rows;
  for (std::uint32_t group = 0; group < groups; ++group, first += kGroupRows) {
    if (masks[group] == 0) continue;
    for (unsigned part = 0; part < 4; ++part) {
      const auto mask = static_cast<__mmask16>(masks[group] >> (16 * part));
      const auto places =
          _mm512_add_epi32(iota, _mm512_set1_epi32(static_cast<int>(first + 16 * part)));
      // In a register first: a compressing store is many times slower on some CPUs.
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, places));
      to += _mm_popcnt_u32(mask);
    }
  }
  return static_cast<std::uint32_t>(to - rows);
}

}  // namespace

const Kernels kAvx2Kernels{VectorWidth::kAvx2, narrow_avx2, expand_avx2};
const Kernels kAvx512Kernels{VectorWidth::kAvx512, narrow_avx512, expand_avx512};
#else
const Kernels kAvx2Kernels = kPortableKernels;
const Kernels kAvx512Kernels = kPortableKernels;
#endif

}  // namespace holdfast::olap::kernel_detail
