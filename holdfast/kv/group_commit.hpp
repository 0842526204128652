// group_commit.hpp: what makes a write durable beyond the fence of its lane.
//
//   page media           only a sync does. All sessions append to one lane, whose run is composed
//                        in DRAM and handed to the kernel. A verb with power durability waits for
//                        a sync that began after that, and one sync serves all that wait
//                        (sync_group.hpp).
//   line, byte, none     nothing more is to be done. Each session has a lane of its own, and what
//                        waits here returns at once.
//
// On page media a run that is full is sealed by syncs: its tail is put after a sync that covers its
// records, and its word after a sync that covers its tail.
//
// Threads    Any.   Errors  those of the medium; the first failed sync closes the write gate.
#pragma once

#include <atomic>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/lane.hpp>
#include <holdfast/kv/sessions.hpp>
#include <holdfast/kv/sync_group.hpp>
#include <holdfast/kv/write_gate.hpp>

namespace holdfast::kv {

class GroupCommit {
 public:
  GroupCommit(Medium& medium, BlockTable& table, WriteGate& gate);

  // Page media: writes are durable by syncs, and lie in one lane until then.
  bool needed() const { return needed_; }
  // The one that all share; where none is needed no run is ever open in it.
  Lane& lane() { return lane_; }
  Lane& lane_of(Session& session) { return needed_ ? lane_ : session.lane; }
  // Something was handed to the kernel and not synced yet.
  void note_unsynced() { unsynced_.store(true, std::memory_order_release); }
  bool unsynced() const { return unsynced_.load(std::memory_order_acquire); }

  // Waits for a sync that covers everything handed over before.
  Status wait();
  // Whether a record that was committed is not yet as durable as this asks for.
  bool lacks(Durability durability) const { return needed_ && durability == Durability::kPower; }
  Status wait_for(Durability durability) { return lacks(durability) ? wait() : ok_status(); }
  // What was put on the medium before is durable when this returns.
  Status order() { return needed_ ? wait() : medium_.order(); }
  // Puts the mark of what is synced by now (synced_mark.hpp), where there is something new.
  void mark_synced();
  // The run is full; the syncs to come seal it. `tail`: compose_run_tail().
  void seal(std::uint64_t head, std::vector<std::byte> tail);
  // Waits until the runs that were full before are sealed, also those that a sync of another thread
  // is about to seal.
  Status finish_sealing();

  std::uint64_t durable_sequence() const {
    return durable_sequence_.load(std::memory_order_acquire);
  }
  void start(std::uint64_t durable_sequence) { durable_sequence_.store(durable_sequence); }
  std::uint64_t syncs() const { return group_.syncs(); }
  std::uint64_t dram_bytes() const { return needed_ ? table_.geometry().block_bytes : 0; }

 private:
  struct Tail {
    std::uint64_t head;
    std::vector<std::byte> bytes;
  };
  Status sync_files();

  Medium& medium_;
  BlockTable& table_;
  WriteGate& gate_;
  const bool needed_;
  Lane lane_;
  std::atomic<std::uint64_t> durable_sequence_{0};
  std::atomic<bool> unsynced_{false};
  Mutex mutex_;
  std::vector<Tail> tails_due_ HF_GUARDED_BY(mutex_);  // Wait for a sync of their records.
  // Heads: their tails wait for a sync.
  std::vector<std::uint64_t> tails_put_ HF_GUARDED_BY(mutex_);
  // Runs that were ever full, and those of them that are sealed. They are sealed in that order.
  std::uint64_t full_runs_ HF_GUARDED_BY(mutex_) = 0, sealed_runs_ HF_GUARDED_BY(mutex_) = 0;
  SyncGroup group_;
};

// The lane that a session appends to, for one operation of its thread, inside a guard.
class HeldLane {
 public:
  HeldLane(GroupCommit& group, Session& own)
      : lane_(group.lane_of(own)),
        latched_(group.needed() || lane_.revoked.load(std::memory_order_acquire) != 0) {
    if (latched_) lane_.latch.lock();
  }
  ~HeldLane() {
    if (latched_) lane_.latch.unlock();
  }
  HeldLane(const HeldLane&) = delete;

  Lane& operator*() const { return lane_; }
  Lane* operator->() const { return &lane_; }

 private:
  Lane& lane_;
  const bool latched_;
};

}  // namespace holdfast::kv
