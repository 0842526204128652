// mutex.hpp: mutual exclusion that is held over steps which may take long: fences, syncs, growth.
//
// Mutex        For state that is changed around steps on the medium. In the normal build the
//              kernel's mutex. In the build for the crash checker a latch that waits through the
//              spin hook (spin.hpp), so that the deterministic scheduler may switch threads at a
//              step inside.
// KernelMutex  Always the kernel's mutex: for state that is never held over a step on the medium,
//              and where a Condition waits (condition.hpp).
// SharedMutex  The kernel's, for one writer or many readers. Never held over a step on the medium.
//
// All are annotated for clang's thread-safety analysis (thread_annotations.hpp). Hold them by Lock,
// UniqueLock and SharedLock (lock.hpp).
#pragma once

#include <mutex>
#include <shared_mutex>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/base/thread_annotations.hpp>

namespace holdfast {

class HF_CAPABILITY("mutex") KernelMutex {
 public:
  void lock() HF_ACQUIRE() { mutex_.lock(); }
  bool try_lock() HF_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() HF_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

#ifdef HF_TRACED
using Mutex = SpinLatch;
#else
using Mutex = KernelMutex;
#endif

class HF_CAPABILITY("mutex") SharedMutex {
 public:
  void lock() HF_ACQUIRE() { mutex_.lock(); }
  bool try_lock() HF_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() HF_RELEASE() { mutex_.unlock(); }
  void lock_shared() HF_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  bool try_lock_shared() HF_TRY_ACQUIRE_SHARED(true) { return mutex_.try_lock_shared(); }
  void unlock_shared() HF_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

}  // namespace holdfast
