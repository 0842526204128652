// prefetch.hpp: a cache line, asked for before it is needed. Never faults, waits for nothing.
#pragma once

namespace holdfast {

inline void prefetch_for_read(const void* at) { __builtin_prefetch(at, 0, 3); }

// With the right to write: what follows pays no second miss for that.
inline void prefetch_for_write(const void* at) {
#if defined(__x86_64__)
  // The compiler's builtin needs a flag for this; a CPU without it does nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1, 3);
#endif
}

}  // namespace holdfast
