// versions.hpp: what snapshots see: older versions of records, reachable from newer ones.
//
// The chains live in DRAM, since snapshots do not outlive the process. While a snapshot is open, a
// writer that supersedes a record notes it as the version behind its own, if an open snapshot can
// see it; else it is dead at once. So a key keeps at most one version per open snapshot and one
// more. An erased key stays indexed by its tombstone as long as a snapshot may look behind it.
//
// Invariants (1) retire() stands before the publication of the newer record: a reader that finds
//            the newer one finds the way on;
//            (2) a chain changes only under the latch of its key, or as its record's line moves
//            (move()), and what a line led to stays until forget(): readers that found the old line
//            go on from it.
// Threads    Any.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/key_index.hpp>
#include <holdfast/kv/records.hpp>

namespace holdfast::kv {

class Versions {
 public:
  Versions(const Records& records, KeyIndex& index, Sequences& sequences, EpochDomain& epochs,
           WriteGate& gate)
      : records_(records), index_(index), sequences_(sequences), epochs_(epochs), gate_(gate) {}
  ~Versions();
  Versions(const Versions&) = delete;

  // The sequence of a new snapshot. Writes are held: it sees what was published before, and nothing
  // that is published later. The caller is in no guard.
  std::uint64_t open();
  // The same for several Versions, of one store: under a WriteGate::Hold one Sequences::lapse(),
  // then enter() to all.
  void enter(std::uint64_t version);
  // Ends one, and drops the versions that only it could see: `table` learns that they are dead.
  void close(std::uint64_t version, Session& session, BlockTable& table);
  // One that ends where close() would wait for the calling thread itself: close_left() closes it.
  void leave(std::uint64_t version);
  bool any_left() const { return any_left_.load(std::memory_order_acquire); }
  void close_left(Session& session, BlockTable& table);
  std::uint64_t snapshots_open() const { return open_.load(std::memory_order_acquire); }
  // Snapshots that are open or whose versions are still being dropped.
  bool held() const { return held_.load(std::memory_order_acquire) != 0; }
  // The version of the oldest open snapshot; 0: there is none.
  std::uint64_t oldest() const;

  // Under the key's latch, before `newer` is published over `older`, while snapshots are open.
  // Returns the line that nobody can see any more: `older`, or none.
  Line retire(Line newer, Line older);
  // Under the key's latch, while no snapshot is open but held(): takes what lies behind `line` out
  // of its chain and returns it, or kNoLine.
  Line detach(Line line);
  // An erased key's place in the index stays; it is taken out when no snapshot needs it.
  void note_tombstone(std::uint64_t hash, std::uint64_t sequence);

  // The newest record of the chain from `line` on that is not newer than `version`; kNoLine if
  // there is none, or if it is a tombstone.
  Line visible_at(Line line, std::uint64_t version, const EpochDomain::Guard&) const;

  // Under the key's latch: the versions behind `current`.
  template <class Visit>
  void for_each_behind(Line current, Visit&& visit) const {
    for (Line at = behind(current); at; at = behind(at))
      visit(at);
  }
  // Reclamation, under the key's latch. Whether `line` is a version behind `current`.
  bool holds(Line current, Line line) const;
  // The record on `from`, which is `current` or behind it, now also lies on `to`. What `from` led
  // to stays until forget(from).
  void move(Line current, Line from, Line to);
  void forget(Line line);

  std::uint64_t dram_bytes() const;

 private:
  struct Shard {
    mutable KernelMutex mutex;
    LineMap older HF_GUARDED_BY(mutex);  // Of a newer record: the one behind it.
  };
  struct Tombstone {
    std::uint64_t hash, sequence;
  };
  using Open = std::vector<std::uint64_t>;  // Versions of open snapshots, ascending.

  Shard& shard(Line line) const { return shards_[mix64(line.number) % shards_.size()]; }
  Line behind(Line line) const;
  void link(Line newer, Line older);
  // Whether a snapshot sees a record of this sequence that a record of sequence `next` superseded.
  // Inside a guard, or with mutex_ held: the list of snapshots may be replaced.
  bool is_visible(std::uint64_t sequence, std::uint64_t next) const;
  void publish(std::unique_ptr<Open> open) HF_REQUIRES(mutex_);
  std::vector<Line> newer_lines() const;  // That have a record behind them.
  bool drop_invisible(Line any_of_chain, Session& session, BlockTable& table) HF_REQUIRES(closing_);
  void drop_tombstones(Session& session) HF_REQUIRES(closing_);

  const Records& records_;
  KeyIndex& index_;
  Sequences& sequences_;
  EpochDomain& epochs_;
  WriteGate& gate_;
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> held_{0};
  std::atomic<const Open*> versions_{nullptr};  // Null: none. Replaced as a whole.
  std::atomic<bool> any_left_{false};
  std::vector<std::uint64_t> left_ HF_GUARDED_BY(mutex_);
  Mutex closing_ HF_ACQUIRED_BEFORE(mutex_);  // One snapshot is closed at a time.
  mutable Mutex mutex_;                       // Of opening and closing: of versions_.
  mutable std::array<Shard, 64> shards_;
  KernelMutex tombstones_mutex_;
  std::vector<Tombstone> tombstones_ HF_GUARDED_BY(tombstones_mutex_);
};

}  // namespace holdfast::kv
