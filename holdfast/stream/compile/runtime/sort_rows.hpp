// sort_rows.hpp: rows in their order when the input has ended, or the first ones at once, in a
// graph. What SortRows and FirstRows are to the interpreter (stream/graph/sort_rows.hpp,
// simple_operators.hpp): the same rows, and the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, Row                            its number, what comes in
//   Key, key(row)                         all columns: rows that are equal are counted
//   kOffset, kLimit                       so many are left out, and so many are shown
//   compare(row, row), kHasOrder          in the order: -1, 0, 1; whether there is one
//   give(graph, change, row)              to those that read it
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/stream/compile/runtime/graph_ranks.hpp>
#include <holdfast/stream/compile/runtime/least_rows.hpp>

namespace holdfast::query {

// All rows when the input has ended, without those that were taken back; equal ones in the order in
// which they came. Where memory has not all rows, a row is looked for when an equal one comes. In
// the end those of the store are read in parts that have room in memory (least_rows.hpp).
//
// State  the row's bytes -> how often, number of the first, row; it says the number as its time.
//        Numbers: the next one.
// Costs  A row O(1); in the end O(n log n), and reading n once per part.
template <class Definition>
class SortRows {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit SortRows(Run& run)
      : run_(run), stored_(run.host, kSlice, Grouping::kKey), numbers_(run.host, kSlice + 1) {}

  template <class Graph>
  void take(Graph&, Change change, const Row& row) {
    const auto key = Definition::key(row);
    const auto hash = key.hash();
    auto* entry = rows_.find(key, hash);
    if (entry == nullptr && stored_.is_partial()) entry = fetch(key, hash);
    if (run_.failed) return;
    stored_.took_row([this] { return bytes(); });
    if (entry == nullptr) {
      if (!adds(change)) return;
      entry = &rows_.at(key, hash);
      entry->value.row = Kept<Row>(row);
      entry->value.number = numbers_.take();
      stored_.come(entry->value.mark, key_of(entry->key));
    }
    if (stored_.change(entry->value.mark)) rows_.note(*entry);
    entry->value.count += adds(change) ? 1 : -1;
    if (entry->value.count != 0) return;
    stored_.erase(entry->value.mark, key_of(entry->key));
    rows_.erase(*entry);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    if (watermark != kEndOfTime) return;
    std::vector<const Counted*> all;
    rows_.for_each([&](Entry& entry) { return all.push_back(&entry.value), true; });
    std::sort(all.begin(), all.end(),
              [](const Counted* a, const Counted* b) { return Before()(*a, *b); });
    given_ = 0;
    auto next = all.begin();
    const auto give_before = [&](const Counted* row) {
      for (; next != all.end() && goes_on() && (row == nullptr || Before()(**next, *row)); ++next)
        give(graph, **next);
    };
    if constexpr (may_store<Definition>()) {
      if (stored_.is_partial()) give_stored(graph, give_before);
    }
    give_before(nullptr);
  }
  void set_watermark(std::int64_t) {}
  void adopt_stored(std::int64_t) { stored_.become_partial(); }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == kSlice + 1) return numbers_.adopt(entry);
    if (entry.slice != kSlice) return false;
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    return adopt_row(entry);
  }
  bool put_state() {
    if (!stored_.put_gone() || !numbers_.put()) return false;
    const auto put = [this](Entry& entry) {
      auto& counted = entry.value;
      return stored_.put(counted.mark, &counted.number, key_of(entry.key), [&](std::string& bytes) {
        append_ordered(counted.count, bytes);
        append_ordered(counted.number, bytes);
        counted.row.row().append_exactly(bytes);
      });
    };
    if (!(stored_.keeps() ? rows_.for_each_noted(put) : rows_.for_each(put))) return false;
    if (!stored_.wants_room(bytes())) return true;
    rows_ = {};
    return stored_.leave();
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  struct Counted {
    Kept<Row> row;
    std::int64_t count = 0, number = 0;
    Mark mark{};
  };
  using Entry = typename KeyedValues<Key, Counted>::Entry;
  struct Before {
    bool operator()(const Counted& a, const Counted& b) const {
      const int order = Definition::compare(a.row.row(), b.row.row());
      if (order != 0) return order < 0;
      if (a.number != b.number) return a.number < b.number;
      return Row::compare(a.row.row(), b.row.row()) < 0;
    }
  };

  static auto key_of(const Key& key) {
    return [&](std::string& bytes) { key.append(bytes); };
  }
  std::uint64_t bytes() const { return rows_.bytes() + rows_.size() * stored_.bytes_of_entry(); }

  // ---- What is shown ----

  // How many rows are still to be counted, also those that are left out.
  std::uint64_t left() const {
    constexpr std::uint64_t kAll = UINT64_MAX, kOffset = Definition::kOffset;
    constexpr auto kEnd = Definition::kLimit < kAll - kOffset ? kOffset + Definition::kLimit : kAll;
    return kEnd - std::min(given_, kEnd);
  }
  bool goes_on() const { return !run_.failed && left() != 0; }
  template <class Graph>
  void give(Graph& graph, const Counted& counted) {
    for (std::int64_t i = 0; i < counted.count && goes_on(); ++i) {
      if (given_++ < Definition::kOffset) continue;
      Definition::give(graph, Change::kInsert, counted.row.row());
      forget_given<Definition>(run_);
    }
  }
  // Those that only the store has; give_before(row) those of memory in front of one.
  template <class Graph, class GiveBefore>
  [[gnu::noinline]] void give_stored(Graph& graph, const GiveBefore& give_before) {
    LeastRows<Counted, Before> rows(Before(), stored_.memory_bytes());
    const auto take = [&](Text bytes, Text state, std::uint64_t) {
      Key key;
      if (!key.take(bytes)) return false;
      if (rows_.find(key) != nullptr) return true;
      Counted counted;
      if (!take_row(state, counted)) return false;
      constexpr std::uint64_t kOfPlace = 64;
      const auto size = sizeof(Counted) + kOfPlace + counted.row.row().text_bytes();
      if (rows.wants(counted)) rows.take(std::move(counted), size);
      return true;
    };
    for (bool more = true; more && goes_on();) {
      // Without an order those of a block are behind one another.
      const bool by_number = !Definition::kHasOrder && rows.last() != nullptr;
      std::int64_t beyond = 0;
      rows.begin(left());
      if (!stored_.for_each_of_times(by_number ? rows.last()->number + 1 : INT64_MIN, INT64_MAX,
                                     take, beyond))
        run_.failed = true;
      rows.for_each([&](const Counted& row) {
        if (!goes_on()) return false;
        give_before(&row);
        give(graph, row);
        return goes_on();
      });
      if constexpr (Row::kTexts) run_.flush();  // They go with the part.
      more = rows.end();
    }
  }

  // ---- State ----

  // The row that memory has none of.
  [[gnu::noinline]] Entry* fetch(const Key& key, std::uint64_t hash) {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt_row({kSlice, bytes, state, version, false});
    };
    if (!stored_.fetch(key_of(key), take)) run_.failed = true;
    return run_.failed ? nullptr : rows_.find(key, hash);
  }
  // False: it is none of this query.
  bool adopt_row(const GraphEntry& entry) {
    Key key;
    Counted counted;
    if (!key.take(entry.key) || !take_row(entry.state, counted)) return false;
    counted.mark = {entry.version, entry.changed};
    numbers_.raise_to(counted.number + 1);
    auto& known = rows_.at(key);
    known.value = std::move(counted);
    if (entry.changed) rows_.note(known);
    return true;
  }
  // An earlier build wrote no time.
  static bool take_row(Text state, Counted& counted) {
    std::int64_t time = INT64_MIN;
    Row row;
    if (!query::take_begin(state, time) || !take_ordered(state, counted.count) ||
        !take_ordered(state, counted.number) || !row.take(state) || state.size != 0)
      return false;
    counted.row = Kept<Row>(row);
    return counted.count > 0 && (time == INT64_MIN || time == counted.number);
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  StoredNumber<Definition> numbers_;
  KeyedValues<Key, Counted> rows_;
  std::uint64_t given_ = 0;  // Of the rows in their order, in the end.
};

// The first rows, as they come.
//
// State  how many have come.
template <class Definition>
class FirstRows {
  using Row = typename Definition::Row;

 public:
  explicit FirstRows(Run& run) : stored_(run.host, kSlice) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    stored_.change(mark_);
    const auto place = static_cast<std::uint64_t>(given_++);
    if (place >= Definition::kOffset && place - Definition::kOffset < Definition::kLimit)
      Definition::give(graph, change, row);
  }
  bool adopt(const GraphEntry& entry) {
    Text state = entry.state;
    mark_ = {entry.version, entry.changed};
    return entry.slice == kSlice && stored_.take_begin(state, mark_) &&
           take_ordered(state, given_) && state.size == 0;
  }
  bool put_state() {
    if (given_ == 0 || (stored_.keeps() && !mark_.changed)) return true;
    return stored_.put(
        mark_, [](std::string&) {}, [this](std::string& bytes) { append_ordered(given_, bytes); });
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode) + 1;

  StoredEntries<Definition> stored_;
  std::int64_t given_ = 0;
  Mark mark_{};
};

}  // namespace holdfast::query
