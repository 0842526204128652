// write_gate.hpp: whether a store takes writes, and if not, why not.
//
// Closed from the start where it was opened read-only; closed for good by the first write that the
// medium refused, since what is on the medium is then in doubt. In a child that fork() made it is
// closed for all else, too: a thread of the parent may hold a lock or a latch of the child's copy
// for ever, and frees what the child would read.
//
// Held while a snapshot gets its place among the writes: they wait then, none is refused.
//
// Invariant  A write asks held() or takes_all() in its guard, a writer's. So a Hold waits for it,
//            or it waits for the Hold.
// Threads    Any.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::kv {

class EventQueue;

class WriteGate {
 public:
  // `loses_power`: the kind of a medium that keeps nothing without power, or empty. `events`: is
  // told of the failure that closes it; may be null.
  WriteGate(bool read_only, std::string loses_power, EventQueue* events = nullptr)
      : read_only_(read_only),
        gives_power_(loses_power.empty()),
        loses_power_(std::move(loses_power)),
        events_(events),
        open_(!read_only),
        takes_all_(open() && gives_power_) {}

  class Hold;

  bool open() const { return open_.load(std::memory_order_acquire); }
  // Open and not held, for writes of any durability.
  bool takes_all() const { return takes_all_.load(std::memory_order_acquire); }
  bool held() const { return held_.load(std::memory_order_acquire); }
  // Waits until no Hold is there, and calls enter() before the next one: a guard that it enters is
  // waited for by that one. The caller is in no guard.
  template <class Enter>
  auto enter_between_holds(Enter&& enter) {
    const Lock lock(holding_);
    return enter();
  }
  bool read_only() const { return read_only_; }
  bool gives_power() const { return gives_power_; }
  bool left_to_parent() const { return left_to_parent_; }
  // Then the child may not even read. What nobody writes to may be read by both.
  bool is_parents_alone() const { return left_to_parent_ && !read_only_; }
  static Error refusal_to_child();  // kClosed.

  // kReadOnly, kUnsupported or kClosed with the reason: of a gate that is closed, or where `power`
  // was asked for and cannot be had.
  Error refusal() const;
  Status check(bool power) const {
    if (open() && (!power || gives_power_)) [[likely]]
      return {};
    return refusal();
  }

  // The medium refused: closes, except for lack of space, which leaves nothing in doubt.
  void fail(const Error& error);
  // The same also for lack of space: a record was written, perhaps in part, perhaps wholly, and its
  // operation was not acknowledged.
  void fail_in_doubt(const Error& error);
  std::optional<Error> failure() const;

  void leave_to_parent() {
    left_to_parent_ = true;
    close();
  }

 private:
  void close() {
    takes_all_.store(false, std::memory_order_release);
    open_.store(false, std::memory_order_release);
  }

  const bool read_only_;
  const bool gives_power_;
  const std::string loses_power_;
  EventQueue* const events_;
  bool left_to_parent_ = false;
  std::atomic<bool> open_;
  std::atomic<bool> takes_all_;
  std::atomic<bool> held_{false};
  Mutex holding_ HF_ACQUIRED_BEFORE(mutex_);  // By one Hold at a time.
  mutable Mutex mutex_;
  std::optional<Error> failure_ HF_GUARDED_BY(mutex_);
};

// While it lives, no write is under way and none begins. Making it takes until those under way are
// done; readers are not waited for. The caller is in no guard and holds nothing that a write needs.
class WriteGate::Hold {
 public:
  Hold(WriteGate& gate, EpochDomain& epochs);
  ~Hold();
  Hold(const Hold&) = delete;

 private:
  WriteGate& gate_;
};

}  // namespace holdfast::kv
