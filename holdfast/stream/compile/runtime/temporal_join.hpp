// temporal_join.hpp: joins of rows with a table as it was at their time, and as it is, in a graph.
// What TemporalJoin and LookupJoin are to the interpreter (stream/graph/time_joins.cpp): the same
// rows in the same order, and the same bytes in the state.
//
// A `Definition` is as of join_rules.hpp; of versions it has left_time(row) and right_time(row),
// too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/join_rules.hpp>

namespace holdfast::query {

// Each left row with the right row of its key that was the newest at its time, when the watermark
// has passed that time. A version goes when a later one of its key comes and no row can ask for it.
//
// State  left: [time, number] -> row; right: [key, time] -> row.
// Costs  A left row O(log waiting rows), then O(log versions of its key). A right row O(log
//        versions of its key) and what it makes superfluous.
template <class Definition>
class TemporalJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  using Left = typename Rules::Left;
  using Right = typename Rules::Right;

 public:
  explicit TemporalJoin(Run& run)
      : run_(run), left_(run.host, kLeftSlice), right_(run.host, kLeftSlice + 1) {}

  template <Side kSide, class Graph>
  void take(Graph&, Change, const typename Rules::template RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft)
      wait(row);
    else
      come(row);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!waiting_.empty() && waiting_.begin()->first.first <= watermark && !run_.failed) {
      const auto first = waiting_.begin();
      left_.erase(first->second.mark, key_of_left(first->first));
      show(graph, first->first.first, first->second.kept.row());
      if constexpr (Left::kTexts) run_.flush();  // It may have been written.
      waiting_.erase(first);
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  bool adopt(const GraphEntry& entry) {
    return entry.slice == kLeftSlice ? adopt_left(entry) : adopt_right(entry);
  }
  bool put_state() {
    if (!left_.put_gone() || !right_.put_gone()) return false;
    for (auto& [place, item] : waiting_) {
      if (left_.keeps() && !item.mark.changed) continue;
      if (!put(left_, item, key_of_left(place))) return false;
    }
    const auto put_versions = [this](Entry& entry) {
      for (auto& [time, item] : entry.value) {
        if (right_.keeps() && !item.mark.changed) continue;
        if (!put(right_, item, key_of_right(entry.key, time))) return false;
      }
      return true;
    };
    return right_.keeps() ? versions_.for_each_noted(put_versions)
                          : versions_.for_each(put_versions);
  }

  static constexpr std::uint64_t late_rows = 0;
  std::uint64_t rows_without_time = 0;

 private:
  static constexpr std::int64_t kLeftSlice = first_slice(Definition::kNode);
  template <class Row>
  struct Item {
    Kept<Row> kept;
    Mark mark{};
  };
  using Place = std::pair<std::int64_t, std::int64_t>;   // Time and number.
  using Versions = std::map<std::int64_t, Item<Right>>;  // By time.
  using Entry = typename KeyedValues<Key, Versions>::Entry;

  static auto key_of_left(const Place& place) {
    return [place](std::string& bytes) {
      append_ordered(place.first, bytes);
      append_ordered(place.second, bytes);
    };
  }
  static auto key_of_right(const Key& key, std::int64_t time) {
    return [&key, time](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(time, bytes);
    };
  }
  template <class AnyItem, class AppendKey>
  static bool put(StoredEntries<Definition>& stored, AnyItem& item, const AppendKey& key) {
    return stored.put(item.mark, key,
                      [&](std::string& bytes) { item.kept.row().append_exactly(bytes); });
  }

  void wait(const Left& row) {
    const auto time = Definition::left_time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    auto& item = waiting_[{time.value, next_number_++}];
    item.kept = Kept<Left>(row);
    left_.change(item.mark);
  }
  void come(const Right& row) {
    const auto time = Definition::right_time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    const Key key = Definition::right_key(row, run_);
    if (run_.failed || key.has_null()) return;
    auto& entry = versions_.at(key);
    const auto [place, is_new] = entry.value.try_emplace(time.value);
    auto& item = place->second;
    if (is_new)
      right_.come(item.mark, key_of_right(entry.key, time.value));
    else if constexpr (Right::kTexts)
      run_.flush();  // What it replaces may have been written.
    item.kept = Kept<Right>(row);
    if (right_.change(item.mark)) versions_.note(entry);
    forget_older(entry);
  }
  // Of the versions that the watermark has passed, new rows can ask for the newest only. Rows that
  // wait may ask for older ones.
  void forget_older(Entry& entry) {
    auto least = now_;
    if (!waiting_.empty()) least = std::min(least, waiting_.begin()->first.first - 1);
    if (least != kEndOfTime && least != kNoTime) ++least;
    auto& versions = entry.value;
    auto newest = versions.lower_bound(least);
    if (newest == versions.begin()) return;
    --newest;
    if constexpr (Right::kTexts) {
      if (versions.begin() != newest) run_.flush();
    }
    while (versions.begin() != newest) {
      const auto older = versions.begin();
      right_.erase(older->second.mark, key_of_right(entry.key, older->first));
      versions.erase(older);
    }
  }
  template <class Graph>
  void show(Graph& graph, std::int64_t time, const Left& row) {
    const Key key = Definition::left_key(row, run_);
    if (run_.failed) return;
    auto* const entry = key.has_null() ? nullptr : versions_.find(key);
    if (entry != nullptr) {
      const auto behind = entry->value.upper_bound(time);
      if (behind != entry->value.begin()) {
        const auto& version = std::prev(behind)->second.kept.row();
        const bool matches = Definition::holds(row, version, run_);
        if (run_.failed) return;
        if (matches)
          return Rules::template give_pair<Side::kLeft>(graph, Change::kInsert, row, version);
      }
    }
    if constexpr (Rules::keeps(Side::kLeft))
      Rules::template give_alone<Side::kLeft>(graph, Change::kInsert, row);
  }

  bool adopt_left(const GraphEntry& entry) {
    if (entry.state.size == 0) return left_.adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, state = entry.state;
    Mark mark{entry.version, entry.changed};
    Place place;
    Left row;
    if (!take_ordered(rest, place.first) || !take_ordered(rest, place.second) || rest.size != 0 ||
        !left_.take_begin(state, mark) || !row.take(state) || state.size != 0)
      return false;
    waiting_[place] = {Kept<Left>(row), mark};
    next_number_ = std::max(next_number_, place.second + 1);
    return true;
  }
  bool adopt_right(const GraphEntry& entry) {
    if (entry.state.size == 0) return right_.adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, values, state = entry.state;
    Mark mark{entry.version, entry.changed};
    Key key;
    Right row;
    std::int64_t time = 0;
    if (!take_part(rest, values) || !key.take(values) || !take_ordered(rest, time) ||
        rest.size != 0 || !right_.take_begin(state, mark) || !row.take(state) || state.size != 0)
      return false;
    auto& versions = versions_.at(key);
    versions.value[time] = {Kept<Right>(row), mark};
    if (entry.changed) versions_.note(versions);
    return true;
  }

  Run& run_;
  StoredEntries<Definition> left_, right_;
  std::map<Place, Item<Left>> waiting_;
  KeyedValues<Key, Versions> versions_;
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
};

// Each left row with the rows of a table that was read before compiled code took over. No state:
// the next run reads the table again.
template <class Definition>
class LookupJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  using Left = typename Rules::Left;
  using Right = typename Rules::Right;

 public:
  explicit LookupJoin(Run& run) : run_(run) {}

  template <Side kSide, class Graph>
  void take(Graph& graph, Change change, const typename Rules::template RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft) look_up(graph, change, row);
  }
  bool adopt(const GraphEntry& entry) {
    Text rest = entry.key, values, state = entry.state;
    std::int64_t used_ms = 0;
    Key key;
    Right row;
    if (!take_part(rest, values) || !key.take(values) || rest.size != 0 ||
        !take_begin(state, used_ms) || !row.take(state) || state.size != 0)
      return false;
    table_.at(key).value.emplace_back(row);
    return true;
  }
  bool put_state() { return true; }

  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  template <class Graph>
  void look_up(Graph& graph, Change change, const Left& row) {
    const Key key = Definition::left_key(row, run_);
    if (run_.failed) return;
    bool matched = false;
    auto* const found = key.has_null() ? nullptr : table_.find(key);
    if (found != nullptr) {
      for (const auto& other : found->value) {
        const bool matches = Definition::holds(row, other.row(), run_);
        if (run_.failed) return;
        if (!matches) continue;
        matched = true;
        Rules::template give_pair<Side::kLeft>(graph, change, row, other.row());
        if (run_.failed) return;
      }
    }
    if constexpr (Rules::keeps(Side::kLeft)) {
      if (!matched) Rules::template give_alone<Side::kLeft>(graph, change, row);
    }
  }

  Run& run_;
  KeyedValues<Key, std::vector<Kept<Right>>> table_;
};

}  // namespace holdfast::query
