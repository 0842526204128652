// line_store.hpp: one whole line, from registers to a medium.
//
// For kernels that make lines in registers and hand them to Persist::fill_lines<kWay>(): they store
// each line by LineStore<kWay>, and nothing else. A line's aligned 8-byte words are never torn.
// Functions with vectors have the target attribute of their instruction set; they are inlined only
// into functions that have it, too.
#pragma once

#include <immintrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <holdfast/memory/persist.hpp>

namespace holdfast {

// `to` is aligned to a line.
template <LineWay kWay>
struct LineStore {
  [[gnu::target("avx512f")]] static void put(std::byte* to, const __m512i& line) {
    _mm512_store_si512(to, line);
  }
  [[gnu::target("avx2")]] static void put(std::byte* to, const __m256i& low, const __m256i& high) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
  static void put(std::byte* to, const std::uint64_t (&words)[8]) {
    for (std::size_t i = 0; i < 8; ++i) {
      std::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t*>(to)[i])
          .store(words[i], std::memory_order_relaxed);
    }
  }
};

// Past the caches.
template <>
struct LineStore<LineWay::kStream> {
  [[gnu::target("avx512f")]] static void put(std::byte* to, const __m512i& line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  }
  [[gnu::target("avx2")]] static void put(std::byte* to, const __m256i& low, const __m256i& high) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
  static void put(std::byte* to, const std::uint64_t (&words)[8]) {
    for (std::size_t i = 0; i < 8; ++i)
      _mm_stream_si64(reinterpret_cast<long long*>(to) + i, static_cast<long long>(words[i]));
  }
};

}  // namespace holdfast
