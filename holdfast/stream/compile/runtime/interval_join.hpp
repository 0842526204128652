// interval_join.hpp: a join of rows whose times are near, in a graph. What IntervalJoin is to the
// interpreter (stream/graph/time_joins.cpp): the same rows in the same order, and the same bytes in
// the state.
//
// A `Definition` is as of join_rules.hpp, and
//
//   kLowMs, kHighMs                       low <= left time - right time <= high
//   left_time(row), right_time(row)
//
// State, of each side  [key, time, number] -> whether it had a partner, row.
// Order  The partners of a row by their times, those of one time as they came. Rows that are shown
//        alone when their time is over: by that time, the left ones first, then by their keys'
//        bytes.
// Costs  A row that comes takes O(log rows of its key) and the pairs that are compared, one that
//        goes O(log rows).
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/join_rules.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class IntervalJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  template <Side kSide>
  using RowOn = typename Rules::template RowOn<kSide>;

 public:
  explicit IntervalJoin(Run& run)
      : run_(run),
        stored_{StoredEntries<Definition>(run.host, slice_of(Side::kLeft)),
                StoredEntries<Definition>(run.host, slice_of(Side::kRight))} {}

  template <Side kSide, class Graph>
  void take(Graph& graph, Change, const RowOn<kSide>& row) {
    const auto time = time_of<kSide>(row);
    const Key key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    if (!time.known || key.has_null()) return show_alone<kSide>(graph, row);  // Near nothing.
    const auto hash = key.hash();
    const bool matched = meet_all<kSide>(graph, pairs_.find(key, hash), row, time.value);
    if (run_.failed) return;
    if (end_of<kSide>(time.value) <= now_) {  // No partner is to come.
      if (!matched) show_alone<kSide>(graph, row);
      return;
    }
    Entry& entry = pairs_.at(key, hash);
    const auto at = add<kSide>(entry, row, time.value, next_number_++, matched);
    if (stored_of<kSide>().change(at->mark)) pairs_.note(entry);
  }
  // Rows that no partner can come for any more.
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto left = next_end(left_ends_), right = next_end(right_ends_);
      if (std::min(left, right) >= watermark) break;
      if (left <= right)
        end_rows<Side::kLeft>(graph, left);
      else
        end_rows<Side::kRight>(graph, right);
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == slice_of(Side::kLeft)) return adopt_on<Side::kLeft>(entry);
    return adopt_on<Side::kRight>(entry);
  }
  bool put_state() {
    if (!stored_[0].put_gone() || !stored_[1].put_gone()) return false;
    const auto put = [this](Entry& entry) {
      return put_on<Side::kLeft>(entry) && put_on<Side::kRight>(entry);
    };
    return stored_[0].keeps() ? pairs_.for_each_noted(put) : pairs_.for_each(put);
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  template <class Row>
  struct Item {
    Kept<Row> kept;
    std::int64_t time, number;
    mutable bool matched = false;  // These two are of no meaning to the order.
    mutable Mark mark{};
    const Row& row() const { return kept.row(); }
  };
  struct InTime {
    using is_transparent = void;
    template <class Row>
    bool operator()(const Item<Row>& a, const Item<Row>& b) const {
      return a.time != b.time ? a.time < b.time : a.number < b.number;
    }
    template <class Row>
    bool operator()(const Item<Row>& a, std::int64_t time) const {
      return a.time < time;
    }
  };
  template <Side kSide>
  using Items = std::set<Item<RowOn<kSide>>, InTime>;
  struct Pair {
    Items<Side::kLeft> left;
    Items<Side::kRight> right;
  };
  using Entry = typename KeyedValues<Key, Pair>::Entry;
  // When a row goes: a heap of these has the earliest in front.
  template <Side kSide>
  struct End {
    std::int64_t time;    // Of the last partner.
    std::uint32_t entry;  // Its number.
    typename Items<kSide>::const_iterator item;
    bool operator<(const End& other) const { return time > other.time; }
  };
  template <Side kSide>
  using Ends = std::vector<End<kSide>>;

  static constexpr std::int64_t slice_of(Side side) {
    return first_slice(Definition::kNode) + static_cast<std::int64_t>(side);
  }
  template <Side kSide>
  static auto& items_of(Pair& pair) {
    if constexpr (kSide == Side::kLeft)
      return pair.left;
    else
      return pair.right;
  }
  template <Side kSide>
  Ends<kSide>& ends_of() {
    if constexpr (kSide == Side::kLeft)
      return left_ends_;
    else
      return right_ends_;
  }
  template <Side kSide>
  StoredEntries<Definition>& stored_of() {
    return stored_[static_cast<std::size_t>(kSide)];
  }
  template <Side kSide>
  static Maybe<std::int64_t> time_of(const RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft)
      return Definition::left_time(row);
    else
      return Definition::right_time(row);
  }
  // The first and the last time of a partner of a row of this time.
  template <Side kSide>
  static std::int64_t begin_of(std::int64_t time) {
    return kSide == Side::kLeft ? time - Definition::kHighMs : time + Definition::kLowMs;
  }
  template <Side kSide>
  static std::int64_t end_of(std::int64_t time) {
    return kSide == Side::kLeft ? time - Definition::kLowMs : time + Definition::kHighMs;
  }
  template <class AnyEnds>
  static std::int64_t next_end(const AnyEnds& ends) {
    return ends.empty() ? INT64_MAX : ends.front().time;
  }

  template <Side kSide, class Graph>
  void show_alone(Graph& graph, const RowOn<kSide>& row) {
    if constexpr (Rules::keeps(kSide))
      Rules::template give_alone<kSide>(graph, Change::kInsert, row);
  }
  // Whether it has a partner among those that are there.
  template <Side kSide, class Graph>
  bool meet_all(Graph& graph, Entry* entry, const RowOn<kSide>& row, std::int64_t time) {
    constexpr auto kOther = Rules::other(kSide);
    if (entry == nullptr) return false;
    bool matched = false;
    const auto& others = items_of<kOther>(entry->value);
    const auto last = end_of<kSide>(time);
    for (auto other = others.lower_bound(begin_of<kSide>(time));
         other != others.end() && other->time <= last; ++other) {
      const bool matches = Rules::template holds<kSide>(row, other->row(), run_);
      if (run_.failed) return matched;
      if (!matches) continue;
      matched = true;
      if (Rules::keeps(kOther) && !other->matched) {
        other->matched = true;
        if (stored_of<kOther>().change(other->mark)) pairs_.note(*entry);
      }
      Rules::template give_pair<kSide>(graph, Change::kInsert, row, other->row());
      if (run_.failed) return matched;
    }
    return matched;
  }
  template <Side kSide>
  auto add(Entry& entry, const RowOn<kSide>& row, std::int64_t time, std::int64_t number,
           bool matched) {
    auto& items = items_of<kSide>(entry.value);
    const auto at =
        items.insert(items.end(), {Kept<RowOn<kSide>>(row), time, number, matched, Mark()});
    auto& ends = ends_of<kSide>();
    ends.push_back({end_of<kSide>(time), pairs_.number_of(entry), at});
    std::push_heap(ends.begin(), ends.end());
    return at;
  }

  // Rows of this side whose last partner's time is over go. Those that had none are shown in the
  // order of their keys' bytes.
  template <Side kSide, class Graph>
  void end_rows(Graph& graph, std::int64_t time) {
    auto& ends = ends_of<kSide>();
    std::vector<std::pair<std::string, End<kSide>>> alone;
    while (next_end(ends) == time) {
      std::pop_heap(ends.begin(), ends.end());
      const auto end = ends.back();
      ends.pop_back();
      Entry& entry = *pairs_.of_number(end.entry);
      stored_of<kSide>().erase(end.item->mark, key_of(entry.key, *end.item));
      if (Rules::keeps(kSide) && !end.item->matched) {
        key_of(entry.key, *end.item)(alone.emplace_back("", end).first);
        continue;
      }
      if constexpr (RowOn<kSide>::kTexts) run_.flush();  // It may have been written.
      erase<kSide>(entry, end.item);
    }
    std::sort(alone.begin(), alone.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [bytes, end] : alone)
      if (!run_.failed) show_alone<kSide>(graph, end.item->row());
    if constexpr (RowOn<kSide>::kTexts) {
      if (!alone.empty()) run_.flush();
    }
    for (const auto& [bytes, end] : alone)
      erase<kSide>(*pairs_.of_number(end.entry), end.item);
  }
  template <Side kSide>
  void erase(Entry& entry, typename Items<kSide>::const_iterator item) {
    items_of<kSide>(entry.value).erase(item);
    if (entry.value.left.empty() && entry.value.right.empty()) pairs_.erase(entry);
  }

  // ---- State ----

  template <class AnyItem>
  static auto key_of(const Key& key, const AnyItem& item) {
    return [&](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(item.time, bytes);
      append_ordered(item.number, bytes);
    };
  }
  template <Side kSide>
  bool adopt_on(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_of<kSide>().adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, values, state = entry.state;
    Mark mark{entry.version, entry.changed};
    Key key;
    RowOn<kSide> row;
    std::int64_t time = 0, number = 0;
    std::uint8_t matched = 0;
    if (!take_part(rest, values) || !key.take(values) || !take_ordered(rest, time) ||
        !take_ordered(rest, number) || rest.size != 0 ||
        !stored_of<kSide>().take_begin(state, mark) || !take_raw(state, matched) ||
        !row.take(state) || state.size != 0)
      return false;
    auto& pair = pairs_.at(key);
    add<kSide>(pair, row, time, number, matched != 0)->mark = mark;
    if (entry.changed) pairs_.note(pair);
    next_number_ = std::max(next_number_, number + 1);
    return true;
  }
  template <Side kSide>
  bool put_on(Entry& entry) {
    auto& stored = stored_of<kSide>();
    for (const auto& item : items_of<kSide>(entry.value)) {
      if (stored.keeps() && !item.mark.changed) continue;
      const bool put = stored.put(item.mark, key_of(entry.key, item), [&](std::string& bytes) {
        bytes += item.matched ? '\1' : '\0';
        item.row().append_exactly(bytes);
      });
      if (!put) return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_[2];
  KeyedValues<Key, Pair> pairs_;
  Ends<Side::kLeft> left_ends_;
  Ends<Side::kRight> right_ends_;
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
