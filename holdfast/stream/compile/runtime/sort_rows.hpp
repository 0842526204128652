// sort_rows.hpp: rows in their order when the input has ended, or the first ones at once, in a
// graph. What SortRows is to the interpreter (stream/graph/simple_operators.hpp): the same rows,
// and the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, Row                            its number, what comes in
//   Key, key(row)                         all columns: rows that are equal are counted
//   kOffset, kLimit                       so many are left out, and so many are shown
//   compare(row, row)                     in the order: -1, 0, 1
//   give(graph, change, row)              to those that read it
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/stream/compile/runtime/graph_ranks.hpp>

namespace holdfast::query {

// All rows when the input has ended, without those that were taken back; equal ones in the order in
// which they came.
//
// State  the row's bytes -> how often, number of the first, row.
// Costs  A row O(1); in the end O(n log n).
template <class Definition>
class SortRows {
  using Row = typename Definition::Row;

 public:
  explicit SortRows(Run& run) : run_(run), stored_(run.host, kSlice) {}

  template <class Graph>
  void take(Graph&, Change change, const Row& row) {
    const auto key = Definition::key(row);
    const auto hash = key.hash();
    auto* entry = rows_.find(key, hash);
    if (entry == nullptr) {
      if (!adds(change)) return;
      entry = &rows_.at(key, hash);
      entry->value.row = Kept<Row>(row);
      entry->value.number = next_number_++;
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
    std::sort(all.begin(), all.end(), [](const Counted* a, const Counted* b) {
      const int order = Definition::compare(a->row.row(), b->row.row());
      return order != 0 ? order < 0 : a->number < b->number;
    });
    std::uint64_t place = 0;
    for (const auto* const counted : all) {
      for (std::int64_t i = 0; i < counted->count && !run_.failed; ++i, ++place) {
        if (place < Definition::kOffset) continue;
        if (place - Definition::kOffset >= Definition::kLimit) return;
        Definition::give(graph, Change::kInsert, counted->row.row());
        forget_given<Definition>(run_);
      }
    }
  }
  void set_watermark(std::int64_t) {}
  bool adopt(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    Text state = entry.state;
    typename Definition::Key key;
    Mark mark{entry.version, entry.changed};
    std::int64_t count = 0, number = 0;
    Row row;
    if (entry.slice != kSlice || !key.take(entry.key) || !stored_.take_begin(state, mark) ||
        !take_ordered(state, count) || !take_ordered(state, number) || !row.take(state) ||
        state.size != 0)
      return false;
    auto& known = rows_.at(key);
    known.value = {Kept<Row>(row), count, number, mark};
    if (entry.changed) rows_.note(known);
    next_number_ = std::max(next_number_, number + 1);
    return true;
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    const auto put = [this](Entry& entry) {
      auto& counted = entry.value;
      return stored_.put(counted.mark, key_of(entry.key), [&](std::string& bytes) {
        append_ordered(counted.count, bytes);
        append_ordered(counted.number, bytes);
        counted.row.row().append_exactly(bytes);
      });
    };
    return stored_.keeps() ? rows_.for_each_noted(put) : rows_.for_each(put);
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  struct Counted {
    Kept<Row> row;
    std::int64_t count = 0, number = 0;
    Mark mark{};
  };
  using Entry = typename KeyedValues<typename Definition::Key, Counted>::Entry;

  static auto key_of(const typename Definition::Key& key) {
    return [&](std::string& bytes) { key.append(bytes); };
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  KeyedValues<typename Definition::Key, Counted> rows_;
  std::int64_t next_number_ = 0;
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
