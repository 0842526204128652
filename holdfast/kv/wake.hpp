// wake.hpp: how writers ask for the store's own work: room ahead of them, space back.
//
// Threads    ask(): any. wait(), stop(): the store's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace holdfast::kv {

class Wake {
 public:
  // Not under the mutex: one that comes too early is heard at the next interval.
  void ask() {
    asked_.store(true, std::memory_order_relaxed);
    wake_.notify_one();
  }
  // Until it is asked or stopped, or the interval is over. False: stopped.
  bool wait(std::chrono::milliseconds interval) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, interval,
                   [&] { return stopped_ || asked_.load(std::memory_order_relaxed); });
    asked_.store(false, std::memory_order_relaxed);
    return !stopped_;
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }
  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::atomic<bool> asked_{false};
};

}  // namespace holdfast::kv
