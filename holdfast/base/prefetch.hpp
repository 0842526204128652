// prefetch.hpp: a cache line, asked for before it is needed. Never faults, waits for nothing.
//
// Not the compiler's builtin: gcc 12 takes a function that does nothing but that for one without
// effects, and drops the calls of it that it does not inline at once.
#pragma once

namespace holdfast {

inline void prefetch_for_read(const void* at) {
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(at)));
}

// With the right to write: what follows pays no second miss for that. A CPU without it does
// nothing.
inline void prefetch_for_write(const void* at) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
}

}  // namespace holdfast
