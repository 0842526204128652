// thread_times.hpp: CPU time of threads, and the time that a thread waited for a CPU.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace holdfast::bench::kv {

inline std::uint64_t cpu_clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}
inline std::uint64_t thread_cpu_ns() { return cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID); }
inline std::uint64_t process_cpu_ns() { return cpu_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

// The longest operation of one thread, less the time in which the thread was runnable and had no
// CPU: other programs are no stall of the store. Sleeping and waiting for a latch or a device are.
//
// The kernel counts that time in /proc/thread-self/schedstat. Reading it takes a microsecond, so it
// is read only around operations of kSlow and longer: a wait for a CPU of that length makes its
// operation slow. Shorter waits between two readings are subtracted from the later operation, so a
// stall may be given too short by some kSlow. A hypervisor that takes the CPU away is not seen.
class StallWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  StallWatch();  // Of the thread that calls it, and only used there.
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Operations begin again after something else was done.
  void resume(TimePoint now) {
    if (now - last_ >= kSlow) [[unlikely]]
      waited_ns_ = waited_ns();
    last_ = now;
  }
  void operation(TimePoint begin, TimePoint end) {
    if (end - begin >= kSlow) [[unlikely]]
      slow(end - begin);
    last_ = end;
  }

  std::uint64_t longest_ns() const { return longest_ns_; }
  // False: the kernel does not tell, and nothing was subtracted.
  bool knows_waiting() const { return file_ >= 0; }

 private:
  static constexpr auto kSlow = std::chrono::microseconds(20);
  [[gnu::noinline, gnu::cold]] void slow(std::chrono::nanoseconds time);
  [[gnu::noinline, gnu::cold]] std::uint64_t waited_ns() const;

  int file_;
  std::uint64_t waited_ns_, longest_ns_ = 0;
  TimePoint last_{};
};

}  // namespace holdfast::bench::kv
