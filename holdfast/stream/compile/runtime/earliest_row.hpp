// earliest_row.hpp: the earliest row of each partition by event time, once, in a graph. What
// stream/graph/earliest_row.hpp is to the interpreter: the same rows in the same order, and the
// same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode                                 its number
//   Row, Key, key(row, run), time(row)    what comes in, its partition, its time
//   give(graph, change, row, number)      to those that read it
//
// State  waiting: [partition] -> row; shown: [partition] -> its time.
// Costs  A row O(1); one that begins to wait, and one that is shown, O(log waiting).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class EarliestRow {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit EarliestRow(Run& run)
      : run_(run),
        of_waiting_(run.host, kSlice),
        of_shown_(run.host, kSlice + 1, Grouping::kFirstPart, run.host.idle_ms()) {}

  template <class Graph>
  void take(Graph&, Change, const Row& row) {
    const auto time = Definition::time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    if (time.value < now_) return drop_late<Definition>(run_, late_rows, row, now_);
    if (of_shown_.is_sweep_due()) end_idle();
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    const auto hash = key.hash();
    auto* const known = waiting_.find(key, hash);
    if (known != nullptr) {
      if (known->value.time <= time.value) return;
      order_.erase({known->value.time, bytes_of(known->key)});
      return wait(*known, row, time.value);
    }
    if (shown_.find(key, hash) != nullptr) return;
    if (of_shown_.is_partial()) {
      if (!fetch(key)) return static_cast<void>(run_.failed = true);
      if (shown_.find(key, hash) != nullptr) return;
    }
    of_shown_.took_row([this] { return bytes(); });
    auto& entry = waiting_.at(key, hash);
    of_waiting_.come(entry.value.mark, key_of(entry.key));
    wait(entry, row, time.value);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    std::vector<Kept<Row>> given;  // Their texts stay until they have been handed over.
    while (!order_.empty() && order_.begin()->first <= watermark && !run_.failed) {
      const auto [time, bytes] = std::move(order_.extract(order_.begin()).value());
      Text rest{bytes.data(), bytes.size()}, values;
      Key key;
      if (!take_part(rest, values) || !key.take(values))
        return static_cast<void>(run_.failed = true);
      auto& entry = *waiting_.find(key);
      given.push_back(std::move(entry.value.kept));
      of_waiting_.erase(entry.value.mark, key_of(entry.key));
      waiting_.erase(entry);
      auto& shown = shown_.at(key);
      shown.value.time = time;
      of_shown_.come(shown.value.mark, key_of(shown.key));
      if (of_shown_.change(shown.value.mark)) shown_.note(shown);
      Definition::give(graph, Change::kInsert, given.back().row(), 1);
      if (given.size() == kMostGiven) hand_over(given);
    }
    if (!given.empty()) hand_over(given);
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) { of_shown_.become_partial(); }  // Others are in memory.
  bool adopt(const GraphEntry& entry) {
    const auto table = entry.slice - kSlice;
    if (table == 1) return adopt_shown(entry);
    if (table != 0) return false;
    if (entry.state.size == 0) return of_waiting_.adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, values, state = entry.state;
    Key key;
    Row row;
    Mark mark{entry.version, entry.changed};
    if (!take_part(rest, values) || !key.take(values) || rest.size != 0 ||
        !of_waiting_.take_begin(state, mark) || !row.take(state) || state.size != 0)
      return false;
    const auto time = Definition::time(row);
    if (!time.known) return false;
    auto& waits = waiting_.at(key);
    waits.value = {Kept<Row>(row), time.value, mark};
    order_.emplace(time.value, bytes_of(waits.key));
    if (entry.changed) waiting_.note(waits);
    return true;
  }
  bool put_state() {
    if (!of_waiting_.put_gone() || !of_shown_.put_gone()) return false;
    const auto put_row = [this](auto& entry) {
      const auto& kept = entry.value.kept;
      return put(of_waiting_, entry, [&](std::string& bytes) { kept.row().append_exactly(bytes); });
    };
    const auto put_time = [this](auto& entry) {
      return put(of_shown_, entry,
                 [&](std::string& bytes) { append_ordered(entry.value.time, bytes); });
    };
    if (!(of_waiting_.keeps() ? waiting_.for_each_noted(put_row) : waiting_.for_each(put_row)) ||
        !(of_shown_.keeps() ? shown_.for_each_noted(put_time) : shown_.for_each(put_time)))
      return false;
    if (!of_shown_.wants_room(bytes())) return true;
    shown_ = {};
    return of_shown_.leave();
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  struct Waiting {
    Kept<Row> kept;
    std::int64_t time = 0;
    Mark mark;
  };
  struct Shown {
    std::int64_t time = 0;
    Mark mark;
  };
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  static constexpr std::size_t kMostGiven = 1024;

  static auto key_of(const Key& key) {
    return [&key](std::string& bytes) { append_key_part(key, bytes); };
  }
  static std::string bytes_of(const Key& key) {
    std::string bytes;
    append_key_part(key, bytes);
    return bytes;
  }
  template <class Entry>
  void wait(Entry& entry, const Row& row, std::int64_t time) {
    entry.value.kept = Kept<Row>(row);
    entry.value.time = time;
    order_.emplace(time, bytes_of(entry.key));
    if (of_waiting_.change(entry.value.mark)) waiting_.note(entry);
  }
  void hand_over(std::vector<Kept<Row>>& given) {
    forget_given<Definition>(run_);
    if constexpr (Row::kTexts) run_.flush();
    given.clear();
  }

  bool fetch(const Key& key) {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt_shown({kSlice + 1, bytes, state, version, false});
    };
    return of_shown_.fetch(key_of(key), take);
  }
  bool adopt_shown(const GraphEntry& entry) {
    if (entry.state.size == 0) return of_shown_.adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, values, state = entry.state;
    Key key;
    Shown shown{0, {entry.version, entry.changed}};
    if (!take_part(rest, values) || !key.take(values) || rest.size != 0 ||
        !of_shown_.take_begin(state, shown.mark) || !take_ordered(state, shown.time) ||
        state.size != 0)
      return false;
    auto& known = shown_.at(key);
    known.value = shown;
    if (entry.changed) shown_.note(known);
    return true;
  }
  [[gnu::noinline]] void end_idle() {
    shown_.for_each([this](auto& entry) {
      if (!of_shown_.is_idle(entry.value.mark)) return true;
      of_shown_.erase(entry.value.mark, key_of(entry.key));
      shown_.erase(entry);
      return true;
    });
  }
  std::uint64_t bytes() const {
    return shown_.bytes() + shown_.size() * of_shown_.bytes_of_entry();
  }
  template <class Entry, class AppendState>
  bool put(StoredEntries<Definition>& stored, Entry& entry, const AppendState& state) {
    if (stored.keeps() && !entry.value.mark.changed) return true;
    return stored.put(entry.value.mark, key_of(entry.key), state);
  }

  Run& run_;
  StoredEntries<Definition> of_waiting_, of_shown_;
  KeyedValues<Key, Waiting> waiting_;
  KeyedValues<Key, Shown> shown_;
  std::set<std::pair<std::int64_t, std::string>> order_;  // Of those that wait, by their keys.
  std::int64_t now_ = kNoTime;                            // The watermark.
};

}  // namespace holdfast::query
