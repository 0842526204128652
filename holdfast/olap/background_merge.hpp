// background_merge.hpp: merges what was appended to a star by itself, on a thread of its own.
//
// The appender says notice() after an append; when so many blocks or appends wait to be merged as
// `from` says, the thread merges them. Queries and appends go on, but for the short time in which
// an append waits for the merge to end (star_store.hpp, mart/mart_store.hpp).
//
// Errors   A merge that fails is tried again at the next notice(); last_error() has what it said.
// Threads  notice() and last_error() from any. The destructor waits for a merge that runs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/mart_store.hpp>
#include <holdfast/olap/star_store.hpp>

namespace holdfast::olap {

class BackgroundMerge {
 public:
  static constexpr std::size_t kUsualFrom = 16;

  // The store must outlive it. Errors: kIo: no thread can be started.
  static Result<std::unique_ptr<BackgroundMerge>> start(StarStore& store,
                                                        std::size_t from = kUsualFrom);
  static Result<std::unique_ptr<BackgroundMerge>> start(mart::MartStore& store,
                                                        std::size_t from = kUsualFrom);
  ~BackgroundMerge();
  BackgroundMerge(const BackgroundMerge&) = delete;
  BackgroundMerge& operator=(const BackgroundMerge&) = delete;

  void notice();
  // The status of the last merge; success before the first.
  Status last_error() const;

 private:
  BackgroundMerge(std::function<std::size_t()> waiting, std::function<Status()> merge,
                  std::size_t from)
      : waiting_(std::move(waiting)), merge_(std::move(merge)), from_(from) {}
  static Result<std::unique_ptr<BackgroundMerge>> started(std::unique_ptr<BackgroundMerge> merge);
  void run();

  std::function<std::size_t()> waiting_;
  std::function<Status()> merge_;
  std::size_t from_;
  mutable KernelMutex mutex_;
  Condition changed_;
  bool noticed_ HF_GUARDED_BY(mutex_) = true;  // What was appended before it was started.
  bool stop_ HF_GUARDED_BY(mutex_) = false;
  Status last_ HF_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::olap
