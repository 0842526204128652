// group_windows.hpp: groups of windows that rows bring along, in a graph: window by window, the
// earliest end first. Where memory has no room for all of them, a store has what it was given.
//
// Groups say until which watermark they live. They leave memory behind a checkpoint; a group comes
// back when a row of it comes, and those of a window when it is shown, so one window must fit.
//
// `Group` is what the operator keeps of one: `mark`, append(bytes), take(bytes), and is_there():
// false, all of its rows were taken back.
//
// State  [end, start, keys] -> what Group appends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/window_map.hpp>

namespace holdfast::query {

// How long behind its end rows still change a window.
template <class Definition>
constexpr std::int64_t lateness_ms() {
  if constexpr (requires { Definition::kLatenessMs; })
    return Definition::kLatenessMs;
  else
    return 0;
}

template <class Definition, class Group>
class GroupWindows {
 public:
  using Key = typename Definition::Key;
  using Groups = Table<Key, Group>;
  using Windows = WindowsOf<Groups>;
  using Window = typename Windows::Window;

  explicit GroupWindows(Run& run) : run_(run), stored_(run.host, kSlice, Grouping::kKey) {}

  // The last watermark that does not end the groups of a window.
  static std::int64_t lives_until(std::int64_t end) { return end - 2 + lateness_ms<Definition>(); }
  // The same of all groups of a window. Null: INT64_MAX.
  static std::int64_t lives_until(const Window* window) {
    return window == nullptr ? INT64_MAX : lives_until(window->bounds.end);
  }
  // Those in memory.
  const Windows& all() const { return windows_; }
  // The groups of the window of the last row, if it is this one. None: null.
  const Groups* newest(const Bounds& bounds) const {
    const auto* const window = windows_.newest(bounds);
    return window == nullptr ? nullptr : &window->value;
  }
  // Those of the window of a row. The row's group is among them from now on, if there is one.
  Groups& of_row(const Bounds& bounds, const Key& key, std::uint64_t hash) {
    auto& groups = windows_.at(bounds);
    if (stored_.is_partial()) fetch(groups, bounds, key, hash);
    stored_.took_row([this] { return bytes(); });
    return groups;
  }
  // A group comes, changes, or goes.
  void come(const Bounds& bounds, const Key& key, Group& group) {
    stored_.come(group.mark, key_of(bounds, key));
  }
  void change(Group& group) { stored_.change(group.mark); }
  void erase(const Bounds& bounds, const Key& key, const Group& group) {
    stored_.erase(group.mark, key_of(bounds, key));
  }
  // The first window is in memory no more; its groups are.
  Window& take_first() { return windows_.take_first(); }
  void drop_taken() { windows_.drop_taken(); }

  // ---- Those that memory does not have ----

  // Those that have not been shown live so long at least. None: INT64_MAX.
  std::int64_t next_stored() const { return next_stored_; }
  // Those of the next window of the store come.
  [[gnu::noinline]] void find_stored() {
    if constexpr (may_store<Definition>()) {
      const auto at = next_stored_;
      const auto take = [this](Text key, Text state, std::uint64_t version) {
        return take_entry({kSlice, key, state, version, false}, false);
      };
      if (!stored_.for_each_of_times(at, at, take, next_stored_)) run_.failed = true;
    }
  }
  void adopt_stored(std::int64_t next) {
    stored_.become_partial();
    next_stored_ = next;
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    return take_entry(entry, true);
  }
  // `next`: what is not shown lives so long at least.
  bool put_state(std::int64_t next) {
    if (!stored_.put_gone()) return false;
    if (!windows_.for_each([this](Window& window) { return put(window); })) return false;
    if (!stored_.is_partial() && !stored_.wants_room(bytes())) return true;
    windows_.clear();
    next_stored_ = next;
    return stored_.leave();
  }
  // Behind put_state(): what lives until then, or less long, has ended.
  void end_until(std::int64_t time) { stored_.end_until(time); }

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);

  bool put(Window& window) {
    const auto lives = lives_until(&window);
    for (auto& entry : window.value.entries()) {
      auto& group = entry.state;
      if (!group.is_there() || (stored_.keeps() && !group.mark.changed)) continue;
      if (!stored_.put(group.mark, &lives, key_of(window.bounds, entry.key),
                       [&](std::string& bytes) { group.append(bytes); }))
        return false;
    }
    return true;
  }
  static auto key_of(const Bounds& bounds, const Key& key) {
    return [&](std::string& bytes) {
      append_ordered(bounds.end, bytes);
      append_ordered(bounds.start, bytes);
      key.append(bytes);
    };
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    windows_.for_each([&](const Window& window) {
      const auto& groups = window.value;
      bytes += groups.bytes() + groups.entries().size() * stored_.bytes_of_entry();
      return true;
    });
    return bytes;
  }
  [[gnu::noinline]] void fetch(const Groups& groups, const Bounds& bounds, const Key& key,
                               std::uint64_t hash) {
    if (groups.find(key, hash) != nullptr) return;
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return take_entry({kSlice, bytes, state, version, false}, true);
    };
    if (!stored_.fetch(key_of(bounds, key), take)) run_.failed = true;
  }
  // False: it is none of this query. One that memory has may stay as it is there.
  bool take_entry(const GraphEntry& entry, bool replaces) {
    Text rest = entry.key, state = entry.state;
    Bounds bounds;
    Key key;
    if (!take_ordered(rest, bounds.end) || !take_ordered(rest, bounds.start) || !key.take(rest))
      return false;
    auto& groups = windows_.at(bounds);
    const auto hash = key.hash();
    if (!replaces && groups.find(key, hash) != nullptr) return true;
    auto& group = groups.at(key, hash);
    group.mark = {entry.version, entry.changed};
    Mark unused;
    return stored_.take_begin(state, unused) && group.take(state);
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  Windows windows_;
  std::int64_t next_stored_ = INT64_MAX;
};

}  // namespace holdfast::query
