// recovery_thread.hpp: the thread that recovers images, one batch after the other.
//
// It is not the workload's: what the workload keeps in thread_local variables must not help a
// recovery, nor be disturbed by it. Nor may one recovery help all that follow, so after some number
// of images another thread takes its place. A new one for each batch would be half of the time
// where a batch is one image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>

namespace holdfast::crash::checker_detail {

class RecoveryThread {
 public:
  RecoveryThread() : thread_([this] { work(); }) {}
  ~RecoveryThread() {
    hand_over(Turn::kEnd);
    thread_.join();
  }
  RecoveryThread(const RecoveryThread&) = delete;
  RecoveryThread& operator=(const RecoveryThread&) = delete;

  // Returns when `recover`, which recovers so many images, has returned. One caller at a time.
  void run(const std::function<void()>& recover, std::size_t images) {
    task_ = &recover;
    images_ += images;
    hand_over(Turn::kRecover);
    wait_while(Turn::kRecover);
  }
  std::size_t images() const { return images_; }  // Of all that it was given.

 private:
  enum class Turn : std::uint8_t { kCaller, kRecover, kEnd };

  void work() {
    for (wait_while(Turn::kCaller); turn() != Turn::kEnd; wait_while(Turn::kCaller)) {
      (*task_)();
      hand_over(Turn::kCaller);
    }
  }
  void hand_over(Turn turn) {
    {
      const Lock lock(mutex_);
      turn_ = turn;
    }
    changed_.notify_one();
  }
  void wait_while(Turn turn) {
    const Lock lock(mutex_);
    while (turn_ == turn)
      changed_.wait(mutex_);
  }
  Turn turn() const {
    const Lock lock(mutex_);
    return turn_;
  }

  mutable KernelMutex mutex_;
  Condition changed_;
  Turn turn_ HF_GUARDED_BY(mutex_) = Turn::kCaller;
  const std::function<void()>* task_ = nullptr;  // Of who has the turn.
  std::size_t images_ = 0;
  std::thread thread_;  // The last one: it uses the others.
};

}  // namespace holdfast::crash::checker_detail
