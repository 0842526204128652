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
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/group_windows.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class CorrectedGroups {
  using Row = typename Definition::Row;
  using Out = typename Definition::Out;
  using Key = typename Definition::Key;

 public:
  explicit CorrectedGroups(Run& run) : run_(run), windows_(run) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    const auto start = Definition::start(row), end = Definition::end(row);
    if (!start.known || !end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 + Definition::kLatenessMs <= now_)
      return drop_late<Definition>(run_, late_rows, row, now_);
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    const Bounds bounds{end.value, start.value};
    const auto hash = key.hash();
    auto& groups = windows_.of_row(bounds, key, hash);
    if (run_.failed) return;
    if (!adds(change)) {
      const auto* const known = groups.find(key, hash);
      if (known == nullptr || known->rows == 0) return;  // Of a row that was late.
    }
    auto& group = groups.at(key, hash);
    if (group.rows == 0) windows_.come(bounds, key, group);
    windows_.change(group);
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
      const auto* const window = windows_.all().first_from(first);
      const auto next = windows_.lives_until(window);
      if (std::min(next, windows_.next_stored()) >= until) break;
      if (windows_.next_stored() <= next) {
        windows_.find_stored();
        continue;
      }
      show(graph, window->bounds, window->value);
      first = {window->bounds.end, window->bounds.start + 1};
      forget(std::min(watermark, next));  // Those that end earlier.
    }
    forget(watermark);
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) { windows_.adopt_stored(life_of_hidden(now_)); }
  bool adopt(const GraphEntry& entry) { return windows_.adopt(entry); }
  bool put_state() {
    if (!windows_.put_state(life_of_hidden(now_))) return false;
    if (now_ != kNoTime) windows_.end_until(now_ - 1);
    return true;
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  struct Group {
    std::int64_t rows = 0;  // 0: it is not there, all of its rows were taken back.
    typename Definition::State state;
    Mark mark;

    bool is_there() const { return rows != 0; }
    void append(std::string& bytes) const {
      append_ordered(rows, bytes);
      state.append(bytes);
    }
    bool take(Text bytes) { return take_ordered(bytes, rows) && state.take(bytes); }
  };
  using Windows = GroupWindows<Definition, Group>;
  using Groups = typename Windows::Groups;

  // What is not shown at this watermark lives until then at least.
  static std::int64_t life_of_hidden(std::int64_t watermark) {
    const bool none = watermark == kNoTime || watermark == kEndOfTime;
    return none ? watermark : watermark + Definition::kLatenessMs;
  }
  Out out(const Bounds& bounds, const Key& key, const Group& group) {
    return Definition::out(key, group.state, bounds.start, bounds.end, run_);
  }
  void gather(const Bounds& bounds, const Key& key, Group& group, bool adding, const Row& row) {
    group.rows += adding ? 1 : -1;
    if constexpr (Definition::kRetracts) {
      if (!adding) {
        Definition::take_back(group.state, row, run_);
        if (group.rows != 0) return;
        windows_.erase(bounds, key, group);
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
    while (windows_.lives_until(windows_.all().first()) < watermark) {
      if constexpr (Out::kTexts) run_.flush();  // They go with the window.
      const auto& window = windows_.take_first();
      for (const auto& entry : window.value.entries())
        windows_.erase(window.bounds, entry.key, entry.state);
      windows_.drop_taken();
    }
  }

  Run& run_;
  Windows windows_;
  std::int64_t now_ = kNoTime;  // The watermark.
  Places places_;
};

}  // namespace holdfast::query
