// team.hpp: threads that wait for work, so that a query does not start any.
//
// Threads  run() from one thread at a time.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/olap/places.hpp>

namespace holdfast::olap {

class Team {
 public:
  // `size` workers with the caller of run(). Fewer where the system starts no more threads. With
  // places, worker i is at places[i]; the caller of run() for as long as that takes.
  explicit Team(unsigned size, std::vector<WorkerPlace> places = {});
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
  // Runs work(worker) on the caller, which is worker 0, and on all that wake up before it returns.
  // Returns when all that began have returned. So work that is taken from a counter is done as a
  // whole, and a worker that has no CPU holds up nobody.
  void run(FunctionRef<void(unsigned)> work);

  // Nodes that the workers are on, by the system's numbers; one where nobody is pinned.
  const std::vector<int>& nodes() const { return nodes_; }
  // The place of a worker's node among them.
  unsigned node_of(unsigned worker) const { return node_of_.empty() ? 0 : node_of_[worker]; }

 private:
  void serve(unsigned worker);
  void run_together(FunctionRef<void(unsigned)> work);

  std::vector<WorkerPlace> places_;  // Empty, or of all workers.
  std::vector<int> nodes_{0};
  std::vector<unsigned> node_of_;
  KernelMutex mutex_;
  Condition changed_;
  const FunctionRef<void(unsigned)>* work_ HF_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t round_ HF_GUARDED_BY(mutex_) = 0;
  bool open_ HF_GUARDED_BY(mutex_) = false;  // The round may be joined.
  unsigned busy_ HF_GUARDED_BY(mutex_) = 0;  // Workers in the round.
  bool stop_ HF_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::olap
