// event_queue.hpp: events of a store on their way to its listener (events.hpp).
//
// Threads    post() by any, with any lock held: it takes a lock for a few instructions and waits
//            for nothing. start() and stop() by the store's owner.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <variant>

#include <holdfast/base/condition.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/kv/events.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

using Event = std::variant<RecoveryReport, GrowthEvent, ReclaimEvent, FailureEvent, StallEvent>;

class EventQueue {
 public:
  static constexpr std::size_t kMost = 1024;

  explicit EventQueue(std::shared_ptr<EventListener> listener) : listener_(std::move(listener)) {}
  ~EventQueue() { stop(); }
  EventQueue(const EventQueue&) = delete;

  // Whether anybody listens.
  explicit operator bool() const { return listener_ != nullptr; }
  void post(Event event);
  // Calls the listener from now on, also with what was posted before. Errors: kNoSpace (no thread).
  Status start();
  // Returns after the listener has seen all events; later ones are dropped.
  void stop();
  std::uint64_t dropped() const;
  // Whether the listener is the caller.
  bool is_calling() const { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  void deliver();

  const std::shared_ptr<EventListener> listener_;
  mutable KernelMutex mutex_;
  Condition changed_;
  std::deque<Event> waiting_ HF_GUARDED_BY(mutex_);
  std::uint64_t dropped_ HF_GUARDED_BY(mutex_) = 0;
  bool stopped_ HF_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::kv
