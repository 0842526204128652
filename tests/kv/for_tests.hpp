// for_tests.hpp: what tests do to a store that its users may not. Nothing of the store's protocol
// stands here a second time: each function calls the rooms that do it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/kv/reclaimer.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

struct ForTests {
  static Rooms& rooms(StoreBase& store) { return store.core()->rooms; }
  static Maintenance& maintenance(StoreBase& store) { return store.core()->maintenance; }
  static BlockTable& table(StoreBase& store) { return rooms(store).table; }
  static Bytes bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

  // As if the process died: nothing is sealed, nothing is closed, the medium stays as it is.
  static void abandon(StoreBase& store) {
    store.core()->abandon();
    const StoreBase ends(std::move(store));
  }
  // As if there had been no memory for a key of the order.
  static void lose_order(StoreBase& store) {
    const KeyOrder* const order = rooms(store).index.order();
    order->wait();
    const_cast<KeyOrder*>(order)->give_up();
  }
  // Limits that are durably raised once in a million operations are raised every few.
  static void small_steps(StoreBase& store, std::uint64_t sequences, std::uint64_t generations) {
    rooms(store).sequences.set_step(sequences);
    rooms(store).table.set_generation_step(generations);
  }
  // What lanes have in reserve is not used any more, as after a snapshot.
  static void lapse_sequences(StoreBase& store) { rooms(store).sequences.lapse(); }
  static std::uint64_t next_sequence(StoreBase& store) { return rooms(store).sequences.next(); }
  static std::uint64_t next_generation(StoreBase& store) {
    return rooms(store).table.next_generation();
  }

  // This thread's run (page regions: everybody's) is sealed, as when it is full.
  static Status seal(StoreBase& store) {
    Rooms& own = rooms(store);
    Lane& lane = own.group.lane_of(own.sessions.of_this_thread());
    const std::lock_guard lock(lane.latch);
    return own.appender.seal(lane);
  }
  // The same of a keyspace.
  static Status seal(const Space& space) {
    SpaceRooms& own = space.link()->load()->rooms;
    Lane& lane = own.group.lane_of(own.sessions.of_this_thread());
    const std::lock_guard lock(lane.latch);
    return own.appender.seal(lane);
  }
  // The relocator's run too.
  static Status seal_relocated(StoreBase& store) {
    Lane& lane = store.core()->maintenance.own_session().lane;
    const std::lock_guard lock(lane.latch);
    return rooms(store).appender.seal(lane);
  }
  // No pass begins and nothing shrinks while the lock is held.
  static Maintenance::Turn hold_off(StoreBase& store) {
    return store.core()->maintenance.hold_off();
  }
  static Result<std::uint64_t> pass(StoreBase& store, double least_gain = 0.05) {
    const auto turn = store.core()->maintenance.hold_off();
    return store.core()->maintenance.pass(turn, 16, least_gain, 0);
  }
  // As far as a put gets before its fence (page regions: before its sync).
  static void append_without_fence(StoreBase& store, std::string_view key, std::string_view value) {
    Rooms& own = rooms(store);
    Lane& lane = own.group.lane_of(own.sessions.of_this_thread());
    const NewRecord record{RecordKind::kPut, own.index.hash(bytes(key)), bytes(key), bytes(value)};
    const std::lock_guard lock(lane.latch);
    Appended appended;
    own.appender.append(lane, record, false, BlockTable::Purpose::kPut, appended).value();
    if (own.group.needed()) own.appender.commit(lane).value();
  }
  // As the background does. Page regions only.
  static void mark_synced(StoreBase& store) { rooms(store).group.mark_synced(); }
  // As far as a session gets with the sealing of its run before the tail's fence. Not on page
  // regions.
  // With `dead_bits` instead of zeros: as if a crash had left all of the tail but these.
  static void put_tail_without_fence(StoreBase& store, std::uint64_t dead_bits = 0) {
    Rooms& own = rooms(store);
    Lane& lane = own.sessions.of_this_thread().lane;
    const std::lock_guard lock(lane.latch);
    own.appender.commit(lane).value();
    const OpenRun& run = lane.run;
    auto tail = compose_run_tail(
        {run.entries.get(), run.records},
        {run.meta->generation, run.meta->run_blocks, run.at, run.frame_bytes, run.seed, false});
    std::memcpy(tail.data(), &dead_bits, sizeof dead_bits);
    own.medium.put(run.offset + run.bytes - tail.size(), tail.data(), tail.size()).value();
  }
  // As far as a pass gets with its dead bits before their fence.
  static void put_dead_bits_without_fence(StoreBase& store) {
    const auto lock = store.core()->maintenance.hold_off();
    Rooms& own = rooms(store);
    own.sessions.drain_notes();
    for (std::uint64_t block = 0; block < own.table.blocks(); ++block) {
      const BlockMeta& meta = own.table.meta(block);
      if (meta.head != block || meta.state.load() != BlockState::kSealed || !meta.dead_dirty.load())
        continue;
      own.table.confirm_sealed(block).value();
      const SealedRun run = SealedRun::trusted(own.medium, own.table, block);
      const auto bits = dead_bits_of(own.table, run);
      own.table.take_dead_dirty(block);
      own.medium.put(run.dead_words_at(), bits.data(), bits.size() * sizeof bits[0]).value();
    }
  }
  // From here on every put and erase of such a key needs a second append, as if another key of its
  // index partition had just been erased by somebody else.
  static void raise_erase_horizon(StoreBase& store, std::string_view key) {
    Rooms& own = rooms(store);
    own.index.raise_horizon(own.index.hash(bytes(key)), own.sequences.next());
  }
  // Takes every block that is free, the reserve included: nothing can be opened any more.
  static void take_all_blocks(StoreBase& store) {
    while (rooms(store).table.open_run(1, BlockTable::Purpose::kReclaim)) {
    }
  }
  // Whether this thread's run takes so many records of so many bytes, padded, in all.
  static bool fits(StoreBase& store, std::uint64_t bytes, std::uint64_t records) {
    Rooms& own = rooms(store);
    return own.group.lane_of(own.sessions.of_this_thread()).run.fits(bytes, records);
  }
  // Where the key's record lies; it must be there.
  static Line line_of(StoreBase& store, std::string_view key) {
    Rooms& own = rooms(store);
    const auto guard = own.epochs.enter(own.sessions.of_this_thread().participant);
    const Live live =
        own.index.find(own.index.place(own.index.hash(bytes(key))), bytes(key), guard);
    HF_CHECK(live.line);
    return live.line;
  }
  // A byte of the value, as if the medium had lost it. Not on page regions.
  static void spoil(StoreBase& store, std::string_view key) {
    rooms(store).records.at(line_of(store, key)).value_data()[0] ^= std::byte{1};
  }
  // A get whose thread is slow: `copy` runs where the value would be copied out.
  static void get(StoreBase& store, std::string_view key,
                  const std::function<void(std::string_view value)>& copy) {
    Rooms& own = rooms(store);
    const auto guard = own.epochs.enter(own.sessions.of_this_thread().participant);
    const Live live =
        own.index.find(own.index.place(own.index.hash(bytes(key))), bytes(key), guard);
    HF_CHECK(static_cast<bool>(live));
    copy(live.record.value());
  }
  // A batch of one put over a record, or without a value of one erase, whose thread is slow between
  // publishing its record and the moment when the batch becomes visible.
  static void publish_slowly(StoreBase& store, std::string_view key,
                             std::optional<std::string_view> value,
                             const std::function<void()>& meanwhile) {
    Rooms& own = rooms(store);
    std::vector<BatchMember> members(1);
    const std::uint64_t hash = own.index.hash(bytes(key));
    members[0].record = {value ? RecordKind::kPut : RecordKind::kErase, hash, bytes(key),
                         bytes(value.value_or(""))};
    Session& session = own.sessions.of_this_thread();
    const auto guard = own.epochs.enter(session.participant);
    session.latches.acquire(own.index.map(), {&hash, 1});
    const auto entry = session.latches[0].find(own.index.matches(bytes(key)));
    const Line old = session.latches[0].line(entry);
    own.appender.append_batch(own.group.lane_of(session), members).value();
    const Line line = line_at(members[0].appended.offset);
    auto batch = std::make_unique<BatchUnderWay>();
    batch->previous.emplace(line, old);
    {
      const Lock publishing(own.index.batch_mutex());
      own.index.begin_batch(*batch);
      session.latches[0].replace(entry, line);
      meanwhile();
      own.index.end_batch();
    }
    retire(own.epochs, std::move(batch));
    if (!value) session.latches[0].remove(entry);
    session.latches.release();
  }
  // A put over a record whose thread is slow between publishing its own and noting the old as dead.
  static void put_slowly(StoreBase& store, std::string_view key, std::string_view value,
                         const std::function<void()>& meanwhile) {
    Rooms& own = rooms(store);
    const NewRecord record{RecordKind::kPut, own.index.hash(bytes(key)), bytes(key), bytes(value)};
    Session& session = own.sessions.of_this_thread();
    const auto guard = own.epochs.enter(session.participant);
    Appended appended;
    {
      Lane& lane = own.group.lane_of(session);
      const std::lock_guard lock(lane.latch);
      own.appender.append(lane, record, true, BlockTable::Purpose::kPut, appended).value();
      own.appender.commit(lane).value();
    }
    Place place = own.index.place(record.hash);
    auto home = own.index.latch(place, session);
    const auto entry = home.find(own.index.matches(bytes(key)));
    const Line old = home.line(entry);
    home.replace(entry, line_at(appended.offset));
    home.release();
    meanwhile();
    session.notes.add(own.table, old, own.records.at(old).padded_bytes());
  }
  static BlockMeta& run_of(StoreBase& store, std::string_view key) {
    return rooms(store).table.run_of(offset_of(line_of(store, key)));
  }
  // A pass that rests after each victim for as long as nobody hurries it.
  static Result<std::uint64_t> slow_pass(StoreBase& store) {
    const auto turn = store.core()->maintenance.hold_off();
    return store.core()->maintenance.pass(turn, 16, 0.05, 1);
  }
  // A pass of the background, while so many others wait for it to end.
  static Result<std::uint64_t> pass_beside(StoreBase& store, std::uint32_t waiting) {
    Maintenance& maintenance = store.core()->maintenance;
    const auto lock = maintenance.hold_off();
    std::vector<std::uint64_t> evacuated;
    ReclaimCounts counts;
    const std::atomic<std::uint32_t> waiters{waiting};
    return Reclaimer(rooms(store), maintenance.own_session(), evacuated, counts, waiters)
        .pass(Reclaimer::Choice::kWorthMost, 16, 0.05, 0);
  }
  // As a large value has it done that finds no room in one piece.
  static Result<std::uint64_t> empty_segment(StoreBase& store, std::uint64_t segment) {
    Maintenance& maintenance = store.core()->maintenance;
    const auto lock = maintenance.hold_off();
    std::vector<std::uint64_t> evacuated;
    ReclaimCounts counts;
    const std::atomic<std::uint32_t> waiters{0};
    return Reclaimer(rooms(store), maintenance.own_session(), evacuated, counts, waiters)
        .empty_segment(segment, 0);
  }
  // How often the background, turn after turn, gets in before a thread that waits to hold it off.
  static std::uint64_t turns_before_a_waiter(StoreBase& store) {
    Maintenance& maintenance = store.core()->maintenance;
    std::atomic<bool> waits{false}, got_in{false};
    std::optional held = maintenance.hold_off();
    std::thread waiter([&] {
      waits = true;
      const auto lock = maintenance.hold_off();
      got_in = true;
    });
    while (!waits)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // It sleeps for the mutex now.
    held.reset();
    std::uint64_t turns = 0;
    for (; !got_in; ++turns) {
      const auto turn = maintenance.after_waiters();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    waiter.join();
    return turns;
  }
  static void hurry(StoreBase& store) { store.core()->maintenance.hurry(); }
  // As if `key` had the same 45 bits of hash as `other`, which is there.
  static void collide(StoreBase& store, std::string_view key, std::string_view other) {
    const Line line = line_of(store, other);
    Rooms& own = rooms(store);
    const auto guard = own.epochs.enter(own.sessions.of_this_thread().participant);
    HF_CHECK(own.index.map().latch(own.index.hash(bytes(key))).insert(line));
  }
  static Status grow(StoreBase& store) {
    return rooms(store).table.grow_by_segment(rooms(store).table.blocks());
  }
  static Result<std::uint64_t> trim(StoreBase& store, std::uint64_t keep) {
    return rooms(store).table.trim(keep);
  }
  static void maintain(StoreBase& store) { store.core()->maintenance.maintain(); }
};

}  // namespace holdfast::kv
