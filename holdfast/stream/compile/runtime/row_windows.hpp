// row_windows.hpp: groups of windows of so many rows, as they come, in a graph. What RowWindows is
// to the interpreter (stream/graph/row_windows.hpp): the same rows, the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, kRows, kSlide                  its number, rows of a window, and from one to the next
//   Row, Out                              what comes in, what goes out
//   Key, key(row, run)
//   State, add(state, row, run)
//   out(key, state, run)                  the row of a window
//   give(graph, change, out)              to those that read it
//
// State  keys -> how many windows are open, and of each its rows and aggregates, the oldest first.
// Costs  O(open windows of the key) per row.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class RowWindows {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit RowWindows(Run& run)
      : run_(run), stored_(run.host, kSlice, Grouping::kKey, run.host.idle_ms()) {}

  template <class Graph>
  void take(Graph& graph, Change, const Row& row) {
    if (stored_.is_sweep_due()) end_idle();
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    const auto hash = key.hash();
    auto* known = keys_.find(key, hash);
    if (known == nullptr && stored_.is_partial()) known = fetch(key, hash);
    if (run_.failed) return;
    stored_.took_row([this] { return bytes(); });
    if (known == nullptr) {
      known = &keys_.at(key, hash);
      stored_.come(known->value.mark, [&](std::string& bytes) { key.append(bytes); });
    }
    if (stored_.change(known->value.mark)) keys_.note(*known);
    auto& windows = known->value.windows;
    if (windows.empty() || windows.back().rows == Definition::kSlide) windows.emplace_back();
    for (auto& window : windows) {
      ++window.rows;
      Definition::add(window.state, row, run_);
      if (run_.failed) return;
    }
    if (windows.front().rows == Definition::kRows) show(graph, *known);
  }
  void set_watermark(std::int64_t) {}
  void adopt_stored(std::int64_t) { stored_.become_partial(); }
  bool adopt(const GraphEntry& entry) {
    Text state = entry.state;
    if (state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    Key key;
    if (!key.take(entry.key)) return false;
    auto& known = keys_.at(key);
    known.value.mark = {entry.version, entry.changed};
    std::int64_t count = 0;
    if (!stored_.take_begin(state, known.value.mark) || !take_ordered(state, count) || count < 1 ||
        count - 1 > (Definition::kRows - 1) / Definition::kSlide)
      return false;
    known.value.windows.resize(static_cast<std::size_t>(count));
    for (auto& window : known.value.windows) {
      Text part;
      if (!take_ordered(state, window.rows) || !take_part(state, part) || !window.state.take(part))
        return false;
    }
    if (entry.changed) keys_.note(known);
    return state.size == 0;
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    if (!(stored_.keeps() ? keys_.for_each_noted(put_entry) : keys_.for_each(put_entry)))
      return false;
    if (!stored_.wants_room(bytes())) return true;
    keys_ = {};
    return stored_.leave();
  }

  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  struct Open {
    std::int64_t rows = 0;
    typename Definition::State state;
  };
  struct Windows {
    std::vector<Open> windows;
    Mark mark;
  };
  using Entry = typename KeyedValues<Key, Windows>::Entry;

  template <class Graph>
  void show(Graph& graph, Entry& entry) {
    auto& windows = entry.value.windows;
    const auto row = Definition::out(entry.key, windows.front().state, run_);
    if (run_.failed) return;
    Definition::give(graph, Change::kInsert, row);
    windows.erase(windows.begin());
    if (!windows.empty()) return;
    stored_.erase(entry.value.mark, [&](std::string& bytes) { entry.key.append(bytes); });
    keys_.erase(entry);
  }
  [[gnu::noinline]] void end_idle() {
    keys_.for_each([this](Entry& entry) {
      if (!stored_.is_idle(entry.value.mark)) return true;
      stored_.erase(entry.value.mark, [&](std::string& bytes) { entry.key.append(bytes); });
      keys_.erase(entry);
      return true;
    });
  }
  // Of a key that memory may not have. None: null.
  Entry* fetch(const Key& key, std::uint64_t hash) {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt({kSlice, bytes, state, version, false});
    };
    run_.failed = !stored_.fetch([&](std::string& bytes) { key.append(bytes); }, take);
    return keys_.find(key, hash);
  }
  std::uint64_t bytes() const { return keys_.bytes() + keys_.size() * stored_.bytes_of_entry(); }
  bool put(Entry& entry) {
    return stored_.put(
        entry.value.mark, [&](std::string& bytes) { entry.key.append(bytes); },
        [&](std::string& bytes) {
          append_ordered(static_cast<std::int64_t>(entry.value.windows.size()), bytes);
          for (const auto& window : entry.value.windows) {
            append_ordered(window.rows, bytes);
            append_as_part(window.state, bytes);
          }
        });
  }
  static void append_as_part(const typename Definition::State& state, std::string& bytes) {
    const auto place = bytes.size();
    append_raw(std::uint32_t{0}, bytes);
    state.append(bytes);
    const auto size =
        __builtin_bswap32(static_cast<std::uint32_t>(bytes.size() - place - sizeof(std::uint32_t)));
    std::memcpy(bytes.data() + place, &size, sizeof size);
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  KeyedValues<Key, Windows> keys_;
};

}  // namespace holdfast::query
