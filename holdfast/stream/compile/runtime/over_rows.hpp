// over_rows.hpp: aggregates of the rows up to each row, in the order of their times, in a graph.
// What OverRows is to the interpreter (stream/graph/over_operators.hpp): the same rows in the same
// order, and the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode                                 its number
//   kRows, kPreceding                     the frame: so many rows before the current one, or
//                                         milliseconds; negative: all
//   Row, Out                              what comes in, what goes out
//   Key, key(row, run), time(row)         the partition
//   State, add(state, row, run)           the aggregates
//   out(row, state, run)
//   give(graph, change, out)              to those that read it
//
// State  waiting: [time, partition, number] -> row; frames: [partition, time, number] -> row; sums:
//        partition -> State, where the frame has no end; passed: partition -> time of the last row.
// Order  By times, then by the partitions' bytes, then as they came.
// Costs  A row that comes takes a move of the waiting rows of its partition that are later, and one
//        that goes out O(log of the times that wait). Its frame takes O(1) where all aggregates are
//        merged exactly; else it is gathered anew, as the interpreter does: O(rows of the frame).
// Ends   A partition with a frame of times, when the watermark is behind its last row by the frame
//        and half as much again: until then rows that are late find the frame. Any other one, when
//        no row of it has come for host.idle_ms().
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/further_aggregates.hpp>
#include <holdfast/stream/compile/runtime/pool.hpp>

namespace holdfast::query {

// A row that waits, or is in a frame. Its texts are behind it.
template <class Row>
struct OverItem {
  Row row;
  std::int64_t time, number;
  Mark mark{};

  bool is_before(const OverItem& other) const {
    return time != other.time ? time < other.time : number < other.number;
  }
};

// Items by time and number, most of which come behind all others and go from the front.
template <class Item>
class ItemQueue {
 public:
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(gone_); }
  auto end() const { return items_.end(); }
  bool empty() const { return gone_ == items_.size(); }
  std::size_t size() const { return items_.size() - gone_; }
  Item* front() const { return items_[gone_]; }

  // Whether no other has its time. Of one time they come in the order of their numbers.
  bool insert(Item* item) {
    auto place = end();
    if (!empty() && item->is_before(*items_.back()))
      place = std::upper_bound(begin(), end(), item,
                               [](const Item* a, const Item* b) { return a->is_before(*b); });
    const bool alone = place == begin() || (*(place - 1))->time != item->time;
    items_.insert(place, item);
    return alone;
  }
  void pop() {
    ++gone_;
    if (gone_ * 2 < items_.size()) return;
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(gone_));
    gone_ = 0;
  }

 private:
  std::vector<Item*> items_;
  std::size_t gone_ = 0;  // In front; no more than half of them, so that pop() is O(1).
};

// What the rows of a frame add up to, of aggregates that are merged exactly. The older rows have
// sums up to a boundary, one for each row that may be the first; the newer ones have one sum.
template <class Definition>
class FrameSums {
  using Row = typename Definition::Row;
  using State = typename Definition::State;
  using Rows = ItemQueue<OverItem<Row>>;

 public:
  // A row comes behind these.
  void push(const Rows& rows, const Row& row, Run& run) {
    if (!known_) move_boundary(rows, run);
    Definition::add(newer_, row, run);
  }
  // The first of these goes.
  void pop(const Rows& rows, Run& run) {
    if (older_.empty()) move_boundary(rows, run);
    older_.pop_back();
  }
  State sum() const {
    if (older_.empty()) return newer_;
    State sum = older_.back();
    sum.merge(newer_);
    return sum;
  }
  // The rows are others: they are looked at before the next one comes.
  void forget() {
    older_.clear();
    newer_ = State();
    known_ = false;
  }

 private:
  // Behind all rows. Each of them is here once.
  [[gnu::noinline]] void move_boundary(const Rows& rows, Run& run) {
    older_.clear();
    older_.reserve(rows.size());
    for (auto item = rows.end(); item != rows.begin();) {
      State sum;
      Definition::add(sum, (*--item)->row, run);
      if (!older_.empty()) sum.merge(older_.back());
      older_.push_back(std::move(sum));
    }
    newer_ = State();
    known_ = true;
  }

  std::vector<State> older_;  // The last one is of all rows before the boundary.
  State newer_;
  bool known_ = true;
};

template <class Definition>
class OverRows {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;
  using State = typename Definition::State;
  using Item = OverItem<Row>;

 public:
  explicit OverRows(Run& run)
      : run_(run),
        stored_{StoredEntries<Definition>(run.host, slice_of(kWaiting)),
                StoredEntries<Definition>(run.host, slice_of(kFrames)),
                StoredEntries<Definition>(run.host, slice_of(kSums)),
                StoredEntries<Definition>(run.host, slice_of(kPassed), {},
                                          kEndsByTime ? 0 : run.host.idle_ms())} {}

  template <class Graph>
  void take(Graph&, Change, const Row& row) {
    const auto time = Definition::time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    if (stored_[kPassed].is_sweep_due()) end_idle();
    if (kUnbounded && time.value <= now_) return static_cast<void>(++late_rows);
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    Entry& entry = partitions_.at(key);
    const auto& passed = entry.value.passed;
    if (passed && time.value <= *passed) return static_cast<void>(++late_rows);
    if (passed && stored_[kPassed].ends()) change(kPassed, entry, entry.value.passed_mark);
    auto* const item = make_item(row, time.value, next_number_++);
    wait(entry, item);
    change(kWaiting, entry, item->mark);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!times_.empty() && times_.front().time <= watermark && !run_.failed)
      give_time(graph, times_.front().time);
    if constexpr (kEndsByTime) end_partitions(watermark);
    if (gone_.size() >= kMostGone) free_gone();
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  bool adopt(const GraphEntry& entry) {
    const auto table = entry.slice - slice_of(kWaiting);
    if (table < kWaiting || table > kPassed) return false;
    auto& stored = stored_[table];
    Text rest = entry.key, values, state = entry.state;
    Mark mark{entry.version, entry.changed};
    Key key;
    std::int64_t time = 0, number = 0;
    if ((table == kWaiting && !take_ordered(rest, time)) || !take_part(rest, values) ||
        !key.take(values) || (table == kFrames && !take_ordered(rest, time)) ||
        (table <= kFrames && !take_ordered(rest, number)) || rest.size != 0)
      return false;
    // Also of one that is gone: of a key a checkpoint has one entry.
    if (table <= kFrames) next_number_ = std::max(next_number_, number + 1);
    if (state.size == 0) return stored.adopt_gone(entry.key, entry.version), true;
    if (!stored.take_begin(state, mark)) return false;
    Entry& partition = partitions_.at(key);
    if (entry.changed) partitions_.note(partition);
    if (table == kSums) return adopt_sums(partition.value, state, mark);
    if (table == kPassed) return adopt_passed(partition, state, mark);
    Row row;
    if (!row.take(state) || state.size != 0) return false;
    auto* const item = make_item(row, time, number);
    item->mark = mark;
    if (table == kWaiting) return wait(partition, item), true;
    partition.value.frame.insert(item);
    if constexpr (kMerges) partition.value.sums.forget();
    return true;
  }
  bool put_state() {
    for (auto& stored : stored_) {
      if (!stored.put_gone()) return false;
    }
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    return stored_[kWaiting].keeps() ? partitions_.for_each_noted(put_entry)
                                     : partitions_.for_each(put_entry);
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  enum Table : std::int64_t { kWaiting, kFrames, kSums, kPassed };
  static constexpr bool kUnbounded = Definition::kPreceding < 0;
  static constexpr bool kMerges = !kUnbounded && merges_exactly<State>;
  static constexpr bool kEndsByTime = !kUnbounded && !Definition::kRows;
  static constexpr std::int64_t kKept = Definition::kPreceding + Definition::kPreceding / 2 + 1;
  static constexpr std::size_t kMostGone = 1024;

  struct Nothing {};
  using Sums = std::conditional_t<kUnbounded, State,
                                  std::conditional_t<kMerges, FrameSums<Definition>, Nothing>>;
  struct Partition {
    ItemQueue<Item> waiting, frame;
    [[no_unique_address]] Sums sums;
    std::optional<std::int64_t> passed;  // Of the last row that has not waited any more.
    Mark sums_mark{}, passed_mark{};
    bool has_sums = false;
    bool awaits_end = false;  // It is among `ends_`.
  };
  using Entry = typename KeyedValues<Key, Partition>::Entry;
  // A time of a partition: a heap of these has the earliest in front.
  struct Time {
    std::int64_t time;
    std::uint32_t entry;  // Its number.
    bool operator<(const Time& other) const { return time > other.time; }
  };
  static void push(std::vector<Time>& heap, const Time& time) {
    heap.push_back(time);
    std::push_heap(heap.begin(), heap.end());
  }
  static void pop(std::vector<Time>& heap) {
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  }
  // A partition, and the first bytes of its part of a key.
  struct Ending {
    Uint128 head;
    std::uint32_t entry;
  };

  static constexpr std::int64_t slice_of(Table table) {
    return first_slice(Definition::kNode) + table;
  }
  Item* make_item(const Row& row, std::int64_t time, std::int64_t number) {
    auto* const item = new (memory_.take(bytes_of(row))) Item{row, time, number};
    item->row.move_texts(reinterpret_cast<char*>(item + 1));
    return item;
  }
  static std::size_t bytes_of(const Row& row) { return sizeof(Item) + row.text_bytes(); }
  void free(Item* item) {
    if constexpr (Row::kTexts)
      gone_.push_back(item);  // It may have been written.
    else
      memory_.give(item, bytes_of(item->row));
  }
  void free_gone() {
    run_.flush();
    for (auto* const item : gone_)
      memory_.give(item, bytes_of(item->row));
    gone_.clear();
  }
  void wait(Entry& entry, Item* item) {
    if (entry.value.waiting.insert(item)) push(times_, {item->time, partitions_.number_of(entry)});
  }
  void change(Table table, Entry& entry, Mark& mark) {
    if (stored_[table].change(mark)) partitions_.note(entry);
  }

  // ---- Rows that have waited ----

  template <class Graph>
  void give_time(Graph& graph, std::int64_t time) {
    ending_.clear();
    while (!times_.empty() && times_.front().time == time) {
      ending_.push_back({0, times_.front().entry});
      pop(times_);
    }
    if (ending_.size() > 1) sort_ending();
    for (const auto& ending : ending_) {
      if (run_.failed) return;
      give(graph, *partitions_.of_number(ending.entry), time);
      forget_given<Definition>(run_);
    }
  }
  // By the bytes of their parts of keys.
  void sort_ending() {
    const auto append = [this](const Ending& ending, std::string& bytes) {
      bytes.clear();
      append_key_part(partitions_.of_number(ending.entry)->key, bytes);
    };
    for (auto& ending : ending_) {
      append(ending, bytes_);
      std::uint64_t words[2] = {};
      std::memcpy(words, bytes_.data(), std::min(bytes_.size(), sizeof words));
      ending.head =
          static_cast<Uint128>(__builtin_bswap64(words[0])) << 64 | __builtin_bswap64(words[1]);
    }
    std::sort(ending_.begin(), ending_.end(), [&](const Ending& a, const Ending& b) {
      if (a.head != b.head) return a.head < b.head;
      append(a, bytes_), append(b, more_);
      return bytes_ < more_;
    });
  }
  template <class Graph>
  void give(Graph& graph, Entry& entry, std::int64_t time) {
    auto& waiting = entry.value.waiting;
    peers_.clear();
    for (; !waiting.empty() && waiting.front()->time == time; waiting.pop()) {
      auto* const item = waiting.front();
      stored_[kWaiting].erase(item->mark, key_of_waiting(entry.key, *item));
      peers_.push_back(item);
    }
    const auto key = key_of(entry.key);
    if (!entry.value.passed) stored_[kPassed].come(entry.value.passed_mark, key);
    entry.value.passed = time;
    change(kPassed, entry, entry.value.passed_mark);
    if constexpr (kEndsByTime) await_end(entry);
    if constexpr (kUnbounded)
      give_all_before(graph, entry);
    else
      give_frames(graph, entry, time);
  }
  // Rows of one time: with RANGE each sees all of them, with ROWS those before it.
  template <class Graph>
  void give_all_before(Graph& graph, Entry& entry) {
    auto& sums = entry.value.sums;
    const auto key = key_of(entry.key);
    if (!std::exchange(entry.value.has_sums, true)) stored_[kSums].come(entry.value.sums_mark, key);
    change(kSums, entry, entry.value.sums_mark);
    if constexpr (!Definition::kRows) {
      for (const auto* peer : peers_)
        if (!run_.failed) Definition::add(sums, peer->row, run_);
    }
    for (auto* const peer : peers_) {
      if constexpr (Definition::kRows) Definition::add(sums, peer->row, run_);
      if (run_.failed) return;
      show(graph, *peer, sums);
      free(peer);
    }
  }
  template <class Graph>
  void give_frames(Graph& graph, Entry& entry, std::int64_t time) {
    auto& partition = entry.value;
    if constexpr (Definition::kRows) {
      for (auto* const peer : peers_) {
        if (run_.failed) return;
        keep(entry, peer);
        while (partition.frame.size() > std::uint64_t{Definition::kPreceding} + 1)
          leave_frame(entry);
        show(graph, *peer, sum_of(partition));
      }
    } else {
      for (auto* const peer : peers_)
        keep(entry, peer);
      while (partition.frame.front()->time < time - Definition::kPreceding)
        leave_frame(entry);
      const State sum = sum_of(partition);
      for (const auto* peer : peers_)
        show(graph, *peer, sum);
    }
  }
  template <class Graph>
  void show(Graph& graph, const Item& item, const State& state) {
    if (run_.failed) return;
    const auto out = Definition::out(item.row, state, run_);
    if (!run_.failed) Definition::give(graph, Change::kInsert, out);
  }

  // ---- Frames ----

  void keep(Entry& entry, Item* item) {
    auto& partition = entry.value;
    item->number = next_number_++;
    item->mark = Mark();
    if constexpr (kMerges) partition.sums.push(partition.frame, item->row, run_);
    partition.frame.insert(item);
    change(kFrames, entry, item->mark);
  }
  void leave_frame(Entry& entry) {
    auto& partition = entry.value;
    if constexpr (kMerges) partition.sums.pop(partition.frame, run_);
    auto* const item = partition.frame.front();
    stored_[kFrames].erase(item->mark, key_in_frame(entry.key, *item));
    partition.frame.pop();
    free(item);
  }
  State sum_of(const Partition& partition) {
    if constexpr (kMerges) {
      return partition.sums.sum();
    } else {
      State sum;
      for (const auto* item : partition.frame)
        if (!run_.failed) Definition::add(sum, item->row, run_);
      return sum;
    }
  }

  // ---- Partitions that end ----

  // Behind its last row.
  void await_end(Entry& entry) {
    if (std::exchange(entry.value.awaits_end, true)) return;
    push(ends_, {*entry.value.passed + kKept, partitions_.number_of(entry)});
  }
  void end_partitions(std::int64_t watermark) {
    while (!ends_.empty() && ends_.front().time <= watermark) {
      const auto number = ends_.front().entry;
      pop(ends_);
      auto& entry = *partitions_.of_number(number);
      entry.value.awaits_end = false;
      if (*entry.value.passed + kKept > watermark)
        await_end(entry);  // Rows have come since.
      else
        forget(entry);
    }
  }
  [[gnu::noinline]] void end_idle() {
    partitions_.for_each([this](Entry& entry) {
      const auto& partition = entry.value;
      if (partition.waiting.empty() && partition.passed &&
          stored_[kPassed].is_idle(partition.passed_mark))
        forget(entry);
      return true;
    });
  }
  // All but what waits.
  void forget(Entry& entry) {
    auto& partition = entry.value;
    while (!partition.frame.empty())
      leave_frame(entry);
    const auto key = key_of(entry.key);
    if (partition.has_sums) stored_[kSums].erase(partition.sums_mark, key);
    if (partition.passed) stored_[kPassed].erase(partition.passed_mark, key);
    if (partition.waiting.empty()) return partitions_.erase(entry);
    partition.sums = {};
    partition.passed.reset();
    partition.sums_mark = partition.passed_mark = {};
    partition.has_sums = false;
  }

  // ---- State ----

  static auto key_of(const Key& key) {
    return [&](std::string& bytes) { append_key_part(key, bytes); };
  }
  static auto key_of_waiting(const Key& key, const Item& item) {
    return [&](std::string& bytes) {
      append_ordered(item.time, bytes);
      append_key_part(key, bytes);
      append_ordered(item.number, bytes);
    };
  }
  static auto key_in_frame(const Key& key, const Item& item) {
    return [&](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(item.time, bytes);
      append_ordered(item.number, bytes);
    };
  }
  static bool adopt_sums(Partition& partition, Text state, const Mark& mark) {
    partition.sums_mark = mark;
    partition.has_sums = true;
    if constexpr (kUnbounded)
      return partition.sums.take(state);
    else
      return false;
  }
  bool adopt_passed(Entry& entry, Text state, const Mark& mark) {
    entry.value.passed_mark = mark;
    if (!take_ordered(state, entry.value.passed.emplace()) || state.size != 0) return false;
    if constexpr (kEndsByTime) await_end(entry);
    return true;
  }
  // Whether the next checkpoint needs it.
  bool needs(Table table, const Mark& mark) const {
    return !stored_[table].keeps() || mark.changed;
  }
  bool put(Entry& entry) {
    auto& partition = entry.value;
    for (auto* const item : partition.waiting)
      if (!put_item(kWaiting, *item, key_of_waiting(entry.key, *item))) return false;
    for (auto* const item : partition.frame)
      if (!put_item(kFrames, *item, key_in_frame(entry.key, *item))) return false;
    const auto key = key_of(entry.key);
    if constexpr (kUnbounded) {
      const auto sums = [&](std::string& bytes) { partition.sums.append(bytes); };
      if (partition.has_sums && needs(kSums, partition.sums_mark) &&
          !stored_[kSums].put(partition.sums_mark, key, sums))
        return false;
    }
    const auto passed = [&](std::string& bytes) { append_ordered(*partition.passed, bytes); };
    return !partition.passed || !needs(kPassed, partition.passed_mark) ||
           stored_[kPassed].put(partition.passed_mark, key, passed);
  }
  template <class AppendKey>
  bool put_item(Table table, Item& item, const AppendKey& key) {
    return !needs(table, item.mark) || stored_[table].put(item.mark, key, [&](std::string& bytes) {
      item.row.append_exactly(bytes);
    });
  }

  Run& run_;
  StoredEntries<Definition> stored_[4];  // By table.
  Pool memory_;                          // Of the rows.
  KeyedValues<Key, Partition> partitions_;
  std::vector<Time> times_;  // At which rows of a partition wait.
  std::vector<Time> ends_;   // When a partition ends, or later.
  std::vector<Ending> ending_;
  std::vector<Item*> peers_;  // Rows of one time and partition.
  std::vector<Item*> gone_;   // Rows with texts that the sink may not have yet.
  std::string bytes_, more_;
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
