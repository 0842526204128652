#include <holdfast/bench/memory/tick_clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include <holdfast/bench/memory/kernels.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#include <x86intrin.h>
#endif

namespace holdfast::bench::memory {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t system_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

bool counter_is_steady() {
#if defined(__x86_64__)
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    line += ' ';
    return line.find(" constant_tsc ") != std::string::npos &&
           line.find(" nonstop_tsc ") != std::string::npos;
  }
#endif
  return false;
}

}  // namespace

// The fences let everything before them finish, and nothing after them begin.
std::uint64_t TickClock::now() const {
#if defined(__x86_64__)
  if (counter_) {
    _mm_lfence();
    const auto ticks = __rdtsc();
    _mm_lfence();
    return ticks;
  }
#endif
  return system_ns();
}

std::uint64_t TickClock::begin_after_stores() const {
  fence();                                              // For non-temporal stores and flushes,
  std::atomic_thread_fence(std::memory_order_seq_cst);  // and so that what follows waits for it.
  return begin();
}

double TickClock::elapsed_ns(std::uint64_t begin, std::uint64_t end) const {
  return std::max(0.0, (static_cast<double>(end - begin) - overhead_ticks_) * ns_per_tick_);
}

double TickClock::core_ghz() const {
#if defined(__x86_64__)
  constexpr int kTries = 5;
  constexpr int kMultiplications = 10'000;
  constexpr double kCyclesEach = 3;
  double best_ns = HUGE_VAL;
  for (int round = 0; round < kTries; ++round) {
    std::uint64_t value = 3;
    const auto first = begin();
    for (int i = 0; i < kMultiplications; ++i)
      asm volatile("imulq %0, %0" : "+r"(value));
    best_ns = std::min(best_ns, elapsed_ns(first, end()));
  }
  return kCyclesEach * kMultiplications / best_ns;
#else
  return std::numeric_limits<double>::quiet_NaN();
#endif
}

void TickClock::delay(double ns) const {
#if defined(__x86_64__)
  if (counter_) {
    const auto ticks = static_cast<std::uint64_t>(ns / ns_per_tick_);
    const auto begin = __rdtsc();
    while (__rdtsc() - begin < ticks) {
    }
    return;
  }
#endif
  const auto begin = system_ns();
  while (static_cast<double>(system_ns() - begin) < ns) {
  }
}

TickClock::TickClock() : counter_(counter_is_steady()) {
  if (counter_) {
    // The shortest of several tries is the one that nobody interrupted.
    double best = 0;
    for (int round = 0; round < 5; ++round) {
      const auto system_begin = system_ns();
      const auto ticks_begin = begin();
      while (system_ns() - system_begin < 4'000'000) {
      }
      const auto ticks = begin() - ticks_begin;
      const auto ns = static_cast<double>(system_ns() - system_begin) / static_cast<double>(ticks);
      best = round == 0 ? ns : std::min(best, ns);
    }
    ns_per_tick_ = best;
  }
  std::array<std::uint64_t, 1001> pairs{};
  for (auto& pair : pairs) {
    const auto first = begin();
    pair = end() - first;
  }
  std::sort(pairs.begin(), pairs.end());
  overhead_ticks_ = static_cast<double>(pairs[pairs.size() / 2]);
}

const TickClock& TickClock::get() {
  static const TickClock clock;
  return clock;
}

}  // namespace holdfast::bench::memory
