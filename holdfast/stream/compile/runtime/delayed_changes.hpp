// delayed_changes.hpp: late changes of windows, some time's together, in a graph. What
// DelayedChanges is to the interpreter (stream/graph/delayed_changes.hpp): the same rows in the
// same order, and the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, kDelayMs, kLatenessMs          its number, how long a change waits, and a window changes
//   Row                                   what comes in and goes out
//   Key, key(row, run), start(row), end(row)   the group
//   give(graph, change, row)              to those that read it
//
// State  [end, start, keys] -> when it goes out, what was shown, what is there now.
// Costs  O(log changes that wait) per late row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/stored_entries.hpp>

namespace holdfast::query {

template <class Definition>
class DelayedChanges {
  using Row = typename Definition::Row;

 public:
  explicit DelayedChanges(Run& run) : run_(run), stored_(run.host, kSlice) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    const auto end = Definition::end(row).value;
    if (end - 1 > now_) return Definition::give(graph, change, row);
    std::string key;
    append_ordered(end, key);
    append_ordered(Definition::start(row).value, key);
    Definition::key(row, run_).append(key);
    if (run_.failed) return;
    const auto [place, is_first] = waiting_.try_emplace(std::move(key));
    auto& known = place->second;
    if (is_first) {
      stored_.come(known.mark, key_of(*place));
      known.due_ms = run_.host.now_ms() + Definition::kDelayMs;
      dues_.emplace(known.due_ms, place->first);
      if (!adds(change)) known.shown.emplace(row);
    }
    stored_.change(known.mark);
    if (adds(change))
      known.now.emplace(row);
    else
      known.now.reset();
  }
  // Also where no row comes.
  template <class Graph>
  void tick(Graph& graph) {
    const auto now = run_.host.now_ms();
    while (!run_.failed && !dues_.empty() && dues_.begin()->first <= now)
      give(graph, waiting_.find(dues_.begin()->second));
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed && !waiting_.empty()) {
      Text key{waiting_.begin()->first.data(), waiting_.begin()->first.size()};
      std::int64_t end = 0;
      take_ordered(key, end);
      if (end - 1 + Definition::kLatenessMs > watermark) break;
      give(graph, waiting_.begin());
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {}
  bool adopt(const GraphEntry& entry) {
    Text state = entry.state;
    if (state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    const auto place = waiting_.try_emplace(std::string(entry.key.data, entry.key.size)).first;
    auto& known = place->second;
    known.mark = {entry.version, entry.changed};
    if (!stored_.take_begin(state, known.mark) || !take_ordered(state, known.due_ms) ||
        !take_row(state, known.shown) || !take_row(state, known.now))
      return false;
    dues_.emplace(known.due_ms, place->first);
    return state.size == 0;
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    for (auto& one : waiting_) {
      auto& known = one.second;
      if (stored_.keeps() && !known.mark.changed) continue;
      const auto append = [&](std::string& bytes) {
        append_ordered(known.due_ms, bytes);
        append_row(known.shown, bytes);
        append_row(known.now, bytes);
      };
      if (!stored_.put(known.mark, key_of(one), append)) return false;
    }
    return true;
  }

  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  using KnownRow = std::optional<Kept<Row>>;  // None: there is no such group.
  struct Known {
    std::int64_t due_ms = 0;
    KnownRow shown, now;
    Mark mark;
  };
  using Waiting = std::map<std::string, Known>;

  static auto key_of(const typename Waiting::value_type& one) {
    return [&one](std::string& bytes) { bytes += one.first; };
  }
  template <class Graph>
  void give(Graph& graph, typename Waiting::iterator place) {
    stored_.erase(place->second.mark, key_of(*place));
    dues_.erase({place->second.due_ms, place->first});
    const auto known = std::move(place->second);
    waiting_.erase(place);
    if (known.shown && known.now && Row::equal(known.shown->row(), known.now->row())) return;
    if (known.shown)
      Definition::give(graph, known.now ? Change::kUpdateBefore : Change::kDelete,
                       known.shown->row());
    if (known.now && !run_.failed)
      Definition::give(graph, known.shown ? Change::kUpdateAfter : Change::kInsert,
                       known.now->row());
  }
  static void append_row(const KnownRow& row, std::string& bytes) {
    bytes += row ? '\1' : '\0';
    if (row) row->row().append_exactly(bytes);
  }
  static bool take_row(Text& bytes, KnownRow& known) {
    if (bytes.size == 0 || (bytes.data[0] != '\0' && bytes.data[0] != '\1')) return false;
    const bool has = bytes.data[0] == '\1';
    bytes = {bytes.data + 1, bytes.size - 1};
    Row row;
    if (has && !row.take(bytes)) return false;
    if (has) known.emplace(row);
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  Waiting waiting_;
  std::set<std::pair<std::int64_t, std::string>> dues_;  // When, which key.
  std::int64_t now_ = kNoTime;                           // The watermark.
};

}  // namespace holdfast::query
