// sync_group.hpp: group commit on page regions. A thread whose bytes must survive power loss waits
// for a sync that began after they were written. Of the threads that wait, one syncs for all.
//
// Threads    Any.   Latency   at most two syncs; no added delay when one waits alone.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include <holdfast/base/result.hpp>
#include <holdfast/base/spin.hpp>

namespace holdfast::kv {

class SyncGroup {
 public:
  // `sync` makes everything written before its call durable; called by one thread at a time.
  explicit SyncGroup(std::function<Status()> sync) : sync_(std::move(sync)) {}

  // Returns when a sync that began after this call has ended; its error if it failed.
  Status wait() {
    std::unique_lock lock(mutex_);
    // The one under way, if any, may have begun too early.
    const std::uint64_t needed = started_ + 1;
    [[maybe_unused]] SpinWait spin;
    while (finished_ < needed) {
      if (!failure_) return failure_;
      if (started_ == finished_) {
        const std::uint64_t mine = ++started_;
        lock.unlock();
        Status status = sync_();
        lock.lock();
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
        done_.wait(lock);
#endif
      }
    }
    return {};
  }
  std::uint64_t syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

 private:
  std::function<Status()> sync_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::uint64_t started_ = 0, finished_ = 0, syncs_ = 0;
  Status failure_;  // The first one stays: a failed sync is not tried again.
};

}  // namespace holdfast::kv
