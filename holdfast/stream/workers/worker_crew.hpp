// worker_crew.hpp: threads that do the same piece of work side by side, again and again.
//
// Where each runs is worker_places.hpp's.
//
// Threads  run() one at a time.   Errors  kNoSpace: a thread cannot be started.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::stream {

class WorkerCrew {
 public:
  static Result<std::unique_ptr<WorkerCrew>> start(unsigned workers);
  ~WorkerCrew();
  WorkerCrew(const WorkerCrew&) = delete;
  WorkerCrew& operator=(const WorkerCrew&) = delete;

  unsigned size() const { return static_cast<unsigned>(threads_.size()); }
  // So many, the first, have a core of their own.
  unsigned cores() const { return cores_; }
  // work(i) in each of the first `number` threads; the others sleep on. Returns when all have.
  // How many of these wanted a CPU, on average, from now until each had done its work.
  double run(unsigned number, FunctionRef<void(unsigned worker)> work) HF_EXCLUDES(mutex_);

 private:
  WorkerCrew() = default;
  void serve(unsigned worker) HF_EXCLUDES(mutex_);

  KernelMutex mutex_;
  std::vector<std::unique_ptr<Condition>> called_;  // By worker.
  Condition done_;
  const FunctionRef<void(unsigned)>* work_ HF_GUARDED_BY(mutex_) = nullptr;
  std::vector<bool> at_work_ HF_GUARDED_BY(mutex_);
  std::size_t busy_ HF_GUARDED_BY(mutex_) = 0;
  // Of all: how long they wanted a CPU, and how long they took.
  double busy_seconds_ HF_GUARDED_BY(mutex_) = 0, seconds_ HF_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point begun_ HF_GUARDED_BY(mutex_);
  bool closing_ HF_GUARDED_BY(mutex_) = false;
  unsigned cores_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::stream
