#include <holdfast/kv/cursor.hpp>

#include <optional>
#include <utility>

#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/look_ahead.hpp>
#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

// Goes from key to key of the order until one leads to a record.
struct Cursor::State {
  State(std::shared_ptr<std::atomic<StoreCore*>> of, std::optional<Moment> at_moment,
        bool with_values = true)
      : store(std::move(of)), snapshot(at_moment), values(with_values) {}

  const std::shared_ptr<std::atomic<StoreCore*>> store;  // Null in it: the store is closed.
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
    StoreCore* const open = store->load(std::memory_order_acquire);
    if (open == nullptr) return fail({Errc::kClosed, "the cursor's store was closed"});
    Rooms& rooms = open->rooms;
    // The loader asks the index for keys whose latch the calling verb may hold.
    if (rooms.index.order()->state() == KeyOrder::State::kLoading && rooms.inside())
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
      } else if (auto fetched = look_ahead.fetch(open->reads, *keys, forward); !fetched) {
        return fail(std::move(fetched).error());
      }
      if (look_up(*open, keys->key())) return there = true;
    }
    return false;
  }
  bool look_up(StoreCore& open, std::string_view key) {
    auto found = snapshot ? open.reads.get_at(*snapshot, bytes_of(key), value)
                 : values
                     ? open.reads.get<AnyPath>(bytes_of(key), value)
                     : open.reads.read<AnyPath>(bytes_of(key), [](const RecordView& record, Bytes) {
                         return record.sequence();
                       });
    if (found) version = *found;
    if (!found && found.code() != Errc::kNotFound) return fail(std::move(found).error());
    return found.has_value();
  }
};

Cursor::Cursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

bool Cursor::seek(std::string_view key) {
  return state_->move_to(true, [&](auto& keys) { return keys.seek(key); });
}
bool Cursor::seek_below(std::string_view key) {
  return state_->move_to(false, [&](auto& keys) { return keys.seek_below(key); });
}
bool Cursor::first(std::string_view prefix) {
  return state_->move_to(true, [&](auto& keys) { return keys.first(prefix); });
}
bool Cursor::last(std::string_view prefix) {
  return state_->move_to(false, [&](auto& keys) { return keys.last(prefix); });
}
bool Cursor::next() { return state_->step(true); }
bool Cursor::prev() { return state_->step(false); }

Cursor::operator bool() const { return state_->there; }
std::string_view Cursor::key() const { return state_->keys->key(); }
std::string_view Cursor::value() const { return state_->value; }
Version Cursor::version() const { return state_->version; }
const Status& Cursor::status() const { return state_->status; }

Result<Cursor> StoreBase::cursor() const {
  if (!core_) return closed();
  if (core_->rooms.index.order() == nullptr) return no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, std::nullopt));
}
Result<Cursor> StoreBase::key_cursor() const {
  if (!core_) return closed();
  if (core_->rooms.index.order() == nullptr) return no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, std::nullopt, /*with_values=*/false));
}

Error StoreBase::no_order() {
  return {Errc::kInvalidOption,
          "order=false: the keys of this store are in no order; open it with order=true"};
}

Result<Cursor> Snapshot::cursor() const {
  if (core_ == nullptr) return Error{Errc::kClosed, "the snapshot is empty"};
  if (core_->rooms.index.order() == nullptr) return StoreBase::no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, Moment{version_, clock_}));
}

}  // namespace holdfast::kv
