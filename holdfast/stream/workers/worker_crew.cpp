#include "worker_crew.hpp"

#include <sched.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <holdfast/stream/workers/cpu_demand.hpp>
#include <holdfast/stream/workers/worker_places.hpp>

namespace holdfast::stream {

Result<std::unique_ptr<WorkerCrew>> WorkerCrew::start(unsigned workers) {
  std::unique_ptr<WorkerCrew> crew(new WorkerCrew());
  cpu_set_t allowed;
  WorkerPlaces places;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    places = places_of(read_topology(), allowed, workers);
  crew->cores_ = places.cores == 0 ? workers : std::min(workers, places.cores);
  {
    const Lock lock(crew->mutex_);
    crew->at_work_.resize(workers);
  }
  for (unsigned i = 0; i < workers; ++i)
    crew->called_.push_back(std::make_unique<Condition>());
  try {
    crew->threads_.reserve(workers);
    for (unsigned i = 0; i < workers; ++i) {
      auto& thread = crew->threads_.emplace_back([raw = crew.get(), i] { raw->serve(i); });
      if (!places.cpus.empty()) {
        const auto& place = places.cpus[i];
        (void)::pthread_setaffinity_np(thread.native_handle(), sizeof place, &place);
      }
    }
  } catch (const std::system_error& error) {
    return Error{Errc::kNoSpace, "worker " + std::to_string(crew->threads_.size() + 1) + " of " +
                                     std::to_string(workers) + ": no thread: " + error.what()};
  }
  return crew;
}

WorkerCrew::~WorkerCrew() {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  for (const auto& called : called_)
    called->notify_all();
  for (auto& thread : threads_)
    thread.join();
}

double WorkerCrew::run(unsigned number, FunctionRef<void(unsigned worker)> work) {
  UniqueLock lock(mutex_);
  work_ = &work;
  busy_ = number;
  busy_seconds_ = seconds_ = 0;
  begun_ = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < number; ++i) {
    at_work_[i] = true;
    called_[i]->notify_all();
  }
  while (busy_ > 0)
    done_.wait(mutex_);
  return seconds_ > 0 ? number * busy_seconds_ / seconds_ : 0;
}

void WorkerCrew::serve(unsigned worker) {
  double before = cpu_demand();
  UniqueLock lock(mutex_);
  for (;;) {
    while (!closing_ && !at_work_[worker])
      called_[worker]->wait(mutex_);
    if (closing_) return;
    const auto& work = *work_;
    lock.unlock();
    work(worker);
    // With the time in the queue since it was called.
    const double demand = cpu_demand();
    lock.lock();
    busy_seconds_ += demand - std::exchange(before, demand);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    at_work_[worker] = false;
    if (--busy_ == 0) done_.notify_all();
  }
}

}  // namespace holdfast::stream
