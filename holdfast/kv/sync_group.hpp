// sync_group.hpp: group commit on page regions. A thread whose bytes must survive power loss waits
// for a sync that began after they were written. Of the threads that wait, one syncs for all.
//
// Threads    Any.   Latency   at most two syncs; no added delay when one waits alone.
#pragma once

#include <cstdint>
#include <functional>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/spin.hpp>

namespace holdfast::kv {

class SyncGroup {
 public:
  // `sync` makes everything written before its call durable; called by one thread at a time.
  explicit SyncGroup(std::function<Status()> sync) : sync_(std::move(sync)) {}

  // Returns when a sync that began after this call has ended; its error if it failed.
  Status wait() {
    UniqueLock lock(mutex_);
    // The one under way, if any, may have begun too early.
    const std::uint64_t needed = started_ + 1;
    [[maybe_unused]] SpinWait spin;
    while (finished_ < needed) {
      if (!failure_) return failure_;
      if (started_ == finished_) {
        const std::uint64_t mine = ++started_;
        Status status = sync_or_give_up_turn(lock);
        if (status) {
          finished_ = mine;
          ++syncs_;
        } else {
          failure_ = std::move(status);
        }
        done_.notify_all();
      } else {
#ifdef HF_TRACED
        lock.unlock();  // The deterministic scheduler knows only waits that go through the hook.
        spin();
        lock.lock();
#else
        done_.wait(mutex_);
#endif
      }
    }
    return {};
  }
  std::uint64_t syncs() const {
    const Lock lock(mutex_);
    return syncs_;
  }

 private:
  // With the lock held again. An exception ends the caller's wait alone: another one syncs.
  Status sync_or_give_up_turn(UniqueLock<KernelMutex>& lock) HF_NO_THREAD_SAFETY_ANALYSIS {
    lock.unlock();
    try {
      Status status = sync_();
      lock.lock();
      return status;
    } catch (...) {
      lock.lock();
      --started_;  // Nobody else has begun one meanwhile.
      done_.notify_all();
      throw;
    }
  }

  std::function<Status()> sync_;
  mutable KernelMutex mutex_;
  Condition done_;
  std::uint64_t started_ HF_GUARDED_BY(mutex_) = 0;
  std::uint64_t finished_ HF_GUARDED_BY(mutex_) = 0;
  std::uint64_t syncs_ HF_GUARDED_BY(mutex_) = 0;
  // The first one stays: a failed sync is not tried again.
  Status failure_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kv
