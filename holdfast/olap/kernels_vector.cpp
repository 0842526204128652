// The kernels with AVX2 and AVX-512. Only functions with the target attribute use the instructions.
#include <holdfast/olap/kernels.hpp>

#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <holdfast/base/prefetch.hpp>

namespace holdfast::olap::kernel_detail {

#if defined(__x86_64__)
namespace {

#define HF_AVX2 [[gnu::target("avx2,bmi,bmi2,popcnt")]]
#define HF_AVX2_INLINE [[gnu::always_inline, gnu::target("avx2,bmi,bmi2,popcnt")]] inline
#define HF_AVX512 [[gnu::target("avx512f,avx512bw,bmi,bmi2,popcnt")]]
#define HF_VBMI2 [[gnu::target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")]]

// A range in every byte of a vector. Made once a call: bytes may alias anything, so a range that is
// read in the loop is read and spread anew for each group.
struct SpreadRange {
  __m256i from, width;
};

HF_AVX2 SpreadRange spread(ByteRange range) {
  return {_mm256_set1_epi8(static_cast<char>(range.from)),
          _mm256_set1_epi8(static_cast<char>(range.to - range.from))};
}

HF_AVX2_INLINE std::uint32_t half_in_range(__m256i bytes, SpreadRange range) {
  const auto above = _mm256_sub_epi8(bytes, range.from);
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(above, range.width), above)));
}

HF_AVX2_INLINE std::uint64_t group_in_ranges(const std::byte* bytes, SpreadRange first,
                                             std::span<const ByteRange> more) {
  const auto* line = reinterpret_cast<const __m256i*>(bytes);
  const auto low = _mm256_loadu_si256(line), high = _mm256_loadu_si256(line + 1);
  auto hits = half_in_range(low, first) | std::uint64_t{half_in_range(high, first)} << 32;
  for (const auto range : more) {
    const auto next = spread(range);
    hits |= half_in_range(low, next) | std::uint64_t{half_in_range(high, next)} << 32;
  }
  return hits;
}

HF_AVX2 std::uint32_t narrow_avx2(const ByteFilter& filter, std::uint32_t groups,
                                  std::uint64_t* masks) {
  const auto* bytes = filter.bytes;
  const auto first = spread(filter.ranges.front());
  const auto more = filter.ranges.subspan(1);
  std::uint32_t open = 0;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const auto left = masks[group] & group_in_ranges(bytes + 64 * group, first, more);
    masks[group] = left;
    open += left != 0 ? 1 : 0;
  }
  return open;
}

HF_AVX2 std::uint32_t narrow_some_avx2(const ByteFilter& filter, std::uint32_t* list,
                                       std::uint32_t count, std::uint64_t* masks) {
  const auto* bytes = filter.bytes;
  for (std::uint32_t i = 0; i < count; ++i)
    prefetch_for_read(bytes + 64 * list[i]);
  const auto first = spread(filter.ranges.front());
  const auto more = filter.ranges.subspan(1);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto group = list[i];
    const auto left = masks[group] & group_in_ranges(bytes + 64 * group, first, more);
    masks[group] = left;
    list[kept] = group;
    kept += left != 0 ? 1 : 0;
  }
  return kept;
}

HF_AVX2 std::uint64_t read_avx2(const std::byte* bytes, std::uint64_t count) {
  auto low = _mm256_setzero_si256(), high = low;
  for (std::uint64_t at = 0; at < count; at += 64) {
    const auto* line = reinterpret_cast<const __m256i*>(bytes + at);
    low = _mm256_xor_si256(low, _mm256_loadu_si256(line));
    high = _mm256_xor_si256(high, _mm256_loadu_si256(line + 1));
  }
  alignas(32) std::uint64_t words[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(words), _mm256_xor_si256(low, high));
  return words[0] ^ words[1] ^ words[2] ^ words[3];
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

HF_AVX512 std::uint32_t narrow_avx512(const ByteFilter& filter, std::uint32_t groups,
                                      std::uint64_t* masks) {
  const auto first = filter.ranges.front();
  const auto more = filter.ranges.subspan(1);
  std::uint32_t open = 0;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const auto bytes = _mm512_loadu_si512(filter.bytes + 64 * group);
    auto hits = in_range(bytes, first);
    for (const auto range : more)
      hits |= in_range(bytes, range);
    const auto left = masks[group] & hits;
    masks[group] = left;
    open += left != 0 ? 1 : 0;
  }
  return open;
}

HF_AVX512 std::uint64_t line_in_ranges(const std::byte* bytes, std::span<const ByteRange> ranges) {
  const auto line = _mm512_loadu_si512(bytes);
  std::uint64_t hits = 0;
  for (const auto range : ranges)
    hits |= in_range(line, range);
  return hits;
}

HF_AVX512 std::uint32_t narrow_some_avx512(const ByteFilter& filter, std::uint32_t* list,
                                           std::uint32_t count, std::uint64_t* masks) {
  for (std::uint32_t i = 0; i < count; ++i)
    prefetch_for_read(filter.bytes + 64 * list[i]);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto group = list[i];
    masks[group] &= line_in_ranges(filter.bytes + 64 * group, filter.ranges);
    list[kept] = group;
    kept += masks[group] != 0 ? 1 : 0;
  }
  return kept;
}

HF_AVX512 std::uint64_t read_avx512(const std::byte* bytes, std::uint64_t count) {
  auto sums = _mm512_setzero_si512();
  for (std::uint64_t at = 0; at < count; at += 64)
    sums = _mm512_xor_si512(sums, _mm512_loadu_si512(bytes + at));
  alignas(64) std::uint64_t words[8];
  _mm512_store_si512(words, sums);
  std::uint64_t sum = 0;
  for (const auto word : words)
    sum ^= word;
  return sum;
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

// 16 rows, whose places within the group are `places`.
HF_VBMI2 void put_rows(__m128i places, __m512i first, std::uint32_t* to) {
  _mm512_storeu_si512(to, _mm512_add_epi32(first, _mm512_maskz_cvtepu8_epi32(0xffff, places)));
}

// Where `maskz` stands, g++ 12 takes the plain form for uninitialised.
template <int kNumber>
HF_VBMI2 __m128i quarter(__m512i places) {
  return _mm512_maskz_extracti32x4_epi32(0xf, places, kNumber);
}

// The places of the set bits of 64 by one instruction. Most groups have 16 at most: one store.
HF_VBMI2 std::uint32_t expand_vbmi2(const std::uint64_t* masks, std::uint32_t groups,
                                    std::uint32_t first, std::uint32_t* rows) {
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<std::uint8_t, kGroupRows> places{};
    for (unsigned i = 0; i < places.size(); ++i)
      places[i] = static_cast<std::uint8_t>(i);
    return places;
  }();
  const auto all = _mm512_load_si512(kPlaces.data());
  std::uint32_t* to = rows;
  for (std::uint32_t group = 0; group < groups; ++group, first += kGroupRows) {
    const auto places = _mm512_maskz_compress_epi8(masks[group], all);
    const auto count = static_cast<std::uint32_t>(_mm_popcnt_u64(masks[group]));
    const auto base = _mm512_set1_epi32(static_cast<int>(first));
    put_rows(quarter<0>(places), base, to);
    if (count > 16) put_rows(quarter<1>(places), base, to + 16);
    if (count > 32) put_rows(quarter<2>(places), base, to + 32);
    if (count > 48) put_rows(quarter<3>(places), base, to + 48);
    to += count;
  }
  return static_cast<std::uint32_t>(to - rows);
}

}  // namespace

const Kernels kAvx2Kernels{VectorWidth::kAvx2, narrow_avx2, narrow_some_avx2, expand_avx2,
                           read_avx2};
const Kernels kAvx512Kernels{VectorWidth::kAvx512, narrow_avx512, narrow_some_avx512, expand_avx512,
                             read_avx512};
const Kernels kVbmi2Kernels{VectorWidth::kAvx512, narrow_avx512, narrow_some_avx512, expand_vbmi2,
                            read_avx512};
#else
const Kernels kAvx2Kernels = kPortableKernels;
const Kernels kAvx512Kernels = kPortableKernels;
const Kernels kVbmi2Kernels = kPortableKernels;
#endif

}  // namespace holdfast::olap::kernel_detail
