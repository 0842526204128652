// for_tests.hpp: what tests may do to a store that its users may not.
#pragma once

#include <utility>

#include <holdfast/kv/reclaim.hpp>
#include <holdfast/kv/store_core.hpp>

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
    core.append(own, lane, record, 0, false, BlockTable::Purpose::kPut).value();
    if (core.medium_.paged()) core.commit(own, lane).value();
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
  static Status grow(StoreBase& store) {
    return store.core_->table_.grow_by_segment(store.core_->table_.blocks());
  }
  static Result<std::uint64_t> trim(StoreBase& store, std::uint64_t keep) {
    return store.core_->table_.trim(keep);
  }
  static void maintain(StoreBase& store) { store.core_->maintain(); }
};

}  // namespace holdfast::kv
