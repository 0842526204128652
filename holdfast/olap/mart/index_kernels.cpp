#include <holdfast/olap/mart/index_kernels.hpp>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace holdfast::olap::mart {
namespace {

template <class Code>
class Reader {
 public:
  explicit Reader(const IndexView& view)
      : codes_(view.codes), base_(view.base), null_is_zero_(view.null_is_zero) {}
  std::uint32_t operator[](std::uint32_t row) const {
    Code code;
    std::memcpy(&code, codes_ + std::size_t{row} * sizeof code, sizeof code);
    const auto index = static_cast<std::uint32_t>(code) + base_;
    return null_is_zero_ && code == 0 ? 0 : index;
  }

 private:
  const std::byte* codes_;
  std::uint32_t base_;
  bool null_is_zero_;
};
struct Constant {
  std::uint32_t base;
  std::uint32_t operator[](std::uint32_t) const { return base; }
};

template <class F>
auto with_reader(const IndexView& view, F use) {
  switch (view.width) {
    case 0: return use(Constant{view.base});
    case 8: return use(Reader<std::uint8_t>(view));
    case 16: return use(Reader<std::uint16_t>(view));
    case 32: return use(Reader<std::uint32_t>(view));
    default: return use(Reader<std::uint64_t>(view));
  }
}

std::uint32_t select_portable(const IndexView& view, const std::uint8_t* passes,
                              std::uint32_t first, std::uint32_t count, std::uint32_t* rows) {
  return with_reader(view, [&](const auto& reader) {
    std::uint32_t kept = 0;
    for (auto row = first; row < first + count; ++row) {
      rows[kept] = row;  // Always written, kept only if it passes: no branch.
      kept += passes[reader[row]];
    }
    return kept;
  });
}

const IndexKernels kPortable{VectorWidth::kPortable, select_portable};

#if defined(__x86_64__)
#define HF_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt")]]

HF_AVX512 __m512i load_codes(const IndexView& view, std::uint32_t row) {
  switch (view.width) {
    case 8:
      return _mm512_maskz_cvtepu8_epi32(
          0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(view.codes + row)));
    case 16:
      return _mm512_maskz_cvtepu16_epi32(
          0xffff,
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(view.codes + 2 * std::size_t{row})));
    default: return _mm512_loadu_si512(view.codes + 4 * std::size_t{row});
  }
}

// Sixteen rows at a time; behind the last row of a block there is room to read on.
HF_AVX512 std::uint32_t select_avx512(const IndexView& view, const std::uint8_t* passes,
                                      std::uint32_t first, std::uint32_t count,
                                      std::uint32_t* rows) {
  if (view.width == 0 || view.width == 64) return select_portable(view, passes, first, count, rows);
  const auto iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto base = _mm512_set1_epi32(static_cast<int>(view.base));
  std::uint32_t* to = rows;
  for (std::uint32_t done = 0; done < count; done += 16) {
    const auto codes = load_codes(view, first + done);
    auto there =
        count - done >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << (count - done)) - 1);
    const auto null = view.null_is_zero ? _mm512_testn_epi32_mask(codes, codes) : __mmask16{0};
    const auto indexes = _mm512_maskz_add_epi32(static_cast<__mmask16>(there & ~null), codes, base);
    const auto bytes =
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), there, indexes, passes, 1);
    there = _mm512_mask_test_epi32_mask(there, bytes, _mm512_set1_epi32(1));
    const auto places = _mm512_add_epi32(iota, _mm512_set1_epi32(static_cast<int>(first + done)));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(there, places));
    to += _mm_popcnt_u32(there);
  }
  return static_cast<std::uint32_t>(to - rows);
}

const IndexKernels kAvx512{VectorWidth::kAvx512, select_avx512};
#endif

}  // namespace

const IndexKernels& index_kernels([[maybe_unused]] VectorWidth width) {
#if defined(__x86_64__)
  if (std::min(width, cpu().vectors) == VectorWidth::kAvx512) return kAvx512;
#endif
  return kPortable;
}

std::uint32_t refine(const IndexView& view, const std::uint8_t* passes, std::uint32_t* rows,
                     std::uint32_t count) {
  return with_reader(view, [&](const auto& reader) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto row = rows[i];
      rows[kept] = row;
      kept += passes[reader[row]];
    }
    return kept;
  });
}

void gather(const IndexView& view, std::span<const std::uint32_t> rows,
            std::vector<std::uint32_t>& to) {
  to.resize(rows.size());
  with_reader(view, [&](const auto& reader) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      to[i] = reader[rows[i]];
  });
}

}  // namespace holdfast::olap::mart
