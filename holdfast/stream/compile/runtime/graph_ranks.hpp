// graph_ranks.hpp: the first rows of each partition, in a graph. What
// stream/graph/rank_operators.cpp is to the interpreter.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, kFirst, kLast, kRetracts       its number, the rows it shows, whether rows may go
//   kLatest                               of equal rows the one that came last is first
//   kRanking, kNumbered                   where equal rows may have one number: how they get it,
//                                         and whether what is given has it
//   Row, Key, key(row, run)               what comes in, its partition
//   compare(row, row)                     in the order of the ranking: -1, 0, 1
//   give(graph, change, row, number)      to those that read it
//   end(row)                              window_end, of a ranking of windows
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/ranked_rows.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

// Rows of a partition as they change. Where rows may go, all are kept, in a tree; else those up to
// kLast, in a list, or in a tree where equal rows have one number. A partition is fetched when a
// row of it comes.
//
// State  [partition, number] -> row.
// Costs  A row that comes or goes takes O(log rows), and O(kLast) where it is one of the shown;
//        and what it gives.
template <class Definition>
class RunningRank {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit RunningRank(Run& run)
      : run_(run), stored_(run.host, kSlice, Grouping::kFirstPart, run.host.idle_ms()) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    if (stored_.is_sweep_due()) end_idle();
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    if (stored_.is_partial() && partitions_.find(key) == nullptr && !fetch(key))
      return static_cast<void>(run_.failed = true);
    stored_.took_row([this] { return bytes(); });
    if (adds(change))
      come(graph, key, row);
    else if constexpr (Definition::kRetracts)
      go(graph, key, row);
  }
  void adopt_stored(std::int64_t) { stored_.become_partial(); }
  bool adopt(const GraphEntry& entry) {
    Text rest = entry.key, values;
    Key key;
    Row row;
    std::int64_t number = 0;
    if (!take_part(rest, values) || !key.take(values) || !take_ordered(rest, number) ||
        rest.size != 0)
      return false;
    // Also of one that is gone: of a key a checkpoint has one entry.
    next_number_ = std::max(next_number_, next_sequence(number));
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    Text state = entry.state;
    Mark mark{entry.version, entry.changed};
    if (!stored_.take_begin(state, mark) || !row.take(state) || state.size != 0) return false;
    auto& partition = partitions_.at(key);
    const Ranked ranked{Held(row, memory_), number, mark};
    if constexpr (kOne)
      adopt_one(partition, ranked);
    else
      insert(partition.value, ranked);
    if (entry.changed) partitions_.note(partition);
    return true;
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    if (!(stored_.keeps() ? partitions_.for_each_noted(put_entry)
                          : partitions_.for_each(put_entry)))
      return false;
    if (!stored_.wants_room(bytes())) return true;
    partitions_ = {};
    memory_ = {};
    rows_ = 0;
    return stored_.leave();
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  using Held = Pooled<Row>;
  using Ranked = RankedRow<Held>;
  static constexpr bool kTied = ranking_of<Definition>() != Ranking::kRowNumber;
  static constexpr bool kDense = ranking_of<Definition>() == Ranking::kDenseRank;
  static constexpr bool kTree = Definition::kRetracts || kTied;
  static constexpr bool kOne = !kTree && Definition::kLast == 1;
  using Rows = std::conditional_t<
      kOne, OneRow<Ranked>,
      std::conditional_t<kTree, RankedTree<Definition, Held, kTied>, std::vector<Ranked>>>;
  using Place = typename Rows::iterator;
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);
  using Entry = typename KeyedValues<Key, Rows>::Entry;

  bool fetch(const Key& key) {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt({kSlice, bytes, state, version, false});
    };
    return stored_.fetch([&](std::string& bytes) { append_key_part(key, bytes); }, take);
  }
  // Rows that have been there for long end. What was shown of them stays so; those behind them move
  // up where they were.
  [[gnu::noinline]] void end_idle() {
    partitions_.for_each([this](Entry& entry) {
      auto& rows = entry.value;
      for (auto place = rows.begin(); place != rows.end();) {
        if (!stored_.is_idle(place->mark)) {
          ++place;
          continue;
        }
        place = take_out(rows, place, entry.key);
      }
      if (rows.empty()) partitions_.erase(entry);
      return true;
    });
  }
  std::uint64_t bytes() const {
    constexpr std::uint64_t kAround = 40;  // What a tree has for each row.
    constexpr std::uint64_t kOfRow = kOne ? 0 : sizeof(Ranked) + kAround;
    return partitions_.bytes() + rows_ * (kOfRow + stored_.bytes_of_entry());
  }

  // What is behind the row. Leaving the list it is read once more, so its texts go after that.
  Place take_out(Rows& rows, Place at, const Key& key) {
    const Ranked ranked = *at;
    const auto behind = rows.erase(at);
    drop(ranked, key);
    return behind;
  }
  // The row is not read after this.
  void drop(const Ranked& ranked, const Key& key) {
    if constexpr (Row::kTexts) run_.flush();  // What was written may have its texts there.
    stored_.erase(ranked.mark, key_of(key, ranked.number));
    Held(ranked.kept).release(memory_);
    --rows_;
  }
  Place insert(Rows& rows, Ranked ranked) {
    ++rows_;
    if constexpr (kTree) {
      return rows.add(std::move(ranked));
    } else {
      const auto at = std::upper_bound(rows.begin(), rows.end(), ranked, InRank<Definition>());
      return rows.insert(at, std::move(ranked));
    }
  }
  // How many stand before it: a tree is looked at from both ends.
  static std::uint64_t number_at(Rows& rows, Place at) {
    if constexpr (!Definition::kRetracts) return static_cast<std::uint64_t>(at - rows.begin());
    std::uint64_t before = 0;
    for (auto first = rows.begin(), last = rows.end(); first != at && before < Definition::kLast;
         ++first, --last, ++before) {
      if (last == at) return rows.size() - before;
    }
    return before;
  }

  static auto key_of(const Key& key, std::int64_t number) {
    return [&key, number](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(number, bytes);
    };
  }
  template <class Graph>
  void show(Graph& graph, Change change, const Row& row, std::uint64_t place) {
    if (place + 1 >= Definition::kFirst && !run_.failed)
      Definition::give(graph, change, row, static_cast<std::int64_t>(place) + 1);
  }

  template <class Graph>
  void come(Graph& graph, const Key& key, const Row& row) {
    const auto number = rank_number<Definition::kLatest>(next_number_++);
    auto& entry = partitions_.at(key);
    auto& rows = entry.value;
    if constexpr (!Definition::kRetracts) {
      if (Definition::kLast == 0) return;  // None is shown.
    }
    if constexpr (!kTree) {
      // It comes behind the last row, or behind equal ones: then it is never one of the first.
      if (rows.size() >= Definition::kLast &&
          Definition::compare(row, rows.back().row()) >= (Definition::kLatest ? 1 : 0))
        return;
    }
    Ranked ranked{Held(row, memory_), number, {}};
    if (stored_.change(ranked.mark)) partitions_.note(entry);
    if constexpr (kOne)
      show_one(graph, entry, ranked);
    else if constexpr (kTied)
      show_tied(graph, entry, std::move(ranked));
    else
      show_moved(graph, entry, std::move(ranked));
  }
  // In place of the one that is there.
  template <class Graph>
  void show_one(Graph& graph, Entry& entry, const Ranked& ranked) {
    auto& rows = entry.value;
    const bool was = !rows.empty();
    if (was) show(graph, Change::kUpdateBefore, rows.back().row(), 0);
    show(graph, was ? Change::kUpdateAfter : Change::kInsert, ranked.row(), 0);
    if (was) drop(rows.back(), entry.key);
    rows.set(ranked);
    ++rows_;
  }
  // The state has one of each partition; of two the first stays.
  void adopt_one(Entry& entry, const Ranked& ranked) {
    auto& rows = entry.value;
    ++rows_;
    if (!rows.empty() && !InRank<Definition>()(ranked, rows.back())) return drop(ranked, entry.key);
    if (!rows.empty()) drop(rows.back(), entry.key);
    rows.set(ranked);
  }
  // ---- Where equal rows have one number ----

  // The number of a row, whether it is there or not; above kLast: it is not shown.
  static std::uint64_t tied_number(const Rows& rows, const Row& row) {
    std::uint64_t number = 1;
    for (auto place = rows.begin(); number <= Definition::kLast && place != rows.end() &&
                                    Definition::compare(place->row(), row) < 0;
         ++number)
      place = kDense ? rows.upper_bound(place->row()) : std::next(place);
    return number;
  }
  // Of a row behind all from `begin` to `end`, which have this number; no further than kLast.
  static std::uint64_t number_behind(Place begin, Place end, std::uint64_t number) {
    if (kDense) return number + 1;
    for (; begin != end && number <= Definition::kLast; ++begin)
      ++number;
    return number;
  }
  static bool is_shown(std::uint64_t number) {
    return number >= Definition::kFirst && number <= Definition::kLast;
  }
  template <class Graph>
  void show_other_number(Graph& graph, Place begin, Place end, std::uint64_t was,
                         std::uint64_t is) {
    const bool before = is_shown(was), after = is_shown(is);
    if (before && after && !Definition::kNumbered) return;
    for (; begin != end && (before || after); ++begin) {
      if (before)
        show(graph, after ? Change::kUpdateBefore : Change::kDelete, begin->row(), was - 1);
      if (after) show(graph, before ? Change::kUpdateAfter : Change::kInsert, begin->row(), is - 1);
    }
  }
  // Rows behind one that came, or goes, have a number higher by one while it is there. Equal ones
  // do not, nor those behind them with DENSE_RANK where it has equals. The first that is not shown.
  template <class Graph>
  Place show_behind(Graph& graph, const Rows& rows, Place at, std::uint64_t number, bool came) {
    // Not equal_range(), which goes over them.
    const auto begin = rows.lower_bound(at->row()), end = rows.upper_bound(at->row());
    if (kDense && std::next(begin) != end) return rows.end();
    auto without = number_behind(begin, end, number - 1);
    auto place = end;
    while (place != rows.end() && without <= Definition::kLast) {
      const auto next = rows.upper_bound(place->row());
      show_other_number(graph, place, next, without + !came, without + came);
      if (without == Definition::kLast) return place;
      without = number_behind(place, next, without);
      place = next;
    }
    return place;
  }
  template <class Graph>
  void show_tied(Graph& graph, Entry& entry, Ranked ranked) {
    auto& rows = entry.value;
    const auto number = tied_number(rows, ranked.row());
    const auto at = insert(rows, std::move(ranked));
    if (is_shown(number)) show(graph, Change::kInsert, at->row(), number - 1);
    auto behind = number > Definition::kLast ? at : show_behind(graph, rows, at, number, true);
    // Rows that are never taken back keep their place or move behind.
    while (!Definition::kRetracts && behind != rows.end()) {
      behind = take_out(rows, behind, entry.key);
    }
  }
  template <class Graph>
  void show_tied_gone(Graph& graph, const Rows& rows, Place at) {
    const auto number = tied_number(rows, at->row());
    if (number > Definition::kLast) return;
    if (is_shown(number)) show(graph, Change::kDelete, at->row(), number - 1);
    show_behind(graph, rows, at, number, false);
  }

  template <class Graph>
  void show_moved(Graph& graph, Entry& entry, Ranked ranked) {
    auto& rows = entry.value;
    const auto at = insert(rows, std::move(ranked));
    auto moved = at;
    for (auto i = number_at(rows, at); moved != rows.end() && i < Definition::kLast; ++i) {
      const Row& now = (moved++)->row();
      const bool was = moved != rows.end();
      if (was) show(graph, Change::kUpdateBefore, moved->row(), i);
      show(graph, was ? Change::kUpdateAfter : Change::kInsert, now, i);
    }
    if constexpr (!Definition::kRetracts) {
      if (rows.size() <= Definition::kLast) return;
      drop(rows.back(), entry.key);
      rows.pop_back();
    }
  }
  template <class Graph>
  void go(Graph& graph, const Key& key, const Row& row) {
    auto* const entry = partitions_.find(key);
    if (entry == nullptr) return;
    auto& rows = entry->value;
    const auto at = rows.find(row);
    if (at == rows.end()) return;
    if constexpr (kTied)
      show_tied_gone(graph, rows, at);
    else
      show_gone(graph, rows, at);
    take_out(rows, at, entry->key);
    if (rows.empty()) partitions_.erase(*entry);
  }
  template <class Graph>
  void show_gone(Graph& graph, Rows& rows, Place at) {
    auto moved = at;
    for (auto i = number_at(rows, at); moved != rows.end() && i < Definition::kLast; ++i) {
      const Row& was = (moved++)->row();
      const bool is = moved != rows.end();
      show(graph, is ? Change::kUpdateBefore : Change::kDelete, was, i);
      if (is) show(graph, Change::kUpdateAfter, moved->row(), i);
    }
  }
  bool put(Entry& entry) {
    for (auto& ranked : entry.value) {
      if (stored_.keeps() && !ranked.mark.changed) continue;
      if (!stored_.put(ranked.mark, key_of(entry.key, ranked.number),
                       [&](std::string& bytes) { ranked.row().append_exactly(bytes); }))
        return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  KeyedValues<Key, Rows> partitions_;
  Pool memory_;  // Of texts of the rows.
  std::int64_t next_number_ = 0;
  std::uint64_t rows_ = 0;  // Of all partitions.
};

// Rows of a window, when it has ended. Where memory has not all rows, it has those since the last
// checkpoint, and those of the window that ends.
//
// State  [window_end, partition, number] -> row; numbers: the next one.
template <class Definition>
class WindowRank {
  using Row = typename Definition::Row;

 public:
  explicit WindowRank(Run& run)
      : run_(run), stored_(run.host, kSlice, Grouping::kKey), numbers_(run.host, kSlice + 1) {}

  template <class Graph>
  void take(Graph&, Change, const Row& row) {
    const auto end = Definition::end(row);
    if (!end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 <= now_) return drop_late<Definition>(run_, late_rows, row, now_);
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    std::string partition;
    append_key_part(key, partition);
    const auto number = rank_number<Definition::kLatest>(numbers_.take());
    stored_.change(add(end.value, std::move(partition), row, number).mark);
    stored_.took_row([this] { return bytes(); });
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto next = windows_.empty() ? INT64_MAX : last_of(windows_.begin()->first);
      if (std::min(next, next_stored_) >= watermark) break;
      if constexpr (may_store<Definition>()) {
        if (next_stored_ <= next) {
          if (!find_window()) run_.failed = true;
          continue;
        }
      }
      auto window = windows_.extract(windows_.begin());
      for (auto& [partition, rows] : window.mapped().partitions) {
        for (const auto& ranked : rows)
          stored_.erase(ranked.mark, key_of(window.key(), partition, ranked.number));
        show(graph, rows);
      }
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    stored_.become_partial();
    next_stored_ = now_;
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == kSlice + 1) return numbers_.adopt(entry);
    if (entry.slice != kSlice) return false;
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    return take_row(entry.key, entry.state, {entry.version, entry.changed});
  }
  bool put_state() {
    if (!stored_.put_gone() || !put_rows() || !numbers_.put()) return false;
    if ((stored_.is_partial() || stored_.wants_room(bytes())) && !leave()) return false;
    if (now_ != kNoTime) stored_.end_until(now_ - 1);
    return true;
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  using Ranked = RankedRow<Kept<Row>>;
  using Rows = std::vector<Ranked>;
  struct Window {
    std::map<std::string, Rows> partitions;
    std::uint64_t bytes = 0;  // About.
  };
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);

  static auto key_of(std::int64_t end, const std::string& partition, std::int64_t number) {
    return [end, &partition, number](std::string& bytes) {
      append_ordered(end, bytes);
      bytes += partition;
      append_ordered(number, bytes);
    };
  }
  // The last watermark that does not end a window.
  static std::int64_t last_of(std::int64_t end) { return end - 2; }
  // Valid until the next call.
  Ranked& add(std::int64_t end, std::string partition, const Row& row, std::int64_t number) {
    constexpr std::uint64_t kOfPartition = 160;  // With the memory that a list sets aside.
    auto& window = windows_[end];
    auto& rows = window.partitions[std::move(partition)];
    if (rows.empty()) window.bytes += kOfPartition;
    window.bytes += sizeof(Ranked) + row.text_bytes();
    auto& ranked = rows.emplace_back();
    ranked.kept = Kept<Row>(row);
    ranked.number = number;
    return ranked;
  }
  template <class Graph>
  void show(Graph& graph, Rows& rows) {
    std::sort(rows.begin(), rows.end(), InRank<Definition>());
    number_rows<Definition>(rows, [&](const Row& row, std::uint64_t number) {
      if (number >= Definition::kFirst && !run_.failed)
        Definition::give(graph, Change::kInsert, row, static_cast<std::int64_t>(number));
    });
    forget_given<Definition>(run_);
  }

  // ---- State ----

  // An entry of a store.
  bool take_row(Text key, Text state, Mark mark) {
    std::int64_t end = 0, number = 0;
    Row row;
    Mark unused;
    if (!take_ordered(key, end) || key.size < 12 || !stored_.take_begin(state, unused) ||
        !row.take(state) || state.size != 0)
      return false;
    const std::size_t partition_bytes = key.size - 8;
    Text last{key.data + partition_bytes, 8};
    if (!take_ordered(last, number)) return false;
    add(end, std::string(key.data, partition_bytes), row, number).mark = mark;
    numbers_.raise_to(next_sequence(number));
    return true;
  }
  bool put_rows() {
    for (auto& [end, window] : windows_) {
      const auto last = last_of(end);
      for (auto& [partition, rows] : window.partitions) {
        for (auto& ranked : rows) {
          if (stored_.keeps() && !ranked.mark.changed) continue;
          if (!stored_.put(ranked.mark, &last, key_of(end, partition, ranked.number),
                           [&](std::string& bytes) { ranked.row().append_exactly(bytes); }))
            return false;
        }
      }
    }
    return true;
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [end, window] : windows_)
      bytes += window.bytes;
    return bytes;
  }
  bool leave() {
    windows_.clear();
    next_stored_ = now_;
    return stored_.leave();
  }
  // The rows of the next window that the store has. They end there by themselves.
  [[gnu::noinline]] bool find_window() {
    const auto take = [this](Text key, Text state, std::uint64_t) {
      return take_row(key, state, {});
    };
    const auto at = next_stored_;
    return stored_.for_each_of_times(at, at, take, next_stored_);
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  StoredNumber<Definition> numbers_;
  std::map<std::int64_t, Window> windows_;  // By end.
  // Windows of the store that have not been shown live so long at least.
  std::int64_t next_stored_ = INT64_MAX;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
