// cursor_state.hpp: where a cursor is, and how it moves.
// Included where cursors are implemented, and nowhere else.
#pragma once

#include <optional>
#include <utility>

#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/look_ahead.hpp>
#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

// Goes from key to key of the order until one leads to a record.
struct Cursor::State {
  State(std::shared_ptr<std::atomic<StoreCore*>> of, std::optional<Moment> at_moment,
        bool with_values = true)
      : store(std::move(of)), snapshot(at_moment), values(with_values) {}

  State(Space::Link of, bool with_values) : space(std::move(of)), values(with_values) {}

  // One of both. Null in it: the store is closed, or the space was dropped.
  const std::shared_ptr<std::atomic<StoreCore*>> store;
  const Space::Link space;
  const std::optional<Moment> snapshot;
  const bool values;  // False: keys and versions only, of a live store.
  std::optional<index::ordered::Cursor> keys;
  LookAhead look_ahead;
  bool was_forward = true;
  std::string value;
  Version version = 0;
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
    status = ok_status();
    if (space != nullptr) return move_in_space(forward, first);
    StoreCore* const open = core();
    if (open == nullptr) return fail({Errc::kClosed, "the cursor's store was closed"});
    return move_in(open->rooms, open->reads, forward, first);
  }
  template <class First>
  bool move_in_space(bool forward, First&& first) {
    SpaceCore* const open = space->load(std::memory_order_acquire);
    if (open == nullptr) return fail({Errc::kClosed, "the cursor's store was closed"});
    Session& own = open->rooms.sessions.of_this_thread();
    const auto in_use = open->rooms.store.spaces.users().enter(own.user);
    if (!open->open.load(std::memory_order_acquire))
      return fail({Errc::kClosed, "the cursor's keyspace was dropped"});
    return move_in(open->rooms, open->reads, forward, first);
  }
  template <class R, class First>
  bool move_in(R& rooms, const BasicReads<R>& reads, bool forward, First&& first) {
    // The loader asks the index for keys whose latch the calling verb may hold.
    if (rooms.index.order()->state() == KeyOrder::State::kLoading && whole_store(rooms).inside())
      return fail({Errc::kBusy,
                   "a cursor moved inside of a verb while the keys are put in order after an open; "
                   "move it outside"});
    rooms.index.order()->wait();
    const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
    const KeyOrder& order = *rooms.index.order();
    if (order.state() != KeyOrder::State::kComplete)
      return fail(
          {Errc::kNoSpace, "there was no memory to keep all keys in order; open the store again"});
    if (!keys) keys.emplace(order.keys());
    for (bool at = first(*keys); at && status; at = forward ? keys->next() : keys->prev()) {
      if (!rooms.paged()) {
        look_ahead.step(rooms.index, *keys, forward);
      } else if (auto fetched = look_ahead.fetch(reads, *keys, forward); !fetched) {
        return fail(std::move(fetched).error());
      }
      if (look_up(reads, keys->key())) return there = true;
    }
    return false;
  }
  // For groups: so many keys further, which are not looked up. False: there are none. settle()
  // follows.
  bool pass(std::size_t count) {
    StoreCore* const open = core();
    const auto guard = open->rooms.epochs.enter(open->rooms.sessions.of_this_thread().participant);
    return count == 0 || keys->next(count);
  }
  // To the record of the key that pass() came to, or the next one.
  void settle() {
    move_to(true, [](auto& at) { return static_cast<bool>(at); });
  }
  // Whether records may be read by the group: as they are now, and without a device.
  bool reads_groups() const {
    const StoreCore* const open = store != nullptr ? core() : nullptr;
    return values && !snapshot && open != nullptr && !open->rooms.paged();
  }
  StoreCore* core() const { return store->load(std::memory_order_acquire); }
  static const Rooms& whole_store(const Rooms& rooms) { return rooms; }
  static const Rooms& whole_store(const SpaceRooms& rooms) { return rooms.store; }
  template <class R>
  bool look_up(const BasicReads<R>& reads, std::string_view key) {
    const auto version_of = [](const RecordView& record, Bytes) { return record.sequence(); };
    auto found = snapshot ? reads.get_at(*snapshot, bytes_of(key), value)
                 : values ? reads.template get<AnyPath>(bytes_of(key), value)
                          : reads.template read<AnyPath>(bytes_of(key), version_of);
    if (found) version = *found;
    if (!found && found.code() != Errc::kNotFound) return fail(std::move(found).error());
    return found.has_value();
  }
};

}  // namespace holdfast::kv
