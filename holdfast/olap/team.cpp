#include <holdfast/olap/team.hpp>

#include <system_error>

namespace holdfast::olap {

Team::Team(unsigned size) {
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
