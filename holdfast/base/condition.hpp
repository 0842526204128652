// condition.hpp: waiting for a change of what a KernelMutex guards.
//
//   UniqueLock lock(mutex_);
//   while (!done_) changed_.wait(mutex_);      // Gives the mutex up while it waits.
//
// A wake may come without a reason: wait in a loop that looks at the guarded state.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <holdfast/base/mutex.hpp>

namespace holdfast {

class Condition {
 public:
  void wait(KernelMutex& mutex) HF_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    held.release();
  }
  // False: the time was over first.
  template <class Rep, class Period>
  bool wait_for(KernelMutex& mutex, std::chrono::duration<Rep, Period> longest) HF_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    const auto status = condition_.wait_for(held, longest);
    held.release();
    return status == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace holdfast
