// cursor_state.hpp: where a cursor is, and how it moves.
// Included where cursors are implemented, and nowhere else.
#pragma once

#include <optional>
#include <utility>

#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/look_ahead.hpp>
#include <holdfast/kv/packing.hpp>
#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

// Goes from key to key of the order until one leads to a record.
struct Cursor::State {
  State(std::shared_ptr<std::atomic<StoreCore*>> of, std::optional<Moment> at_moment,
        bool with_values = true)
      : store(std::move(of)), snapshot(at_moment), values(with_values) {}

  State(Space::Link of, bool with_values) : space(std::move(of)), values(with_values) {}
  State(Space::Link of, Moment at_moment)
      : space(std::move(of)), snapshot(at_moment), values(true) {}

  // One of both. Null in it: the store is closed, or the space was dropped.
  const std::shared_ptr<std::atomic<StoreCore*>> store;
  const Space::Link space;
  const std::optional<Moment> snapshot;
  const bool values;  // False: keys and versions only, of a live store.
  std::optional<index::ordered::Cursor> keys;
  LookAhead look_ahead;
  bool was_forward = true;
  RecordAt record;
  bool there = false;
  Status status;

  bool fail(Error why) {
    status = std::move(why);
    return false;
  }
  // `first(keys)` makes the first step, and says whether it came to a key.
  template <class First>
  bool move_to(bool forward, First&& first) {
    look_ahead.forget();
    return move(forward, first);
  }
  bool step(bool forward) {
    if (!there) return false;
    if (forward != was_forward) look_ahead.forget();
    return move(forward, [forward](auto& at) { return forward ? at.next() : at.prev(); });
  }
  template <class First>
  bool move(bool forward, First&& first) {
    was_forward = forward;
    there = false;
    return in_core([&](auto& core) { return move_in(core.rooms, core.reads, forward, first); });
  }
  // What is done in the store or in the keyspace, which cannot go away meanwhile.
  template <class Act>
  bool in_core(Act&& act) {
    status = ok_status();
    if (space == nullptr) {
      StoreCore* const open = store->load(std::memory_order_acquire);
      return open != nullptr ? act(*open) : fail({Errc::kClosed, "the cursor's store was closed"});
    }
    SpaceCore* const open = core_of(space);
    if (open == nullptr) return fail({Errc::kClosed, "the cursor's store was closed"});
    Session& own = open->rooms.sessions.of_this_thread();
    const auto in_use = open->rooms.store.spaces.users().enter(own.user);
    // What has snapshots is not dropped.
    if (!snapshot && !open->open.load(std::memory_order_acquire))
      return fail({Errc::kClosed, "the cursor's keyspace was dropped"});
    return act(*open);
  }
  // Waits until the keys are in order. In no guard.
  template <class R>
  bool ready(R& rooms) {
    // The loader asks the index for keys whose latch the calling verb may hold.
    if (rooms.index.order()->state() == KeyOrder::State::kLoading && whole_store(rooms).inside())
      return fail({Errc::kBusy,
                   "a cursor moved inside of a verb while the keys are put in order after an open; "
                   "move it outside"});
    rooms.index.order()->wait();
    if (!keys) keys.emplace(rooms.index.order()->keys());
    return is_complete(*rooms.index.order());
  }
  template <class R, class First>
  bool move_in(R& rooms, const BasicReads<R>& reads, bool forward, First&& first) {
    if (!ready(rooms)) return false;
    const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
    for (bool at = first(*keys); at && status; at = forward ? keys->next() : keys->prev()) {
      if (auto asked = look_ahead.step(rooms, reads, *keys, forward); !asked)
        return fail(std::move(asked).error());
      if (look_up(reads, keys->key())) return there = true;
    }
    return false;
  }
  bool is_complete(const KeyOrder& order) {
    return order.state() == KeyOrder::State::kComplete ||
           fail({Errc::kNoSpace,
                 "there was no memory to keep all keys in order; open the store again"});
  }
  // Packs records from where the cursor is, and stays at the first that has no room. Of a live
  // store in memory; else nothing happens. The cursor is at a record.
  void pack(Packing& packing) {
    if (!values || snapshot) return;
    there =
        in_core([&](auto& core) { return core.rooms.medium.paged() || pack_in(core, packing); });
  }
  // The same from a key on, wherever the cursor is. False: nothing happened.
  bool pack_from(std::string_view key, Packing& packing) {
    if (!values || snapshot) return false;
    bool done = true;
    there = in_core([&](auto& core) {
      done = !core.rooms.medium.paged();
      return done && ready(core.rooms) && seek_key(core.rooms, key) && pack_in(core, packing);
    });
    return done;
  }
  template <class R>
  bool seek_key(R& rooms, std::string_view key) {
    const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
    return keys->seek(key);
  }
  template <class C>
  bool pack_in(C& core, Packing& packing) {
    look_ahead.forget();
    was_forward = true;
    for (;;) {
      const auto guard = core.rooms.epochs.enter(core.rooms.sessions.of_this_thread().participant);
      if (!is_complete(*core.rooms.index.order())) return false;
      const Packed done = pack_keys(core, *keys, packing, record);
      if (done.keys != 0 && !keys->next(done.keys)) return false;
      if (done.end == Packed::End::kNoRoom) return true;
      if (done.end == Packed::End::kUnreadable)
        return move_in(core.rooms, core.reads, true, [](const auto& now) { return bool{now}; });
    }
  }
  static Packed pack_keys(StoreCore& core, index::ordered::Cursor& keys, Packing& packing,
                          RecordAt& next) {
    return core.pack(core, keys, packing, next);
  }
  static Packed pack_keys(SpaceCore& core, index::ordered::Cursor& keys, Packing& packing,
                          RecordAt& next);
  template <class R>
  bool look_up(const BasicReads<R>& reads, std::string_view key) {
    const auto version_of = [](const RecordView& found, Bytes) { return found.sequence(); };
    auto found = snapshot ? reads.get_at(*snapshot, bytes_of(key), record.value)
                 : values ? reads.template get<AnyPath>(bytes_of(key), record.value)
                          : reads.template read<AnyPath>(bytes_of(key), version_of);
    if (found) record.version = *found;
    if (!found && found.code() != Errc::kNotFound) return fail(std::move(found).error());
    return found.has_value();
  }
};

}  // namespace holdfast::kv
