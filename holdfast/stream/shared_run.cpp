#include "shared_run.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include <holdfast/stream/members.hpp>

namespace holdfast::stream {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};

// One split's run, in a thread of its own.
class Worker {
 public:
  Worker(const SharedRun& shared, const std::string& split)
      : thread_([this, &shared, split] {
          result_ = shared.run(split, stop_);
          done_.store(true, std::memory_order_release);
        }) {}
  ~Worker() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool done() const { return done_.load(std::memory_order_acquire); }
  // Ends it, with a checkpoint. True: it had come to its end.
  Result<bool> end() {
    stop_.store(true);
    thread_.join();
    return std::move(result_);
  }

 private:
  std::atomic<bool> stop_{false}, done_{false};
  Result<bool> result_ = false;
  std::thread thread_;  // The last: it uses the others.
};

class Member {
 public:
  Member(const SharedRun& shared, Membership membership)
      : shared_(shared), membership_(std::move(membership)) {}

  // True: all splits have ended.
  Result<bool> step() {
    HF_RETURN_IF_ERROR(reap());
    const std::size_t open = shared_.splits.size() - ended_.size();
    if (open == 0) return true;
    HF_ASSIGN_OR_RETURN(const auto share, membership_.fair_share(open));
    const auto before = workers_.size();
    while (workers_.size() > share)
      HF_RETURN_IF_ERROR(end_worker(std::prev(workers_.end())));
    for (const auto& split : shared_.splits) {
      if (workers_.size() >= share) break;
      if (ended_.contains(split) || workers_.contains(split)) continue;
      HF_ASSIGN_OR_RETURN(const bool taken, membership_.take(split));
      if (taken) workers_.emplace(split, std::make_unique<Worker>(shared_, split));
    }
    if (workers_.size() != before) HF_RETURN_IF_ERROR(tell());
    return false;
  }
  Status end_all() {
    Status first;
    while (!workers_.empty()) {
      const Status ended = end_worker(workers_.begin());
      if (first && !ended) first = ended;
    }
    return first;
  }

 private:
  using Workers = std::map<std::string, std::unique_ptr<Worker>>;

  Status end_worker(Workers::iterator at) {
    const auto result = at->second->end();
    const auto split = at->first;
    workers_.erase(at);
    membership_.give_back(split);
    if (!result) return result.error();
    if (*result) ended_.insert(split);
    return {};
  }
  Status reap() {
    const auto before = workers_.size();
    for (auto at = workers_.begin(); at != workers_.end();) {
      const auto next = std::next(at);
      if (at->second->done()) HF_RETURN_IF_ERROR(end_worker(at));
      at = next;
    }
    return workers_.size() == before ? Status() : tell();
  }
  Status tell() {
    if (!shared_.shares) return {};
    std::vector<std::string> held;
    for (const auto& [split, worker] : workers_)
      held.push_back(split);
    HF_ASSIGN_OR_RETURN(const auto members, membership_.members());
    shared_.shares(held, members.size());
    return {};
  }

  const SharedRun& shared_;
  Membership membership_;
  Workers workers_;
  std::set<std::string> ended_;
};

}  // namespace

Status run_shared(const SharedRun& shared, const std::atomic<bool>& stop) {
  HF_ASSIGN_OR_RETURN(auto membership, Membership::join(shared.directory));
  Member member(shared, std::move(membership));
  Result<bool> ended = false;
  while (ended && !*ended && !stop.load()) {
    ended = member.step();
    if (ended && !*ended) std::this_thread::sleep_for(kLookAgain);
  }
  const Status closed = member.end_all();
  return ended ? closed : Status(ended.error());
}

}  // namespace holdfast::stream
