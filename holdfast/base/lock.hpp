// lock.hpp: guards that hold a mutex or latch, understood by clang's thread-safety analysis.
//
//   const Lock lock(mutex_);          // Until the end of the block. As std::lock_guard.
//   UniqueLock lock(mutex_);          // May be given up and taken again. As std::unique_lock.
//   lock.unlock(); wait(); lock.lock();
//   const SharedLock lock(mutex_);    // Beside other readers. As std::shared_lock.
//
// They cannot be moved: the analysis follows a guard only within one function. A function that is
// called with the mutex held says so with HF_REQUIRES (thread_annotations.hpp).
// Any type with lock() and unlock() will do; it is analysed if it is annotated (mutex.hpp,
// spin.hpp).
#pragma once

#include <holdfast/base/thread_annotations.hpp>

namespace holdfast {

// For the guards: the mutex is held already, and the guard gives it back.
struct AdoptLock {};
inline constexpr AdoptLock kAdoptLock{};

template <class M>
class [[nodiscard]] HF_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(M& mutex) HF_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  Lock(M& mutex, AdoptLock) HF_REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() HF_RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  M& mutex_;
};

template <class M>
class [[nodiscard]] HF_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(M& mutex) HF_ACQUIRE(mutex) : mutex_(mutex), held_(true) { mutex.lock(); }
  ~UniqueLock() HF_RELEASE() {
    if (held_) mutex_.unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock() HF_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() HF_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  // The mutex stays held; somebody else gives it back. The analysis cannot follow that.
  void release() { held_ = false; }
  bool held() const { return held_; }
  M& mutex() const { return mutex_; }

 private:
  M& mutex_;
  bool held_;
};

template <class M>
class [[nodiscard]] HF_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(M& mutex) HF_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex.lock_shared(); }
  ~SharedLock() HF_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  M& mutex_;
};

}  // namespace holdfast
