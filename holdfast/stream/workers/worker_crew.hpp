// worker_crew.hpp: threads that do the same piece of work side by side, again and again.
//
// Each runs on the CPUs of one NUMA node: those of the first node that the process may use, as many
// as it has CPUs, then those of the next. On a machine with one node the system places them.
//
// Threads  run() one at a time.   Errors  kNoSpace: a thread cannot be started.
#pragma once

#include <cstdint>
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
  // work(i) in each thread; returns when all have.
  void run(FunctionRef<void(unsigned worker)> work) HF_EXCLUDES(mutex_);

 private:
  WorkerCrew() = default;
  void serve(unsigned worker) HF_EXCLUDES(mutex_);

  KernelMutex mutex_;
  Condition changed_;
  const FunctionRef<void(unsigned)>* work_ HF_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t round_ HF_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ HF_GUARDED_BY(mutex_) = 0;
  bool closing_ HF_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::stream
