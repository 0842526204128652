#include <holdfast/kv/event_queue.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace holdfast::kv {
namespace {

struct Deliver {
  EventListener& to;
  void operator()(const RecoveryReport& report) const { to.on_recovery(report); }
  void operator()(const GrowthEvent& event) const { to.on_growth(event); }
  void operator()(const ReclaimEvent& event) const { to.on_reclaim(event); }
  void operator()(const FailureEvent& event) const { to.on_failure(event); }
  void operator()(const StallEvent& event) const { to.on_stall(event); }
};

}  // namespace

void EventQueue::post(Event event) {
  if (!listener_) return;
  {
    const Lock lock(mutex_);
    if (stopped_) return;
    if (waiting_.size() == kMost) {
      waiting_.pop_front();
      ++dropped_;
    }
    waiting_.push_back(std::move(event));
  }
  changed_.notify_one();
}

Status EventQueue::start() {
  if (!listener_) return {};
  try {
    thread_ = std::thread([this] { deliver(); });
  } catch (const std::system_error& error) {
    return Error{Errc::kNoSpace, std::string("listener: no thread for it: ") + error.what()};
  }
  return {};
}

void EventQueue::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t EventQueue::dropped() const {
  const Lock lock(mutex_);
  return dropped_;
}

void EventQueue::deliver() {
  UniqueLock lock(mutex_);
  for (;;) {
    while (waiting_.empty() && !stopped_)
      changed_.wait(mutex_);
    if (waiting_.empty()) return;
    const Event event = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    std::visit(Deliver{*listener_}, event);
    lock.lock();
  }
}

}  // namespace holdfast::kv
