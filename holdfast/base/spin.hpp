// spin.hpp: short waits for another thread, and the smallest latch.
//
// Threads    Any. Waiting pauses, then yields the CPU, so that it also ends on a machine with fewer
//            CPUs than threads.
// Traced     In the build for the crash checker every round of waiting first calls the hook, by
//            which memory/ tells the deterministic scheduler to run another thread. base lies below
//            memory, hence a pointer and not a call.
#pragma once

#include <atomic>
#include <thread>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <holdfast/base/lock.hpp>
#include <holdfast/base/thread_annotations.hpp>

namespace holdfast {

// Tells the CPU that this is a loop that waits.
inline void cpu_relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

using SpinHook = void (*)();
// Called in each round of each wait of the traced build; null: nothing. Returns the previous one.
SpinHook set_spin_hook(SpinHook hook);
// Calls the installed hook, if there is one.
void call_spin_hook();

// One wait. `SpinWait wait; while (!ready()) wait();`
class SpinWait {
 public:
  void operator()() {
#ifdef HF_TRACED
    call_spin_hook();
#endif
    if (rounds_ < kPauseRounds) {
      for (unsigned i = 0; i < (1u << rounds_); ++i)
        cpu_relax();
      ++rounds_;
    } else {
      std::this_thread::yield();
    }
  }

 private:
  // 2^6 - 1 pauses of some 40 cycles: about a microsecond, several times what a holder that waits
  // for one fence needs.
  static constexpr unsigned kPauseRounds = 6;
  unsigned rounds_ = 0;
};

// Mutual exclusion for a few instructions; not fair, not recursive. Held by Lock (lock.hpp).
class HF_CAPABILITY("latch") SpinLatch {
 public:
  void lock() HF_ACQUIRE() {
    for (SpinWait wait; !try_lock();)
      wait();
  }
  bool try_lock() HF_TRY_ACQUIRE(true) {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() HF_RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace holdfast
