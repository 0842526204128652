// vector_lines.hpp: a cache line in registers, and the instructions that bring it to memory. For
// kernels_*.cpp, each of which sees the vectors that it is compiled for; everything here is
// internal to that file, since the same function compiled for two CPUs must not be merged by the
// linker.
//
// Beside memory/persist.hpp the only place with flush, fence and non-temporal instructions: they
// are what is measured here, one by one.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/memory/x86_64.hpp>

namespace holdfast::bench::memory {
namespace {

[[maybe_unused]] long long as_signed(std::uint64_t value) { return static_cast<long long>(value); }

#if defined(__AVX512F__)

struct LineVector {
  __m512i all;
  static LineVector zero() { return {_mm512_setzero_si512()}; }
  static LineVector load(const void* from) { return {_mm512_load_si512(from)}; }
  static LineVector broadcast(std::uint64_t value) { return {_mm512_set1_epi64(as_signed(value))}; }
  void add(const LineVector& other) { all = _mm512_add_epi64(all, other.all); }
  void add_from(const std::byte* from) { add(load(from)); }
  void add_streamed_from(const std::byte* from) {
    all = _mm512_add_epi64(all, _mm512_stream_load_si512(const_cast<std::byte*>(from)));
  }
  void store(std::byte* to) const { _mm512_store_si512(to, all); }
  void stream(std::byte* to) const { _mm512_stream_si512(reinterpret_cast<__m512i*>(to), all); }
  // The compiler must take it from the registers that it is in: clang loads a lane again otherwise.
  void stay() { asm("" : "+v"(all)); }
  std::uint64_t lane0() const {
    return static_cast<std::uint64_t>(all[0]);  // g++ 12 warns of its own _mm512_castsi512_si128.
  }
};

#elif defined(__AVX2__)

struct LineVector {
  __m256i half[2];
  static LineVector zero() { return {{_mm256_setzero_si256(), _mm256_setzero_si256()}}; }
  static LineVector load(const void* from) {
    const auto* in = static_cast<const __m256i*>(from);
    return {{_mm256_load_si256(in), _mm256_load_si256(in + 1)}};
  }
  static LineVector broadcast(std::uint64_t value) {
    const auto one = _mm256_set1_epi64x(as_signed(value));
    return {{one, one}};
  }
  void add(const LineVector& other) {
    for (int i = 0; i < 2; ++i)
      half[i] = _mm256_add_epi64(half[i], other.half[i]);
  }
  void add_from(const std::byte* from) { add(load(from)); }
  void add_streamed_from(const std::byte* from) {
    auto* in = reinterpret_cast<__m256i*>(const_cast<std::byte*>(from));
    for (int i = 0; i < 2; ++i)
      half[i] = _mm256_add_epi64(half[i], _mm256_stream_load_si256(in + i));
  }
  void store(std::byte* to) const {
    auto* out = reinterpret_cast<__m256i*>(to);
    for (int i = 0; i < 2; ++i)
      _mm256_store_si256(out + i, half[i]);
  }
  void stream(std::byte* to) const {
    auto* out = reinterpret_cast<__m256i*>(to);
    for (int i = 0; i < 2; ++i)
      _mm256_stream_si256(out + i, half[i]);
  }
  void stay() { asm("" : "+x"(half[0])); }
  std::uint64_t lane0() const {
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(half[0])));
  }
};

#else

struct LineVector {
  __m128i quarter[4];
  static LineVector zero() {
    const auto none = _mm_setzero_si128();
    return {{none, none, none, none}};
  }
  static LineVector load(const void* from) {
    const auto* in = static_cast<const __m128i*>(from);
    return {{_mm_load_si128(in), _mm_load_si128(in + 1), _mm_load_si128(in + 2),
             _mm_load_si128(in + 3)}};
  }
  static LineVector broadcast(std::uint64_t value) {
    const auto one = _mm_set1_epi64x(as_signed(value));
    return {{one, one, one, one}};
  }
  void add(const LineVector& other) {
    for (int i = 0; i < 4; ++i)
      quarter[i] = _mm_add_epi64(quarter[i], other.quarter[i]);
  }
  void add_from(const std::byte* from) { add(load(from)); }
  // There is no such load before SSE4.1; an ordinary one is what a CPU makes of it anyway.
  void add_streamed_from(const std::byte* from) { add_from(from); }
  void store(std::byte* to) const {
    auto* out = reinterpret_cast<__m128i*>(to);
    for (int i = 0; i < 4; ++i)
      _mm_store_si128(out + i, quarter[i]);
  }
  void stream(std::byte* to) const {
    auto* out = reinterpret_cast<__m128i*>(to);
    for (int i = 0; i < 4; ++i)
      _mm_stream_si128(out + i, quarter[i]);
  }
  void stay() { asm("" : "+x"(quarter[0])); }
  std::uint64_t lane0() const { return static_cast<std::uint64_t>(_mm_cvtsi128_si64(quarter[0])); }
};

#endif

// Where access `i` begins.
template <bool kSlots>
std::uint64_t byte_of(const Accesses& accesses, std::uint64_t i) {
  if constexpr (kSlots) {
    return accesses.slots[i] * static_cast<std::uint64_t>(accesses.step_bytes);
  } else {
    return accesses.first_byte + i * static_cast<std::uint64_t>(accesses.step_bytes);
  }
}

// What writers store into line 0; line n has n * kLanes * kContentStep more in each lane.
[[maybe_unused]] LineVector pattern(std::uint64_t tag) {
  alignas(64) std::uint64_t words[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    words[lane] = content_of_word(lane);
  words[kLanes - 1] += tag;
  return LineVector::load(words);
}

template <Flush kFlush>
void flush_line(const std::byte* line) {
  [[maybe_unused]] const auto address = reinterpret_cast<std::uintptr_t>(line);
  if constexpr (kFlush == Flush::kClwb) x86_64::clwb(address);
  if constexpr (kFlush == Flush::kClflushopt) x86_64::clflushopt(address);
  if constexpr (kFlush == Flush::kClflush) x86_64::clflush(address);
}

template <Flush kFlush>
void write_line(std::byte* to, const LineVector& line) {
  if constexpr (kFlush == Flush::kNonTemporal) {
    line.stream(to);
  } else {
    line.store(to);
    flush_line<kFlush>(to);
  }
}

// A word, in an instruction of its own.
template <Flush kFlush>
void write_word(std::byte* to, std::uint64_t value) {
  if constexpr (kFlush == Flush::kNonTemporal) {
    _mm_stream_si64(reinterpret_cast<long long*>(to), as_signed(value));
  } else {
    *reinterpret_cast<volatile std::uint64_t*>(to) = value;
  }
}

}  // namespace
}  // namespace holdfast::bench::memory
