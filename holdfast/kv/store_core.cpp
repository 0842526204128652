#include <holdfast/kv/store_core.hpp>

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/index_image.hpp>
#include <holdfast/kv/piece_collector.hpp>
#include <holdfast/kv/recovery.hpp>
#include <holdfast/kv/verify.hpp>

namespace holdfast::kv {
namespace {

// Stores that are open: a child that fork() makes is told that they are not its own.
struct OpenStores {
  KernelMutex mutex;
  std::vector<StoreCore*> cores HF_GUARDED_BY(mutex);
};
OpenStores& open_stores() {
  static OpenStores& stores = []() -> OpenStores& {
    // Locked while it forks, so that the child finds the list whole.
    ::pthread_atfork([]() HF_NO_THREAD_SAFETY_ANALYSIS { open_stores().mutex.lock(); },
                     []() HF_NO_THREAD_SAFETY_ANALYSIS { open_stores().mutex.unlock(); },
                     []() HF_NO_THREAD_SAFETY_ANALYSIS {
                       for (StoreCore* core : open_stores().cores)
                         core->leave_to_parent();
                       open_stores().mutex.unlock();
                     });
    return *new OpenStores;  // Never destroyed: stores may be closed after main() has ended.
  }();
  return stores;
}

void enroll(StoreCore* core) {
  OpenStores& stores = open_stores();
  const Lock lock(stores.mutex);
  stores.cores.push_back(core);
}

void withdraw(StoreCore* core) {
  OpenStores& stores = open_stores();
  const Lock lock(stores.mutex);
  std::erase(stores.cores, core);
}

}  // namespace

Result<StoreCorePointer> StoreCore::open(Region region, const StoreOptions& options,
                                         RecordShape shape) {
  HF_RETURN_IF_ERROR(options.validate());
  const auto start = std::chrono::steady_clock::now();
  Medium medium(std::move(region));
  if (options.durability == Durability::kPower &&
      medium.region().granularity() == Granularity::kNone) {
    return WriteGate(false, std::string(medium.region().kind())).refusal();
  }
  auto superblock = read_superblock(medium.region(), options, shape);
  bool created = false;
  const bool may_create = !options.at_mark && (options.access == RegionAccess::kCreate ||
                                               options.access == RegionAccess::kOpenOrCreate);
  if (!superblock && superblock.code() == Errc::kNotHoldfast && may_create &&
      !medium.region().read_only() && medium.region().size_bytes() >= kSuperblockPageBytes &&
      medium.word(0) == 0) {
    HF_RETURN_IF_ERROR(create_store(medium, options, shape));
    created = true;
    superblock = read_superblock(medium.region(), options, shape);
  }
  if (!superblock) return std::move(superblock).error();
  if (!medium.region().read_only() && (options.at_mark || mark_word(medium, *superblock).returning))
    HF_RETURN_IF_ERROR(return_to_mark(medium, *superblock));
  StoreCorePointer core(new StoreCore(std::move(medium), options, *superblock));
  Recovery recovery(core->rooms, core->recovery_);
  if (auto recovered = recovery.run(); !recovered) {
    core->closed_ = true;  // Left as it is: no close, no clean mark.
    return std::move(recovered).error();
  }
  core->rooms.table.count_anew();
  if (auto adopted = core->keyspaces.adopt(); !adopted) {
    core->closed_ = true;
    return std::move(adopted).error();
  }
  core->rooms.pieces.adopt(core->rooms.spaces.find(kPieceSpace));
  if (!core->recovery_.clean && !core->rooms.gate.read_only()) {
    if (auto swept = HF_MUTANT("K106", PieceCollector(core->rooms).sweep(), ok_status()); !swept) {
      core->closed_ = true;
      return std::move(swept).error();
    }
  }
  if (options.order) {
    if (auto ordered = core->order_loader_.begin(recovery.take_order()); !ordered) {
      core->closed_ = true;
      return std::move(ordered).error();
    }
  }
  // Some need what recovery found, or an order.
  if (core->rooms.expiry.any() || options.order) core->take(verbs_for(core->rooms));
  core->recovery_.created = created;
  core->recovery_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  enroll(core.get());
  core->rooms.events.post(core->recovery_);
  if (!core->rooms.gate.read_only()) HF_RETURN_IF_ERROR(core->maintenance.start());
  HF_RETURN_IF_ERROR(core->rooms.events.start());
  return core;
}

StoreCore::StoreCore(Medium medium, const StoreOptions& options, const Superblock& superblock)
    : Verbs(verbs_of_any()),  // Until the rooms tell which are best.
      rooms(std::move(medium), options, superblock),
      maintenance(rooms),
      reads(rooms),
      writes(rooms, maintenance),
      merges(rooms, maintenance, writes),
      batches(rooms, writes),
      groups(rooms, this, reads, writes),
      alive(std::make_shared<std::atomic<StoreCore*>>(this)),
      keyspaces(rooms, maintenance, batches),
      untimed_(*this),
      order_loader_(rooms) {
  take(verbs_for(rooms));
}

// The mark's pins are none.
std::uint64_t StoreCore::values_pinned() const {
  return rooms.table.pins_held() - rooms.mark.runs();
}

StoreCore::~StoreCore() {
  if (checkpoints_.load(std::memory_order_acquire) == 0 && values_pinned() != 0) {
    check_failed("a value of get_pinned() is held while its store ends: it would lie in no memory",
                 __FILE__, __LINE__);
  }
  alive->store(nullptr, std::memory_order_release);
  order_loader_.stop();
  (void)close();
}

void StoreCore::leave_to_parent() {
  rooms.gate.leave_to_parent();
  if (rooms.gate.read_only()) return;
  alive->store(nullptr, std::memory_order_release);  // Snapshots and the like end without a verb.
  static_cast<HotVerbs&>(*this) = parents_verbs;
}

void StoreCoreDeleter::operator()(StoreCore* core) const {
  // It has threads to join and locks to take that are not in this process: it is left as it is.
  if (core->rooms.gate.left_to_parent()) return;
  delete core;
}

void StoreCore::sample_latencies(std::uint32_t one_in) {
  const Lock lock(sampling_);
  latencies.set(one_in);
  static_cast<HotVerbs&>(*this) = one_in != 0 ? sampled_verbs() : untimed_;
}

void StoreCore::abandon() {
  order_loader_.stop();
  rooms.events.stop();
  maintenance.stop();
  withdraw(this);
  closed_ = true;
}

Status StoreCore::may_close() {
  if (rooms.is_called_back())
    return Error{Errc::kBusy, "a verb that is under way has called this; close the store later"};
  rooms.end_left_snapshots();
  const auto open = [](std::uint64_t count, const char* what) {
    return Error{Errc::kBusy, std::to_string(count) + " " + what +
                                  " of the store are open; let them go, then close it"};
  };
  std::uint64_t snapshots = rooms.versions.snapshots_open();
  rooms.spaces.for_each(
      [&](const SpaceRooms& space) { snapshots += space.versions.snapshots_open(); });
  if (snapshots != 0) return open(snapshots, "snapshots");
  if (const std::uint64_t count = checkpoints_.load(std::memory_order_acquire); count != 0)
    return open(count, "checkpoints");
  if (const std::uint64_t count = values_pinned(); count != 0)
    return open(count, "values of get_pinned()");
  if (rooms.events.is_calling())
    return Error{Errc::kBusy, "close() of a store from its listener, which it would wait for"};
  return {};
}

Status StoreCore::close() {
  if (closed_) return {};
  closed_ = true;
  keyspaces.close();
  if (rooms.gate.left_to_parent()) return {};
  order_loader_.stop();
  rooms.events.stop();  // The listener may use the store until then.
  maintenance.stop();
  withdraw(this);
  if (rooms.gate.read_only()) return {};
  if (const auto failure = rooms.gate.failure())
    return Error{Errc::kReadOnly, "closed without a clean mark since " + failure->message()};
  HF_RETURN_IF_ERROR(maintenance.settle_for_close());
  return close_in_order(rooms);
}

// ---- What is neither read nor written ----

void StoreCore::settle_displaced() {
  if (rooms.displaced && rooms.displaced->count() != 0)
    (void)rooms.displaced->settle_all(rooms.sessions.of_this_thread());
}

std::uint64_t StoreCore::count() {
  // Settling may need room in the index, whose latches the calling verb has. What is displaced has
  // its key in the index, but for tags that agree by accident.
  if (!rooms.inside()) settle_displaced();
  return rooms.index.count();
}

Status StoreCore::sync() {
  if (rooms.gate.read_only()) return {};
  HF_RETURN_IF_ERROR(rooms.group.wait());
  HF_MUTANT("K162", rooms.group.mark_synced(), void());
  return {};
}

Version StoreCore::durable_up_to() const {
  switch (rooms.medium.region().granularity()) {
    case Granularity::kNone: return 0;
    case Granularity::kPage: return rooms.group.durable_sequence();
    default: return rooms.sequences.next() - 1;  // Every acknowledged one is.
  }
}

Status StoreCore::reserve(std::uint64_t records) {
  HF_RETURN_IF_ERROR(rooms.gate.check(false));
  return rooms.index.map().reserve(records);
}

VerifyReport StoreCore::verify() {
  if (rooms.inside()) return nothing_verified(Verification::called_back());
  // While this runs nothing is freed: a run that we read stays what it was.
  const auto no_reclamation = maintenance.hold_off();
  return Verification(rooms, recovery_.defects).run();
}

StoreStats StoreCore::stats() {
  StoreStats stats;
  rooms.drain_notes();
  const BlockTable::Totals totals = rooms.table.totals();
  stats.records = rooms.index.count();
  stats.live_bytes = totals.live_bytes;
  stats.medium_bytes = rooms.medium.size_bytes();
  stats.used_bytes = totals.used_bytes;
  stats.blocks = totals.blocks;
  stats.free_blocks = totals.free_blocks;
  stats.open_blocks = totals.open_blocks;
  stats.dram_index_bytes = rooms.index.map().dram_bytes();
  stats.dram_other_bytes = rooms.table.dram_bytes() + rooms.versions.dram_bytes();
  if (rooms.index.is_ordered()) stats.dram_other_bytes += rooms.index.order()->keys().bytes();
  if (rooms.displaced) {
    stats.displaced_records = rooms.displaced->count();
    stats.dram_other_bytes += rooms.displaced->dram_bytes();
  }
  const auto count = [&](const Session& session) {
    stats.fences += session.fences.load(std::memory_order_relaxed);
    stats.lines_written_back += session.lines.load(std::memory_order_relaxed);
    stats.dram_other_bytes +=
        sizeof(Session) + session.lane.entries_bytes.load(std::memory_order_relaxed);
  };
  rooms.sessions.for_each([&](const Session& session) {
    stats.sessions += session.taken.load(std::memory_order_relaxed);
    count(session);
  });
  if (!rooms.gate.read_only()) count(maintenance.own_session());
  rooms.spaces.for_each_kept([&](SpaceRooms& space) {
    stats.dram_index_bytes += space.index.map().dram_bytes();
    stats.dram_other_bytes += space.versions.dram_bytes();
    if (space.index.is_ordered()) stats.dram_other_bytes += space.index.order()->keys().bytes();
    stats.snapshots_open += space.versions.snapshots_open();
    space.sessions.for_each(count);
    count(*space.relocator);
  });
  stats.dram_other_bytes += rooms.group.dram_bytes();
  stats.syncs = rooms.group.syncs();
  // Counted as asked for; what was executed depends on the medium.
  if (!rooms.medium.persist().fences()) stats.fences = 0;
  if (rooms.medium.persist().instruction() == WriteBackInstruction::kNone)
    stats.lines_written_back = 0;
  stats.snapshots_open += rooms.versions.snapshots_open();
  const ReclaimCounts& counts = maintenance.counts();
  stats.reclaimed_blocks = counts.blocks.load(std::memory_order_relaxed);
  stats.relocated_bytes = counts.relocated_bytes.load(std::memory_order_relaxed);
  stats.tombstones_dropped = counts.tombstones_dropped.load(std::memory_order_relaxed);
  stats.expired_records = maintenance.expired_records();
  stats.index_rehashes = rooms.index.map().rehashes();
  stats.newest_version = rooms.sequences.next() - 1;
  stats.mark_version = rooms.mark.version();
  stats.mark_held_bytes = rooms.mark.held_bytes();
  stats.events_dropped = rooms.events.dropped();
  return stats;
}

}  // namespace holdfast::kv
