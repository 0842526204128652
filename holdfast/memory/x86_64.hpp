// x86_64.hpp: the persistence instructions of this architecture. Another one needs a file like this
// and a line in persist.hpp. Nobody but persist.hpp and cpu.cpp uses them, and the
// memory benchmark, which measures them.
#pragma once

#include <emmintrin.h>

#include <cstdint>

namespace holdfast::x86_64 {

// Assembly, since the intrinsics of the first two need a target attribute, which forbids inlining
// into code that runs on any x86-64. The "memory" clobber keeps the stores before them.
inline void clwb(std::uintptr_t line) { asm volatile("clwb (%0)" : : "r"(line) : "memory"); }
inline void clflushopt(std::uintptr_t line) {
  asm volatile("clflushopt (%0)" : : "r"(line) : "memory");
}
inline void clflush(std::uintptr_t line) { asm volatile("clflush (%0)" : : "r"(line) : "memory"); }
// Past the caches where they let it.
inline void stream_word(std::uint64_t* to, std::uint64_t value) {
  _mm_stream_si64(reinterpret_cast<long long*>(to), static_cast<long long>(value));
}
// Waits for the write-backs, the non-temporal and the ordinary stores before it.
inline void store_fence() { _mm_sfence(); }

}  // namespace holdfast::x86_64
