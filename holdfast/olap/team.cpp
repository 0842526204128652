#include <holdfast/olap/team.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace holdfast::olap {

Team::Team(unsigned size, std::vector<WorkerPlace> places) : places_(std::move(places)) {
  places_.resize(places_.empty() ? 0 : std::max(size, 1u),
                 places_.empty() ? WorkerPlace() : places_[0]);
  if (!places_.empty()) nodes_.clear();
  for (const auto& place : places_) {
    const auto known = std::find(nodes_.begin(), nodes_.end(), place.node);
    node_of_.push_back(static_cast<unsigned>(known - nodes_.begin()));
    if (known == nodes_.end()) nodes_.push_back(place.node);
  }
  for (unsigned worker = 1; worker < size; ++worker) {
    try {
      threads_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error&) {
      return;
    }
  }
}

Team::~Team() {
  {
    const Lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_)
    thread.join();
}

void Team::serve(unsigned worker) {
  if (!places_.empty()) put_this_thread_on(places_[worker].cpus);
  std::uint64_t seen = 0;
  for (;;) {
    const FunctionRef<void(unsigned)>* work = nullptr;
    {
      const Lock lock(mutex_);
      while (!stop_ && (round_ == seen || !open_))
        changed_.wait(mutex_);
      if (stop_) return;
      seen = round_;
      work = work_;
      ++busy_;
    }
    (*work)(worker);
    const Lock lock(mutex_);
    if (--busy_ == 0) changed_.notify_all();
  }
}

void Team::run(FunctionRef<void(unsigned)> work) {
  if (places_.empty()) return run_together(work);
  const auto before = cpus_of_this_thread();
  put_this_thread_on(places_[0].cpus);
  run_together(work);
  put_this_thread_on(before);
}

void Team::run_together(FunctionRef<void(unsigned)> work) {
  if (threads_.empty()) return work(0);
  {
    const Lock lock(mutex_);
    work_ = &work;
    open_ = true;
    ++round_;
    changed_.notify_all();
  }
  work(0);
  const Lock lock(mutex_);
  open_ = false;
  while (busy_ != 0)
    changed_.wait(mutex_);
}

}  // namespace holdfast::olap
