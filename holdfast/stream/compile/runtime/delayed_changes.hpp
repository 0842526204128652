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
// Where memory has not all that waits, it has what came since the last checkpoint. The rest comes
// back by the clock, some thousand at once, and of a window when the watermark comes to it.
//
// State  [end, start, keys] -> when it goes out, what was shown, what is there now; it says as its
//        time when it goes out.
// Costs  O(log changes that wait) per late row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/due_rows.hpp>
#include <holdfast/stream/compile/runtime/stored_entries.hpp>

namespace holdfast::query {

template <class Definition>
class DelayedChanges {
  using Row = typename Definition::Row;

 public:
  explicit DelayedChanges(Run& run) : run_(run), stored_(run.host, kSlice, Grouping::kKey) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    const auto end = Definition::end(row).value;
    if (end - 1 > now_) return Definition::give(graph, change, row);
    std::string key;
    append_ordered(end, key);
    append_ordered(Definition::start(row).value, key);
    Definition::key(row, run_).append(key);
    if (run_.failed || (stored_.is_partial() && !fetch(key))) return;
    stored_.took_row([this] { return bytes(); });
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
    while (!run_.failed) {
      const auto next = dues_.empty() ? INT64_MAX : dues_.begin()->first;
      if (std::min(next, next_stored_) > now) return;
      if (next_stored_ <= next)
        fetch_due(now);
      else
        give(graph, waiting_.find(dues_.begin()->second));
    }
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed && (!waiting_.empty() || !windows_.empty())) {
      const auto known = waiting_.empty() ? INT64_MAX : end_of(waiting_.begin()->first);
      const auto end = windows_.empty() ? known : std::min(known, windows_.begin()->first);
      if (end - 1 + Definition::kLatenessMs > watermark) break;
      if (!windows_.empty() && windows_.begin()->first == end)
        fetch_window(end, windows_.extract(windows_.begin()).mapped());
      else
        give(graph, waiting_.begin());
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    stored_.become_partial();
    find_windows();
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    return take_entry(entry);
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
      if (!stored_.put(known.mark, &known.due_ms, key_of(one), append)) return false;
    }
    return !stored_.wants_room(bytes()) || leave();
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
  // When the changes of a window go out, the first and the last one.
  using Dues = std::pair<std::int64_t, std::int64_t>;

  std::uint64_t bytes() const {
    constexpr std::uint64_t kOfPlaces = 160;  // Of a map and a set.
    return waiting_.size() *
           (sizeof(typename Waiting::value_type) + kOfPlaces + 2 * stored_.bytes_of_entry());
  }
  static std::int64_t end_of(const std::string& key) {
    Text rest{key.data(), key.size()};
    std::int64_t end = 0;
    take_ordered(rest, end);
    return end;
  }
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

  // ---- What memory does not have ----

  [[gnu::noinline]] bool fetch(const std::string& key) {
    if (waiting_.contains(key)) return true;
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return take_entry({kSlice, bytes, state, version, false});
    };
    if (!stored_.fetch([&](std::string& bytes) { bytes += key; }, take)) run_.failed = true;
    return !run_.failed;
  }
  [[gnu::noinline]] void fetch_due(std::int64_t now) {
    const auto from = next_stored_, until = due_.begin(from, now);
    std::int64_t beyond = INT64_MAX;
    const auto take = [this](Text key, Text state, std::uint64_t) {
      std::int64_t time = INT64_MIN, due_ms = INT64_MIN;
      return query::take_begin(state, time) && take_ordered(state, due_ms) && time == due_ms &&
             due_.take(time, std::string(key.data, key.size), true);
    };
    if (!stored_.for_each_of_times(from, until, take, beyond))
      return static_cast<void>(run_.failed = true);
    std::vector<std::string> keys;
    next_stored_ = due_.finish(beyond, [&](const std::string& key, bool) { keys.push_back(key); });
    fetch_all(keys);
  }
  [[gnu::noinline]] void fetch_window(std::int64_t end, Dues dues) {
    std::int64_t beyond = 0;
    std::vector<std::string> keys;
    const auto take = [&](Text bytes, Text, std::uint64_t) {
      std::string key(bytes.data, bytes.size);
      if (end_of(key) == end) keys.push_back(std::move(key));
      return true;
    };
    if (!stored_.for_each_of_times(dues.first, dues.second, take, beyond))
      return static_cast<void>(run_.failed = true);
    fetch_all(keys);
  }
  void fetch_all(const std::vector<std::string>& keys) {
    for (const auto& key : keys) {
      if (!fetch(key)) return;
    }
  }
  void note_stored(const std::string& key, std::int64_t due_ms) {
    auto& dues = windows_.try_emplace(end_of(key), due_ms, due_ms).first->second;
    dues = {std::min(dues.first, due_ms), std::max(dues.second, due_ms)};
    next_stored_ = std::min(next_stored_, due_ms);
  }
  // Of all that the store has.
  [[gnu::noinline]] void find_windows() {
    std::int64_t beyond = 0;
    const auto take = [this](Text key, Text state, std::uint64_t) {
      std::int64_t time = INT64_MIN;
      if (!query::take_begin(state, time)) return false;
      note_stored({key.data, key.size}, time);
      return true;
    };
    if (!stored_.for_each_of_times(INT64_MIN, INT64_MAX, take, beyond)) run_.failed = true;
  }
  bool leave() {
    for (const auto& [due_ms, key] : dues_)
      note_stored(key, due_ms);
    dues_.clear();
    waiting_.clear();
    return stored_.leave();
  }

  // ---- An entry ----

  // False: it is none of this query.
  bool take_entry(const GraphEntry& entry) {
    Text state = entry.state, rest = entry.key;
    std::int64_t end = 0, start = 0;
    if (!take_ordered(rest, end) || !take_ordered(rest, start)) return false;
    const auto place = waiting_.try_emplace(std::string(entry.key.data, entry.key.size)).first;
    auto& known = place->second;
    known.mark = {entry.version, entry.changed};
    Mark unused;
    if (!stored_.take_begin(state, unused) || !take_ordered(state, known.due_ms) ||
        !take_row(state, known.shown) || !take_row(state, known.now))
      return false;
    dues_.emplace(known.due_ms, place->first);
    return state.size == 0;
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
  std::set<std::pair<std::int64_t, std::string>> dues_;  // When, which key: of those in memory.
  // Windows, by their ends, of which the store may have changes that wait. None of them goes out
  // before the last one.
  std::map<std::int64_t, Dues> windows_;
  std::int64_t next_stored_ = INT64_MAX;
  DueRows<std::string, bool> due_;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
