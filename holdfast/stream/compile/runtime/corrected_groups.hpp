// corrected_groups.hpp: groups of windows that late rows still change, in a graph. What
// CorrectedGroups is to the interpreter (stream/graph/corrected_groups.hpp): the same rows in the
// same order, and the same bytes in the state.
//
// A `Definition` is as of graph_groups.hpp, by columns, and
//
//   kLatenessMs                           how long behind the end of a window
//
// State  [end, start, keys] -> how many rows, aggregates.
// Costs  A row O(1); a window that is shown, the order of its groups. Where memory has not all
//        groups, a row of one that it has not is a fetch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class CorrectedGroups {
  using Row = typename Definition::Row;
  using Out = typename Definition::Out;
  using Key = typename Definition::Key;

 public:
  explicit CorrectedGroups(Run& run) : run_(run), stored_(run.host, kSlice, Grouping::kKey) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    const auto start = Definition::start(row), end = Definition::end(row);
    if (!start.known || !end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 + Definition::kLatenessMs <= now_)
      return drop_late<Definition>(run_, late_rows, row, now_);
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    const Bounds bounds{end.value, start.value};
    auto& groups = groups_of(bounds);
    const auto hash = key.hash();
    if (stored_.is_partial()) fetch(bounds, key, hash);
    if (run_.failed) return;
    stored_.took_row([this] { return bytes(); });
    if (!adds(change)) {
      const auto* const known = groups.find(key, hash);
      if (known == nullptr || known->rows == 0) return;  // Of a row that was late.
    }
    auto& group = groups.at(key, hash);
    if (group.rows == 0) stored_.come(group.mark, key_of(bounds, key));
    stored_.change(group.mark);
    if (end.value - 1 <= now_)
      correct(graph, bounds, key, group, adds(change), row);
    else
      gather(bounds, key, group, adds(change), row);
  }
  // Window by window, the earliest end first.
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    const auto until = life_of_hidden(watermark);
    // Those that were not shown before end here at the earliest.
    Bounds first{now_ == kNoTime ? now_ : now_ + 2, INT64_MIN};
    while (!run_.failed) {
      const auto window = windows_.lower_bound(first);
      const auto next = window == windows_.end() ? INT64_MAX : lives_until(window->first.first);
      if (std::min(next, next_stored_) >= until) break;
      if constexpr (may_store<Definition>()) {
        if (next_stored_ <= next) {
          find_window();
          continue;
        }
      }
      show(graph, window->first, window->second);
      first = {window->first.first, window->first.second + 1};
      forget(std::min(watermark, lives_until(window->first.first)));  // Those that end earlier.
    }
    forget(watermark);
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    stored_.become_partial();
    next_stored_ = life_of_hidden(now_);
  }
  bool adopt(const GraphEntry& entry) {
    Text rest = entry.key, state = entry.state;
    if (state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    Bounds bounds;
    Key key;
    if (!take_ordered(rest, bounds.first) || !take_ordered(rest, bounds.second) || !key.take(rest))
      return false;
    auto& group = groups_of(bounds).at(key, key.hash());
    group.mark = {entry.version, entry.changed};
    Mark unused;
    return stored_.take_begin(state, unused) && take_ordered(state, group.rows) &&
           group.state.take(state);
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    for (auto& [bounds, groups] : windows_) {
      for (auto& entry : groups.entries()) {
        auto& group = entry.state;
        if (group.rows == 0 || (stored_.keeps() && !group.mark.changed)) continue;
        const auto append = [&](std::string& bytes) {
          append_ordered(group.rows, bytes);
          group.state.append(bytes);
        };
        const auto lives = lives_until(bounds.first);
        if (!stored_.put(group.mark, &lives, key_of(bounds, entry.key), append)) return false;
      }
    }
    if ((stored_.is_partial() || stored_.wants_room(bytes())) && !leave()) return false;
    if (now_ != kNoTime) stored_.end_until(now_ - 1);
    return true;
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  using Bounds = std::pair<std::int64_t, std::int64_t>;  // End, start.
  struct Group {
    std::int64_t rows = 0;  // 0: it is not there, all of its rows were taken back.
    typename Definition::State state;
    Mark mark;
  };
  using Groups = Table<Key, Group>;
  using Windows = std::map<Bounds, Groups>;

  Groups& groups_of(const Bounds& bounds) {
    if (newest_ == nullptr || newest_bounds_ != bounds) {
      newest_ = &windows_[bounds];
      newest_bounds_ = bounds;
    }
    return *newest_;
  }
  // The last watermark that does not end a group.
  static std::int64_t lives_until(std::int64_t end) { return end - 2 + Definition::kLatenessMs; }
  // What is not shown at this watermark lives until then at least.
  static std::int64_t life_of_hidden(std::int64_t watermark) {
    const bool none = watermark == kNoTime || watermark == kEndOfTime;
    return none ? watermark : watermark + Definition::kLatenessMs;
  }
  static auto key_of(const Bounds& bounds, const Key& key) {
    return [&](std::string& bytes) {
      append_ordered(bounds.first, bytes);
      append_ordered(bounds.second, bytes);
      key.append(bytes);
    };
  }

  Out out(const Bounds& bounds, const Key& key, const Group& group) {
    return Definition::out(key, group.state, bounds.second, bounds.first, run_);
  }
  void gather(const Bounds& bounds, const Key& key, Group& group, bool adding, const Row& row) {
    group.rows += adding ? 1 : -1;
    if constexpr (Definition::kRetracts) {
      if (!adding) {
        Definition::take_back(group.state, row, run_);
        if (group.rows != 0) return;
        stored_.erase(group.mark, key_of(bounds, key));
        group.state = {};
        group.mark = {};
        return;
      }
    }
    Definition::add(group.state, row, run_);
  }
  // A group that was shown, or would have been.
  template <class Graph>
  void correct(Graph& graph, const Bounds& bounds, const Key& key, Group& group, bool adding,
               const Row& row) {
    if (group.rows == 0) {
      gather(bounds, key, group, adding, row);
      if (run_.failed) return;
      const Out first = out(bounds, key, group);
      if (!run_.failed) Definition::give(graph, Change::kInsert, first);
      return;
    }
    const Kept<Out> before(out(bounds, key, group));
    if (run_.failed) return;
    gather(bounds, key, group, adding, row);
    if (run_.failed) return;
    if (group.rows == 0) return Definition::give(graph, Change::kDelete, before.row());
    const Out after = out(bounds, key, group);
    if (run_.failed || Out::equal(before.row(), after)) return;
    Definition::give(graph, Change::kUpdateBefore, before.row());
    if (!run_.failed) Definition::give(graph, Change::kUpdateAfter, after);
  }

  template <class Graph>
  void show(Graph& graph, const Bounds& bounds, const Groups& groups) {
    visit_in_order(groups, places_, [&](const auto& entry) {
      if (entry.state.rows == 0) return true;
      const Out row = out(bounds, entry.key, entry.state);
      if (!run_.failed) Definition::give(graph, Change::kInsert, row);
      forget_given<Definition>(run_);
      return !run_.failed;
    });
  }
  // Windows whose time is over at this watermark.
  void forget(std::int64_t watermark) {
    while (!windows_.empty() && lives_until(windows_.begin()->first.first) < watermark) {
      newest_ = nullptr;
      if constexpr (Out::kTexts) run_.flush();  // They go with the window.
      const auto window = windows_.extract(windows_.begin());
      for (const auto& entry : window.mapped().entries())
        stored_.erase(entry.state.mark, key_of(window.key(), entry.key));
    }
  }

  // ---- Groups that memory does not have ----

  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [bounds, groups] : windows_)
      bytes += groups.bytes() + groups.entries().size() * stored_.bytes_of_entry();
    return bytes;
  }
  bool leave() {
    windows_.clear();
    newest_ = nullptr;
    next_stored_ = life_of_hidden(now_);
    return stored_.leave();
  }
  // This group is in memory from now on, if there is one.
  [[gnu::noinline]] void fetch(const Bounds& bounds, const Key& key, std::uint64_t hash) {
    if (groups_of(bounds).find(key, hash) != nullptr) return;
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt({kSlice, bytes, state, version, false});
    };
    if (!stored_.fetch(key_of(bounds, key), take)) run_.failed = true;
  }
  // Those of the next window that the store has.
  [[gnu::noinline]] void find_window() {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      Text rest = bytes;
      Bounds bounds;
      Key key;
      if (!take_ordered(rest, bounds.first) || !take_ordered(rest, bounds.second) ||
          !key.take(rest))
        return false;
      if (groups_of(bounds).find(key, key.hash()) != nullptr) return true;
      return adopt({kSlice, bytes, state, version, false});
    };
    const auto at = next_stored_;
    if (!stored_.for_each_of_times(at, at, take, next_stored_)) run_.failed = true;
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  Windows windows_;
  Groups* newest_ = nullptr;  // That of the last row.
  Bounds newest_bounds_;
  // Groups of the store that have not been shown live so long at least.
  std::int64_t next_stored_ = INT64_MAX;
  std::int64_t now_ = kNoTime;  // The watermark.
  Places places_;
};

}  // namespace holdfast::query
