// store_core.hpp: the store behind Store<>, Store<K, V> and Snapshot: its rooms, its verbs, and its
// life from open to close.
#pragma once

#include <atomic>
#include <memory>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/batches.hpp>
#include <holdfast/kv/group_verbs.hpp>
#include <holdfast/kv/keyspaces.hpp>
#include <holdfast/kv/latency_sampler.hpp>
#include <holdfast/kv/maintenance.hpp>
#include <holdfast/kv/merges.hpp>
#include <holdfast/kv/order_loader.hpp>
#include <holdfast/kv/reads.hpp>
#include <holdfast/kv/rooms.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/kv/verbs.hpp>

namespace holdfast::kv {

class StoreCore : public Verbs {
 public:
  static Result<StoreCorePointer> open(Region region, const StoreOptions& options,
                                       RecordShape shape);
  StoreCore(Medium medium, const StoreOptions& options, const Superblock& superblock);
  ~StoreCore();
  StoreCore(const StoreCore&) = delete;

  // In a child that fork() made the store stays the parent's. The child has a copy of its books
  // from one moment, none of its threads, and the same medium: its writes would go where the
  // parent's go, and its close would put the clean mark on a store that goes on. In the child, in
  // its one thread.
  void leave_to_parent();

  std::uint64_t count();
  Snapshot snapshot();
  // Of the store's own keys, and of each of the spaces, at one moment.
  Result<std::vector<Snapshot>> snapshots(std::span<const Space> spaces);
  Status sync();
  Version durable_up_to() const;
  Status reserve(std::uint64_t records);
  VerifyReport verify();
  StoreStats stats();
  const RecoveryReport& recovery() const { return recovery_; }
  Status close();
  // Savepoints in place: store.hpp.
  Result<Version> mark();
  Status drop_mark();
  // Of checkpoints that are not released yet.
  void count_checkpoint(std::int64_t change) {
    checkpoints_.fetch_add(static_cast<std::uint64_t>(change), std::memory_order_acq_rel);
  }
  // What keeps the store from being closed; kOk: nothing.
  Status may_close();
  std::uint64_t values_pinned() const;  // By get_pinned().
  // As if the process died: nothing is sealed, nothing is closed, the medium stays as it is.
  void abandon();
  // Other instances of the same verbs. Beside others: with sampling_ held.
  void take(const Verbs& verbs) {
    untimed_ = verbs;
    static_cast<Verbs&>(*this) = verbs;
  }
  // expiry.hpp. Of a keyspace by its id.
  Status expire(std::uint16_t space, const ExpiryRule& rule);
  std::vector<ExpiryRule> expiry_rules(std::uint16_t space) const;
  Status set_clock(std::uint64_t now);
  // Beside others that use the store.
  void sample_latencies(std::uint32_t one_in);
  const HotVerbs& untimed() const { return untimed_; }

  LatencySampler latencies;
  Rooms rooms;
  Maintenance maintenance;
  Reads reads;
  Writes writes;
  Merges merges;
  Batches batches;
  GroupVerbs groups;
  // Where pipelines find the store, and later that there is none any more: null.
  const std::shared_ptr<std::atomic<StoreCore*>> alive;
  Keyspaces keyspaces;

 private:
  Status may_change_expiry() const;
  void free_old_images();
  void settle_displaced();

  Mutex expiring_;             // One rule, or reading of the clock, at a time.
  mutable KernelMutex rules_;  // Of a rule's place. Inside the other; nothing is waited for.
  Mutex marking_;              // One mark at a time.
  Mutex sampling_;             // Of which verbs there are.
  HotVerbs untimed_;           // Those that were chosen at open.
  RecoveryReport recovery_;
  std::atomic<std::uint64_t> checkpoints_{0};
  OrderLoader order_loader_;
  bool closed_ = false;
};

}  // namespace holdfast::kv
