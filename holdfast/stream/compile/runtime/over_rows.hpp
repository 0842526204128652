// over_rows.hpp: aggregates of the rows up to each row, in the order of their times, in a graph.
// What OverRows is to the interpreter (stream/graph/over_operators.hpp): the same rows in the same
// order, and the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode                                 its number
//   kRows, kPreceding                     the frame: so many rows before the current one, or
//                                         milliseconds; negative: all
//   kAsTheyCome                           or nothing: rows do not wait; then kRows, without a time
//   Row, Out                              what comes in, what goes out
//   Key, key(row, run), time(row)         the partition
//   State, add(state, row, run)           the aggregates
//   out(row, state, run)
//   give(graph, change, out)              to those that read it
//
// State  waiting: [time, partition, number] -> row; frames: [partition, time, number] -> row; sums:
//        partition -> State, where the frame has no end; passed: partition -> time of the last row.
//        What waits is in memory. Of a partition that memory does not have, the other tables are
//        fetched when a row of it comes.
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
#include <holdfast/stream/compile/runtime/over_frames.hpp>
#include <holdfast/stream/compile/runtime/pool.hpp>
#include <holdfast/stream/compile/runtime/state_of.hpp>

namespace holdfast::query {

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
                StoredEntries<Definition>(run.host, slice_of(kFrames), Grouping::kFirstPart),
                StoredEntries<Definition>(run.host, slice_of(kSums), Grouping::kFirstPart),
                StoredEntries<Definition>(run.host, slice_of(kPassed), Grouping::kFirstPart,
                                          kEndsByTime ? 0 : run.host.idle_ms())} {}

  template <class Graph>
  void take(Graph& graph, Change, const Row& row) {
    if constexpr (kAsTheyCome)
      take_at_once(graph, row);
    else
      await_time(row);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!times_.empty() && times_.front().time <= watermark && !run_.failed)
      give_time(graph, times_.front().time);
    if constexpr (kEndsByTime) end_partitions(watermark);
    if (gone_.size() >= kMostGone) free_gone();
    now_ = watermark;
    if constexpr (may_store<Definition>()) {
      if (looks_at_stored_) end_stored();
    }
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    for (const auto table : {kFrames, kSums, kPassed})
      stored_[table].become_partial();
    looks_at_stored_ = true;
  }
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
    if (table != kWaiting) partition.value.has_all = true;
    if (table == kSums) return adopt_sums(partition.value, state, mark);
    if (table == kPassed) return adopt_passed(partition, state, mark);
    Row row;
    if (!row.take(state) || state.size != 0) return false;
    auto* const item = make_item(row, time, number);
    item->mark = mark;
    if (table == kWaiting) return wait(partition, item), true;
    partition.value.frame.insert(item);
    frame_bytes_ += bytes_of(item->row);
    if constexpr (kMerges) partition.value.sums.forget();
    return true;
  }
  bool put_state() {
    for (auto& stored : stored_) {
      if (!stored.put_gone()) return false;
    }
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    if (!(stored_[kWaiting].keeps() ? partitions_.for_each_noted(put_entry)
                                    : partitions_.for_each(put_entry)))
      return false;
    looks_at_stored_ = is_partial();
    return !stored_[kFrames].wants_room(bytes()) || leave();
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  enum Table : std::int64_t { kWaiting, kFrames, kSums, kPassed };
  static constexpr bool kAsTheyCome = requires { Definition::kAsTheyCome; };
  static constexpr bool kUnbounded = Definition::kPreceding < 0;
  static constexpr bool kMerges = !kUnbounded && merges_exactly<State>;
  static constexpr bool kEndsByTime = !kUnbounded && !Definition::kRows;
  static constexpr std::int64_t kKept = Definition::kPreceding + Definition::kPreceding / 2 + 1;
  static constexpr std::size_t kMostGone = 1024;
  static constexpr std::size_t kMostEnded = 65'536;  // More wait for the next checkpoint.

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
    bool has_all = false;     // What the store has of it, where memory has not all.
  };
  using Entry = typename KeyedValues<Key, Partition>::Entry;
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
    if (entry.value.waiting.insert(item)) times_.push({item->time, partitions_.number_of(entry)});
  }
  void change(Table table, Entry& entry, Mark& mark) {
    if (stored_[table].change(mark)) partitions_.note(entry);
  }

  // The partition of a row, with what the store has of it. Null: the run has failed.
  Entry* entry_of(const Row& row) {
    const auto key = Definition::key(row, run_);
    if (run_.failed) return nullptr;
    Entry& entry = partitions_.at(key);
    run_.failed = !has_all(entry);
    stored_[kFrames].took_row([this] { return bytes(); });
    return run_.failed ? nullptr : &entry;
  }
  void await_time(const Row& row) {
    const auto time = Definition::time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    if (stored_[kPassed].is_sweep_due()) end_idle();
    if (kUnbounded && time.value <= now_) return drop_late<Definition>(run_, late_rows, row, now_);
    Entry* const entry = entry_of(row);
    if (entry == nullptr) return;
    const auto& passed = entry->value.passed;
    if (passed && time.value <= *passed) return drop_late<Definition>(run_, late_rows, row, now_);
    if (passed && stored_[kPassed].ends()) change(kPassed, *entry, entry->value.passed_mark);
    auto* const item = make_item(row, time.value, next_number_++);
    wait(*entry, item);
    change(kWaiting, *entry, item->mark);
  }
  // Its number in its partition stands for its time.
  template <class Graph>
  void take_at_once(Graph& graph, const Row& row) {
    if (stored_[kPassed].is_sweep_due()) end_idle();
    if constexpr (may_store<Definition>()) {
      if (looks_at_stored_) end_stored();
    }
    Entry* const entry = run_.failed ? nullptr : entry_of(row);
    if (entry == nullptr) return;
    auto& partition = entry->value;
    const auto number = static_cast<std::uint64_t>(partition.passed.value_or(0)) + 1;
    pass_time(*entry, static_cast<std::int64_t>(number));
    if constexpr (kUnbounded) {
      auto& sums = sums_before(*entry);
      Definition::add(sums, row, run_);
      show(graph, row, sums);
    } else {
      keep_last(*entry, make_item(row, *partition.passed, 0));
      show(graph, row, sum_of(partition));
      if (gone_.size() >= kMostGone) free_gone();
    }
  }

  // ---- Rows that have waited ----

  template <class Graph>
  void give_time(Graph& graph, std::int64_t time) {
    ending_.clear();
    while (!times_.empty() && times_.front().time == time) {
      ending_.push_back({0, times_.front().entry});
      times_.pop();
    }
    if (ending_.size() > 1) sort_ending();
    for (const auto& ending : ending_) {
      auto& entry = *partitions_.of_number(ending.entry);
      if (!has_all(entry)) run_.failed = true;
      if (run_.failed) return;
      give(graph, entry, time);
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
    pass_time(entry, time);
    if constexpr (kUnbounded)
      give_all_before(graph, entry);
    else
      give_frames(graph, entry, time);
  }
  void pass_time(Entry& entry, std::int64_t time) {
    auto& partition = entry.value;
    if (!partition.passed) stored_[kPassed].come(partition.passed_mark, key_of(entry.key));
    partition.passed = time;
    change(kPassed, entry, partition.passed_mark);
    if constexpr (kEndsByTime) await_end(entry);
  }
  Sums& sums_before(Entry& entry) {
    auto& mark = entry.value.sums_mark;
    if (!std::exchange(entry.value.has_sums, true)) stored_[kSums].come(mark, key_of(entry.key));
    change(kSums, entry, mark);
    return entry.value.sums;
  }
  // Rows of one time: with RANGE each sees all of them, with ROWS those before it.
  template <class Graph>
  void give_all_before(Graph& graph, Entry& entry) {
    auto& sums = sums_before(entry);
    if constexpr (!Definition::kRows) {
      for (const auto* peer : peers_)
        if (!run_.failed) Definition::add(sums, peer->row, run_);
    }
    for (auto* const peer : peers_) {
      if constexpr (Definition::kRows) Definition::add(sums, peer->row, run_);
      if (run_.failed) return;
      show(graph, peer->row, sums);
      free(peer);
    }
  }
  template <class Graph>
  void give_frames(Graph& graph, Entry& entry, std::int64_t time) {
    auto& partition = entry.value;
    if constexpr (Definition::kRows) {
      for (auto* const peer : peers_) {
        if (run_.failed) return;
        keep_last(entry, peer);
        show(graph, peer->row, sum_of(partition));
      }
    } else {
      for (auto* const peer : peers_)
        keep(entry, peer);
      while (partition.frame.front()->time < time - Definition::kPreceding)
        leave_frame(entry);
      const State sum = sum_of(partition);
      for (const auto* peer : peers_)
        show(graph, peer->row, sum);
    }
  }
  template <class Graph>
  void show(Graph& graph, const Row& row, const State& state) {
    if (run_.failed) return;
    const auto out = Definition::out(row, state, run_);
    if (!run_.failed) Definition::give(graph, Change::kInsert, out);
  }

  // ---- Frames ----

  void keep(Entry& entry, Item* item) {
    auto& partition = entry.value;
    item->number = next_number_++;
    item->mark = Mark();
    if constexpr (kMerges) partition.sums.push(partition.frame, item->row, run_);
    partition.frame.insert(item);
    frame_bytes_ += bytes_of(item->row);
    change(kFrames, entry, item->mark);
  }
  // In a frame of rows.
  void keep_last(Entry& entry, Item* item) {
    keep(entry, item);
    while (entry.value.frame.size() > std::uint64_t{Definition::kPreceding} + 1)
      leave_frame(entry);
  }
  void leave_frame(Entry& entry) {
    auto& partition = entry.value;
    if constexpr (kMerges) partition.sums.pop(partition.frame, run_);
    auto* const item = partition.frame.front();
    stored_[kFrames].erase(item->mark, key_in_frame(entry.key, *item));
    partition.frame.pop();
    frame_bytes_ -= bytes_of(item->row);
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
    ends_.push({*entry.value.passed + kKept, partitions_.number_of(entry)});
  }
  void end_partitions(std::int64_t watermark) {
    while (!ends_.empty() && ends_.front().time <= watermark) {
      const auto number = ends_.front().entry;
      ends_.pop();
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

  // ---- Partitions that memory does not have ----

  bool is_partial() const { return stored_[kPassed].is_partial(); }
  std::uint64_t bytes() const {
    const auto of_each = sizeof(Entry) + stored_[kSums].bytes_of_entry();
    return partitions_.size() * of_each + frame_bytes_;
  }
  // False: the store has failed.
  bool has_all(Entry& entry) {
    if constexpr (may_store<Definition>())
      return !is_partial() || std::exchange(entry.value.has_all, true) || fetch(entry);
    else
      return true;
  }
  [[gnu::noinline]] bool fetch(Entry& entry) {
    const auto take_of = [this](Table table) {
      return [this, table](Text key, Text state, std::uint64_t version) {
        return adopt({slice_of(table), key, state, version, false});
      };
    };
    bool ended = false;
    const auto take_passed = [&](Text key, Text state, std::uint64_t version) {
      if (!has_ended(state, ended)) return false;
      ended = ended && (kEndsByTime || entry.value.waiting.empty());
      return ended || take_of(kPassed)(key, state, version);
    };
    const auto key = key_of(entry.key);
    // Rows that wait are to find what is before them.
    if (!stored_[kPassed].fetch(key, take_passed, false)) return false;
    if (!entry.value.passed) return end_of_store(key);
    return stored_[kFrames].fetch(key, take_of(kFrames)) &&
           stored_[kSums].fetch(key, take_of(kSums));
  }
  // What the store has of a partition goes with the next checkpoint.
  template <class AppendKey>
  bool end_of_store(const AppendKey& key) {
    for (const auto table : {kFrames, kSums, kPassed}) {
      auto& stored = stored_[table];
      const auto take = [&stored](Text bytes, Text, std::uint64_t version) {
        return stored.adopt_gone(bytes, version), true;
      };
      if (!stored.fetch(key, take)) return false;
    }
    return true;
  }
  // Of what a store has of kPassed: whether the partition has. False: it is no such state.
  bool has_ended(Text state, bool& ended) const {
    Mark mark;
    std::int64_t passed = 0;
    if (!stored_[kPassed].take_begin(state, mark) || !take_ordered(state, passed)) return false;
    ended = kEndsByTime ? now_ != kNoTime && passed + kKept <= now_
                        : stored_[kPassed].ends() && stored_[kPassed].is_idle(mark);
    return true;
  }
  // Those with rows that wait stay.
  bool leave() {
    free_gone();
    ends_.clear();
    const bool had_all = !is_partial();
    partitions_.for_each([this, had_all](Entry& entry) {
      auto& partition = entry.value;
      partition.has_all = partition.has_all || had_all;
      partition.awaits_end = false;
      if (!partition.waiting.empty()) {
        if constexpr (kEndsByTime) {
          if (partition.passed) await_end(entry);
        }
        return true;
      }
      for (auto* const item : partition.frame) {
        frame_bytes_ -= bytes_of(item->row);
        memory_.give(item, bytes_of(item->row));
      }
      partitions_.erase(entry);
      return true;
    });
    looks_at_stored_ = true;
    return stored_[kFrames].group() && stored_[kSums].group() && stored_[kPassed].group();
  }
  // Once behind each checkpoint: what has ended of those that memory does not have.
  [[gnu::noinline]] void end_stored() {
    looks_at_stored_ = false;
    if (kEndsByTime && (now_ == kNoTime || now_ == kEndOfTime)) return;
    const auto until = kEndsByTime ? now_ - 1 : stored_[kPassed].oldest_ms();
    if (until == INT64_MIN) return;
    std::vector<std::string> ended;
    const auto take = [&](Text bytes, Text state, std::uint64_t) {
      Text rest = bytes, values;
      Key key;
      bool one_ended = false;
      if (!take_part(rest, values) || !key.take(values) || !has_ended(state, one_ended))
        return false;
      if (one_ended && ended.size() < kMostEnded && partitions_.find(key) == nullptr)
        ended.emplace_back(bytes.data, bytes.size);
      return true;
    };
    std::int64_t beyond = 0;
    bool done = stored_[kPassed].for_each_of_times(INT64_MIN, until, take, beyond);
    for (const auto& key : ended)
      done = done && end_of_store([&key](std::string& bytes) { bytes += key; });
    if (!done) run_.failed = true;
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
    if (!partition.passed || !needs(kPassed, partition.passed_mark)) return true;
    const auto passed = [&](std::string& bytes) { append_ordered(*partition.passed, bytes); };
    if constexpr (!kEndsByTime) return stored_[kPassed].put(partition.passed_mark, key, passed);
    const auto end = *partition.passed + kKept - 1;
    return stored_[kPassed].put(partition.passed_mark, &end, key, passed);
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
  PartitionTimes times_, ends_;  // When its rows wait; when it ends, or later.
  std::vector<Ending> ending_;
  std::vector<Item*> peers_;  // Rows of one time and partition.
  std::vector<Item*> gone_;   // Rows with texts that the sink may not have yet.
  std::string bytes_, more_;
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
  std::uint64_t frame_bytes_ = 0;
  bool looks_at_stored_ = false;  // For what has ended.
};

}  // namespace holdfast::query
