// write_gate.hpp: whether a store takes writes, and if not, why not.
//
// Closed from the start where it was opened read-only; closed for good by the first write that the
// medium refused, since what is on the medium is then in doubt. In a child that fork() made it is
// closed for all else, too: a thread of the parent may hold a lock or a latch of the child's copy
// for ever, and frees what the child would read.
// Threads    Any.
#pragma once

#include <atomic>
#include <optional>
#include <string>

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

  bool open() const { return open_.load(std::memory_order_acquire); }
  // Open, for writes of any durability.
  bool takes_all() const { return takes_all_.load(std::memory_order_acquire); }
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
  mutable Mutex mutex_;
  std::optional<Error> failure_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kv
