#include <holdfast/kv/cursor.hpp>

#include <optional>
#include <utility>

#include <holdfast/index/ordered/key_batch.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

using index::ordered::KeyBatch;
using index::ordered::OrderedIndex;

// The shortest text above all that begin with `prefix`; none if it is all 0xff.
std::optional<std::string> above_all(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff)
    prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

}  // namespace

// The keys of a piece of the order, and the place among them. It goes from key to key, backward or
// forward, until one leads to a record.
struct Cursor::State {
  State(std::shared_ptr<std::atomic<StoreCore*>> of, std::optional<Version> at_version)
      : store(std::move(of)), snapshot(at_version) {}

  std::shared_ptr<std::atomic<StoreCore*>> store;
  std::optional<Version> snapshot;
  KeyBatch keys;
  std::size_t at = 0;
  bool ascending = true;  // `keys` were read forward: they end at keys.resume().
  std::string prefix, value;
  Version version = 0;
  bool there = false;
  Status status;

  // Null: the store is closed, and status says so.
  StoreCore* core() {
    StoreCore* const open = store->load(std::memory_order_acquire);
    if (open == nullptr) status = Error{Errc::kClosed, "the cursor's store was closed"};
    return open;
  }

  // `read(order)` gets the first piece of keys; then on to the first that leads to a record.
  template <class Read>
  bool start(bool forward, Read&& read) {
    there = false;
    status = ok_status();
    StoreCore* const open = core();
    if (open == nullptr) return false;
    Rooms& rooms = open->rooms;
    Session& own = rooms.sessions.of_this_thread();
    const auto guard = rooms.epochs.enter(own.participant);
    const KeyOrder& order = *rooms.index.order();
    if (!order.complete()) {
      status = Error{Errc::kNoSpace,
                     "there was no memory to keep all keys in order; open the store again"};
      return false;
    }
    read(order.keys());
    ascending = forward;
    at = forward ? 0 : keys.size();
    return go_on(*open, order.keys());
  }
  // On from `at`: forward the key there comes next, backward the one before it. In a guard.
  bool go_on(StoreCore& open, const OrderedIndex& order) {
    for (;;) {
      for (; ascending ? at < keys.size() : at > 0; at += ascending) {
        if (!ascending) --at;
        const std::string_view key = keys[at];
        if (!key.starts_with(prefix)) return false;
        if (look_up(open, key)) return there = true;
        if (!status) return false;
      }
      if (!keys.more()) return false;
      const std::string from = keys.resume();
      if (ascending)
        order.read_from(from, keys);
      else
        order.read_below(from, keys);
      at = ascending ? 0 : keys.size();
    }
  }
  bool look_up(StoreCore& open, std::string_view key) {
    auto found = snapshot ? open.reads.get_at(*snapshot, bytes_of(key), value)
                          : open.reads.get<AnyPath>(bytes_of(key), value);
    if (found) version = *found;
    if (!found && found.code() != Errc::kNotFound) status = std::move(found).error();
    return found.has_value();
  }
  bool move(bool forward) {
    if (!there) return false;
    const std::string present(keys[at]);
    // What follows lies in the piece that is there, if it was read in this direction.
    if (forward == ascending) {
      there = false;
      status = ok_status();
      StoreCore* const open = core();
      if (open == nullptr) return false;
      const auto guard =
          open->rooms.epochs.enter(open->rooms.sessions.of_this_thread().participant);
      at += forward;
      return go_on(*open, open->rooms.index.order()->keys());
    }
    return start(forward, [&](const OrderedIndex& order) {
      if (forward)
        order.read_from(std::string(present).append(1, '\0'), keys);
      else
        order.read_below(present, keys);
    });
  }
};

Cursor::Cursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

bool Cursor::seek(std::string_view key) {
  const std::string from(key);  // It may be key().
  state_->prefix.clear();
  return state_->start(true,
                       [&](const OrderedIndex& order) { order.read_from(from, state_->keys); });
}
bool Cursor::seek_below(std::string_view key) {
  const std::string from(key);
  state_->prefix.clear();
  return state_->start(false,
                       [&](const OrderedIndex& order) { order.read_below(from, state_->keys); });
}
bool Cursor::first(std::string_view prefix) {
  state_->prefix = std::string(prefix);
  return state_->start(
      true, [&](const OrderedIndex& order) { order.read_from(state_->prefix, state_->keys); });
}
bool Cursor::last(std::string_view prefix) {
  state_->prefix = std::string(prefix);
  const auto above = above_all(state_->prefix);
  return state_->start(false, [&](const OrderedIndex& order) {
    if (above)
      order.read_below(*above, state_->keys);
    else
      order.read_last(state_->keys);
  });
}
bool Cursor::next() { return state_->move(true); }
bool Cursor::prev() { return state_->move(false); }

Cursor::operator bool() const { return state_->there; }
std::string_view Cursor::key() const { return state_->keys[state_->at]; }
std::string_view Cursor::value() const { return state_->value; }
Version Cursor::version() const { return state_->version; }
const Status& Cursor::status() const { return state_->status; }

Result<Cursor> StoreBase::cursor() const {
  if (!core_) return closed();
  if (core_->rooms.index.order() == nullptr) return no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, std::nullopt));
}

Error StoreBase::no_order() {
  return {Errc::kInvalidOption,
          "order=false: the keys of this store are in no order; open it with order=true"};
}

Result<Cursor> Snapshot::cursor() const {
  if (core_ == nullptr) return Error{Errc::kClosed, "the snapshot is empty"};
  if (core_->rooms.index.order() == nullptr) return StoreBase::no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, version_));
}

}  // namespace holdfast::kv
