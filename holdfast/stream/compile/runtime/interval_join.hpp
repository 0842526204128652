// interval_join.hpp: a join of rows whose times are near, in a graph. What IntervalJoin is to the
// interpreter (stream/graph/time_joins.cpp): the same rows in the same order, and the same bytes in
// the state.
//
// A `Definition` is as of join_rules.hpp, and
//
//   kLowMs, kHighMs                       low <= left time - right time <= high
//   left_time(row), right_time(row)
//
// State, of each side  [key, time, number] -> whether it had a partner, row. Rows that memory does
//        not have are fetched by their key when a row of it comes. Those that are shown without a
//        partner are also found by when they end, some before it. Either both sides have all of
//        their rows in memory, or neither.
// Order  The partners of a row by their times, those of one time as they came. Rows that are shown
//        alone when their time is over: by that time, the left ones first, then by their keys'
//        bytes.
// Costs  A row that comes takes O(log rows of its key) and the pairs that are compared, one that
//        goes O(log rows).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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
        stored_{
            StoredEntries<Definition>(run.host, Rules::slice_of(Side::kLeft), Grouping::kFirstPart),
            StoredEntries<Definition>(run.host, Rules::slice_of(Side::kRight),
                                      Grouping::kFirstPart)} {}

  template <Side kSide, class Graph>
  void take(Graph& graph, Change, const RowOn<kSide>& row) {
    const auto time = time_of<kSide>(row);
    const Key key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    if (!time.known || key.has_null()) return show_alone<kSide>(graph, row);  // Near nothing.
    const auto hash = key.hash();
    if constexpr (may_store<Definition>()) {
      if (is_partial() && pairs_.find(key, hash) == nullptr) fetch(key);
      if (run_.failed) return;
    }
    stored_[0].took_row([this] { return bytes(); });
    const bool matched = meet_all<kSide>(graph, pairs_.find(key, hash), row, time.value);
    if (run_.failed) return;
    if (end_of<kSide>(time.value) <= now_) {  // No partner is to come.
      if (matched) return;
      if constexpr (Rules::keeps(kSide))
        return show_alone<kSide>(graph, row);
      else
        return drop_late<Definition>(run_, late_rows, row, now_, static_cast<std::size_t>(kSide));
    }
    Entry& entry = pairs_.at(key, hash);
    const auto at = add<kSide>(entry, row, time.value, next_number_++, matched);
    if (stored_of<kSide>().change(at->mark)) pairs_.note(entry);
  }
  // Rows that no partner can come for any more.
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto left = next_end<Side::kLeft>(), right = next_end<Side::kRight>();
      const auto next = std::min(left, right);
      if (std::min(next, next_due_) >= watermark) break;
      if constexpr (kFindsDue) {
        if (next_due_ <= next) {
          find_due();
          continue;
        }
      }
      if (left <= right)
        end_rows<Side::kLeft>(graph, left);
      else
        end_rows<Side::kRight>(graph, right);
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    for (auto& stored : stored_)
      stored.become_partial();
    if (kFindsDue) next_due_ = now_;
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == Rules::slice_of(Side::kLeft)) return adopt_on<Side::kLeft>(entry);
    return adopt_on<Side::kRight>(entry);
  }
  bool put_state() {
    if (!stored_[0].put_gone() || !stored_[1].put_gone()) return false;
    const auto put = [this](Entry& entry) {
      return put_on<Side::kLeft>(entry) && put_on<Side::kRight>(entry);
    };
    if (!(stored_[0].keeps() ? pairs_.for_each_noted(put) : pairs_.for_each(put))) return false;
    if (stored_[0].wants_room(bytes()) && !leave()) return false;
    if (now_ == kNoTime) return true;
    for (auto& stored : stored_)
      stored.end_until(now_ - 1);
    return true;
  }
  static constexpr std::uint64_t rows_without_time = 0;
  std::uint64_t late_rows = 0;  // That were dropped: without a partner, and not kept.

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
  // Rows of the store that have had no partner: by when they end, then by their keys. Some are in
  // memory, too, and may have had one there.
  template <Side kSide>
  using Due = std::map<std::pair<std::int64_t, std::string>, Kept<RowOn<kSide>>>;
  static constexpr bool kFindsDue =
      may_store<Definition>() && (Rules::keeps(Side::kLeft) || Rules::keeps(Side::kRight));
  // What an item takes beside itself and its texts.
  static constexpr std::uint64_t kBesideItem = 48 + sizeof(End<Side::kLeft>);

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
  template <Side kSide>
  auto& due_of() {
    if constexpr (kSide == Side::kLeft)
      return left_due_;
    else
      return right_due_;
  }
  template <Side kSide>
  std::int64_t next_end() {
    const auto& ends = ends_of<kSide>();
    const auto end = ends.empty() ? INT64_MAX : ends.front().time;
    if constexpr (kFindsDue) {
      const auto& due = due_of<kSide>();
      if (!due.empty()) return std::min(end, due.begin()->first.first);
    }
    return end;
  }

  // ---- Rows that memory does not have ----

  bool is_partial() const { return stored_[0].is_partial(); }
  std::uint64_t bytes() const { return pairs_.bytes() + item_bytes_; }
  // The rows of a key that memory has none of.
  void fetch(const Key& key) {
    if (!Rules::fetch(stored_, key, [this](const GraphEntry& entry) { return adopt(entry); }))
      run_.failed = true;
  }
  bool leave() {
    pairs_ = {};
    left_ends_.clear(), right_ends_.clear();
    left_due_.clear(), right_due_.clear();
    item_bytes_ = 0;
    if (kFindsDue) next_due_ = now_;
    return stored_[0].leave() && stored_[1].leave();
  }
  // The next of them: a part of what the store keeps.
  [[gnu::noinline]] void find_due() {
    constexpr std::int64_t kParts = 32;
    const auto from = next_due_;
    const auto until = from + (Definition::kHighMs - Definition::kLowMs) / kParts;
    next_due_ = INT64_MAX;
    if (!find_due_on<Side::kLeft>(from, until) || !find_due_on<Side::kRight>(from, until))
      run_.failed = true;
  }
  template <Side kSide>
  bool find_due_on(std::int64_t from, std::int64_t until) {
    if constexpr (Rules::keeps(kSide)) {
      const auto take = [this](Text bytes, Text state, std::uint64_t version) {
        Stored<kSide> found;
        if (!found.take(stored_of<kSide>(), {0, bytes, state, version, false})) return false;
        if (!found.matched)
          due_of<kSide>().emplace(
              std::pair(end_of<kSide>(found.time), std::string(bytes.data, bytes.size)),
              Kept<RowOn<kSide>>(found.row));
        return true;
      };
      std::int64_t beyond = INT64_MAX;
      if (!stored_of<kSide>().for_each_of_times(from, until, take, beyond)) return false;
      next_due_ = std::min(next_due_, beyond);
    }
    return true;
  }
  // Those that end then, and whose keys memory does not have, are shown; the others count as they
  // are in memory. All stay in `taken`.
  template <Side kSide, class Rows>
  void take_due(std::int64_t time, std::vector<typename Due<kSide>::node_type>& taken,
                Rows& alone) {
    auto& due = due_of<kSide>();
    while (!due.empty() && due.begin()->first.first == time) {
      const auto& node = taken.emplace_back(due.extract(due.begin()));
      const auto& bytes = node.key().second;
      Text rest{bytes.data(), bytes.size()}, values;
      Key key;
      if (!take_part(rest, values) || !key.take(values))
        return static_cast<void>(run_.failed = true);
      if (pairs_.find(key) == nullptr) alone.emplace_back(bytes, &node.mapped().row());
    }
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
    item_bytes_ += bytes_of(*at);
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
    std::vector<std::pair<std::string, const RowOn<kSide>*>> alone;
    std::vector<End<kSide>> shown;
    std::vector<typename Due<kSide>::node_type> taken;
    if constexpr (kFindsDue) take_due<kSide>(time, taken, alone);
    while (!ends.empty() && ends.front().time == time) {
      std::pop_heap(ends.begin(), ends.end());
      const auto end = ends.back();
      ends.pop_back();
      Entry& entry = *pairs_.of_number(end.entry);
      stored_of<kSide>().erase(end.item->mark, key_of(entry.key, *end.item));
      if (Rules::keeps(kSide) && !end.item->matched) {
        key_of(entry.key, *end.item)(alone.emplace_back("", &end.item->row()).first);
        shown.push_back(end);
        continue;
      }
      if constexpr (RowOn<kSide>::kTexts) run_.flush();  // It may have been written.
      erase<kSide>(entry, end.item);
    }
    std::sort(alone.begin(), alone.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [bytes, row] : alone)
      if (!run_.failed) show_alone<kSide>(graph, *row);
    if constexpr (RowOn<kSide>::kTexts) {
      if (!alone.empty()) run_.flush();
    }
    for (const auto& end : shown)
      erase<kSide>(*pairs_.of_number(end.entry), end.item);
  }
  template <class AnyItem>
  static std::uint64_t bytes_of(const AnyItem& item) {
    return sizeof item + kBesideItem + item.row().text_bytes();
  }
  template <Side kSide>
  void erase(Entry& entry, typename Items<kSide>::const_iterator item) {
    item_bytes_ -= bytes_of(*item);
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
  // An entry of a store.
  template <Side kSide>
  struct Stored {
    Key key;
    RowOn<kSide> row;
    std::int64_t time = 0, number = 0;
    std::uint8_t matched = 0;
    Mark mark{};

    bool take(const StoredEntries<Definition>& stored, const GraphEntry& entry) {
      Text rest = entry.key, values, state = entry.state;
      mark = {entry.version, entry.changed};
      return take_part(rest, values) && key.take(values) && take_ordered(rest, time) &&
             take_ordered(rest, number) && rest.size == 0 && stored.take_begin(state, mark) &&
             take_raw(state, matched) && row.take(state) && state.size == 0;
    }
  };
  template <Side kSide>
  bool adopt_on(const GraphEntry& entry) {
    auto& stored = stored_of<kSide>();
    if (entry.state.size == 0) return stored.adopt_gone(entry.key, entry.version), true;
    Stored<kSide> found;
    if (!found.take(stored, entry)) return false;
    next_number_ = std::max(next_number_, found.number + 1);
    // What has ended stays in the store until a checkpoint.
    if (end_of<kSide>(found.time) < now_) return stored.adopt_gone(entry.key, entry.version), true;
    auto& pair = pairs_.at(found.key);
    add<kSide>(pair, found.row, found.time, found.number, found.matched != 0)->mark = found.mark;
    if (entry.changed) pairs_.note(pair);
    return true;
  }
  template <Side kSide>
  bool put_on(Entry& entry) {
    auto& stored = stored_of<kSide>();
    for (const auto& item : items_of<kSide>(entry.value)) {
      if (stored.keeps() && !item.mark.changed) continue;
      const auto end = end_of<kSide>(item.time);
      const auto append = [&](std::string& bytes) {
        bytes += item.matched ? '\1' : '\0';
        item.row().append_exactly(bytes);
      };
      if (!stored.put(item.mark, &end, key_of(entry.key, item), append)) return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_[2];
  KeyedValues<Key, Pair> pairs_;
  Ends<Side::kLeft> left_ends_;
  Ends<Side::kRight> right_ends_;
  Due<Side::kLeft> left_due_;  // All that end before `next_due_`.
  Due<Side::kRight> right_due_;
  std::int64_t next_due_ = INT64_MAX;
  std::uint64_t item_bytes_ = 0;
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
