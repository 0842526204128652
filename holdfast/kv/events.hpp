// events.hpp: what a store tells of its own work: StoreOptions::listener.
// Public header.
//
//   struct Watch : kv::EventListener {
//     void on_growth(const kv::GrowthEvent& event) noexcept override { … }
//   };
//   options.listener = std::make_shared<Watch>();
//
// Threads    A thread of the store's own calls one function at a time, in the order of the events,
//            with no lock held: any verb of the store may be called there, except close(), which
//            waits for that thread: it is kBusy. The store does not wait for a listener: of more
//            than 1,024 events that a slow one has not taken, the oldest are dropped
//            (StoreStats::events_dropped).
// Life       Calls begin before open() returns and end before close() does. The listener lives at
//            least as long as the store.
#pragma once

#include <cstdint>

#include <holdfast/base/result.hpp>

namespace holdfast::kv {

struct RecoveryReport;

// The medium has become larger.
struct GrowthEvent {
  std::uint64_t bytes_before = 0, bytes_after = 0;
};
// A pass of reclamation has ended.
struct ReclaimEvent {
  std::uint64_t freed_blocks = 0, relocated_bytes = 0;
  double seconds = 0;
  bool in_caller = false;  // By reclaim(), or by a write that found the medium full.
};
// The medium refused a write or a sync. The store takes no more writes: what is on the medium is in
// doubt until it is opened again.
struct FailureEvent {
  Error error;
};
// A write found the medium full and waited until its thread had made room, or found that there is
// none.
struct StallEvent {
  double seconds = 0;
  bool made_room = false;
};

class EventListener {
 public:
  virtual ~EventListener() = default;
  // The store is open; the report is that of recovery().
  virtual void on_recovery(const RecoveryReport&) noexcept {}
  virtual void on_growth(const GrowthEvent&) noexcept {}
  virtual void on_reclaim(const ReclaimEvent&) noexcept {}
  virtual void on_failure(const FailureEvent&) noexcept {}
  virtual void on_stall(const StallEvent&) noexcept {}
};

}  // namespace holdfast::kv
