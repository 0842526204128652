// for_tests.hpp: what tests may do to a store that its users may not.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/kv/reclaim.hpp>
#include <holdfast/kv/store_verbs.hpp>

namespace holdfast::kv {

struct ForTests {
  static StoreCore& core(StoreBase& store) { return *store.core_; }
  static BlockTable& table(StoreBase& store) { return store.core_->table_; }

  // As if the process died: nothing is sealed, nothing is closed, the medium stays as it is.
  static void abandon(StoreBase& store) {
    StoreCore& core = *store.core_;
    core.stop_background();
    core.withdraw();
    core.closed_ = true;
    store.core_.reset();
  }
  // Limits that are durably raised once in a million operations are raised every few.
  static void small_steps(StoreBase& store, std::uint64_t sequences, std::uint64_t generations) {
    StoreCore& core = *store.core_;
    core.sequence_step_ = sequences;
    core.sequence_limit_.store(0);
    core.table_.generation_step_ = generations;
    core.table_.generation_limit_ = 0;
  }
  // What lanes have in reserve is not used any more, as after a snapshot.
  static void lapse_sequences(StoreBase& store) { store.core_->sequence_epoch_.fetch_add(1); }
  static std::uint64_t next_sequence(StoreBase& store) {
    return store.core_->next_sequence_.load();
  }
  static std::uint64_t next_generation(StoreBase& store) {
    return store.core_->table_.next_generation();
  }

  // This thread's run (page regions: everybody's) is sealed, as when it is full.
  static Status seal(StoreBase& store) {
    StoreCore& core = *store.core_;
    Session& own = core.session();
    Lane& lane = core.lane_of(own);
    const std::lock_guard lock(lane.latch);
    return core.seal(own, lane);
  }
  // The relocator's run too.
  static Status seal_relocated(StoreBase& store) {
    StoreCore& core = *store.core_;
    const std::lock_guard lock(core.relocator_->lane.latch);
    return core.seal(*core.relocator_, core.relocator_->lane);
  }
  static Result<std::uint64_t> pass(StoreBase& store, double least_gain = 0.05) {
    StoreCore& core = *store.core_;
    const std::lock_guard lock(core.reclaim_mutex_);
    return Reclaimer(core).pass(16, least_gain, 0);
  }
  // As far as a put gets before its fence (page regions: before its sync).
  static void append_without_fence(StoreBase& store, std::string_view key, std::string_view value) {
    StoreCore& core = *store.core_;
    Session& own = core.session();
    Lane& lane = core.lane_of(own);
    const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
    const NewRecord<StoreCore::Bytes, StoreCore::Bytes> record{RecordKind::kPut, hash64(bytes(key)),
                                                               bytes(key), bytes(value)};
    const std::lock_guard lock(lane.latch);
    Appended appended;
    core.append(own, lane, record, 0, false, BlockTable::Purpose::kPut, appended).value();
    if (core.medium_.paged()) core.commit(own, lane).value();
  }
  // As far as a session gets with the sealing of its run before the tail's fence. Not on page
  // regions.
  // With `dead_bits` instead of zeros: as if a crash had left all of the tail but these.
  static void put_tail_without_fence(StoreBase& store, std::uint64_t dead_bits = 0) {
    StoreCore& core = *store.core_;
    Session& own = core.session();
    const std::lock_guard lock(own.lane.latch);
    core.commit(own, own.lane).value();
    const BlockMeta& run = *own.lane.meta;
    auto tail = compose_run_tail(own.lane.entries, run.generation, run.run_blocks, own.lane.at, 0,
                                 own.lane.seed);
    std::memcpy(tail.data(), &dead_bits, sizeof dead_bits);
    core.medium_
        .put(own.lane.run_offset + own.lane.run_bytes - tail.size(), tail.data(), tail.size())
        .value();
  }
  // As far as a pass gets with its dead bits before their fence.
  static void put_dead_bits_without_fence(StoreBase& store) {
    StoreCore& core = *store.core_;
    const std::lock_guard lock(core.reclaim_mutex_);
    for (std::uint64_t block = 0; block < core.table_.blocks(); ++block) {
      const BlockMeta& run = core.table_.meta(block);
      if (run.head != block || run.state.load() != BlockState::kSealed || !run.dead_dirty.load())
        continue;
      core.table_.confirm_sealed(block).value();
      core.table_.put_dead_bits(block, core.take_dead_bits(block)).value();
    }
  }
  // From here on every put and erase of such a key needs a second append, as if another key of its
  // index partition had just been erased by somebody else.
  static void raise_erase_horizon(StoreBase& store, std::string_view key) {
    StoreCore& core = *store.core_;
    core.index_->raise_erase_horizon(hash64(std::as_bytes(std::span(key))),
                                     core.next_sequence_.load());
  }
  // Takes every block that is free, the reserve included: nothing can be opened any more.
  static void take_all_blocks(StoreBase& store) {
    while (store.core_->table_.open_run(1, BlockTable::Purpose::kReclaim)) {
    }
  }
  // Whether this thread's run takes so many records of so many bytes, padded, in all.
  static bool fits(StoreBase& store, std::uint64_t bytes, std::uint64_t records) {
    return store.core_->lane_of(store.core_->session()).fits(bytes, records);
  }
  // A byte of the value, as if the medium had lost it. Not on page regions.
  static void spoil(StoreBase& store, std::string_view key) {
    const StoreCore& core = *store.core_;
    core.get(std::as_bytes(std::span(key)),
             [](const RecordView& record) { record.value_data()[0] ^= std::byte{1}; })
        .value();
  }
  // A get whose thread is slow: `copy` runs where the value would be copied out.
  static void get(StoreBase& store, std::string_view key,
                  const std::function<void(std::string_view value)>& copy) {
    store.core_
        ->get(std::as_bytes(std::span(key)),
              [&](const RecordView& record) { copy(record.value()); })
        .value();
  }
  // A batch of one put whose thread is slow between publishing its record and the moment when the
  // batch becomes visible.
  static void publish_slowly(StoreBase& store, std::string_view key, std::string_view value,
                             const std::function<void()>& meanwhile) {
    StoreCore& core = *store.core_;
    const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
    std::vector<StoreCore::Member> members(1);
    members[0].record = {RecordKind::kPut, hash64(bytes(key)), bytes(key), bytes(value)};
    const std::uint64_t hash = members[0].record.hash;
    Session& own = core.session();
    const auto guard = core.epochs_.enter(own.participant);
    own.latches.acquire(*core.index_, {&hash, 1});
    const auto entry = own.latches[0].find(core.matches(bytes(key)));
    const Line old = own.latches[0].line(entry);
    core.append_batch(own, members, Durability::kProcess).value();
    const Appended& appended = members[0].appended;
    const Line line{appended.offset / kCacheLineBytes};
    auto pending = std::make_unique<StoreCore::PendingBatch>();
    pending->previous.emplace(line, old);
    core.pending_batch_.store(pending.get());
    own.latches[0].replace(entry, line);
    meanwhile();
    core.pending_batch_.store(nullptr);
    own.latches.release();
    core.epochs_.retire(pending.release(),
                        [](void* batch) { delete static_cast<StoreCore::PendingBatch*>(batch); });
  }
  static BlockMeta& run_of(StoreBase& store, std::string_view key) {
    StoreCore& core = *store.core_;
    const auto bytes = std::as_bytes(std::span(key));
    const auto guard = core.epochs_.enter(core.session().participant);
    const Line line = core.index_->find(hash64(bytes), core.matches(bytes));
    return core.table_.run_of(line.number * kCacheLineBytes);
  }
  // A pass that rests after each victim for as long as nobody hurries it.
  static Result<std::uint64_t> slow_pass(StoreBase& store) {
    StoreCore& core = *store.core_;
    const std::lock_guard lock(core.reclaim_mutex_);
    return Reclaimer(core).pass(16, 0.05, 1);
  }
  static void hurry(StoreBase& store) { store.core_->reclaim_waiters_.fetch_add(1); }
  // As if `key` had the same 45 bits of hash as `other`, which is there.
  static void collide(StoreBase& store, std::string_view key, std::string_view other) {
    StoreCore& core = *store.core_;
    const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
    const auto guard = core.epochs_.enter(core.session().participant);
    const Line line = core.index_->find(hash64(bytes(other)), core.matches(bytes(other)));
    HF_CHECK(core.index_->latch(hash64(bytes(key))).insert(line));
  }
  static Status grow(StoreBase& store) {
    return store.core_->table_.grow_by_segment(store.core_->table_.blocks());
  }
  static Result<std::uint64_t> trim(StoreBase& store, std::uint64_t keep) {
    return store.core_->table_.trim(keep);
  }
  static void maintain(StoreBase& store) { store.core_->maintain(); }
};

}  // namespace holdfast::kv
