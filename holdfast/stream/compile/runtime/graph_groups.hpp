// graph_groups.hpp: groups of rows in a graph: of windows by slices, of windows that rows bring
// along, and those that change with each row. What stream/graph/group_operators.cpp is to the
// interpreter.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode                                 its number
//   Row, Out                              what comes in, what goes out
//   Key, key(row, run)
//   State, add(state, row, run), take_back(state, row, run)
//   out(key, state, run)                  the row of a group; with the window's end behind it if
//   out(key, state, start, end, run)      there is one
//   give(graph, change, out)              to those that read it
//   time(row), kSizeMs, kSlideMs, kOffsetMs       by slices; and kCumulates (slices.hpp)
//   start(row), end(row)                          by columns
//   kRetracts                                     rows may be taken back
//   kIsRemembered                                 rows of a join may know their group; else it is
//                                                 not there
#pragma once

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/group_windows.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class SliceGroups {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit SliceGroups(Run& run) : run_(run), slices_(run, first_slice(Definition::kNode)) {}

  template <class Graph>
  void take(Graph&, Change, const Row& row) {
    const auto time = Definition::time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    if (!slices_.find(time.value))
      return drop_late<Definition>(run_, late_rows, row, slices_.watermark());
    const auto key = Definition::key(row, run_);
    if (!run_.failed) Definition::add(slices_.current()->change(key, key.hash()), row, run_);
    slices_.took(1);
  }
  // Whether the window of this time, which is open, has a better extreme by now than `value`. A
  // time that is also the end of a window: false. Of windows that do not overlap.
  template <std::size_t kAggregate, class T>
  bool surpasses_at(const Maybe<std::int64_t>& time, const Key& key, const Maybe<T>& value) const {
    if (!time.known || slices_.current() == nullptr) return false;
    const auto begin = slices_.current_begin();
    if (!slices_.is_in(begin, time.value) || time.value == begin) return false;
    return surpasses<kAggregate>(key, value);
  }
  // The same of a window.
  template <std::size_t kAggregate, class T>
  bool surpasses_in(const Maybe<std::int64_t>& start, const Maybe<std::int64_t>& end,
                    const Key& key, const Maybe<T>& value) const {
    if (!start.known || !end.known || slices_.current() == nullptr) return false;
    if (start.value != slices_.current_begin() || end.value - start.value != Definition::kSizeMs)
      return false;
    return surpasses<kAggregate>(key, value);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    const auto emit = [&](const auto& key, const auto& state, std::int64_t end) {
      const auto row = Definition::out(key, state, slices_.start_of(end), end, run_);
      if (!run_.failed) Definition::give(graph, Change::kInsert, row);
      forget_given<Definition>(run_);
    };
    slices_.advance(watermark, [&](std::int64_t end) {
      slices_.fire(end, emit);
      if constexpr (Definition::Out::kTexts) run_.flush();  // Its slices may go.
    });
  }
  void set_watermark(std::int64_t watermark) { slices_.set_watermark(watermark); }
  void adopt_stored(std::int64_t slice) { slices_.adopt_stored(slice); }
  bool adopt(const GraphEntry& entry) {
    return slices_.adopt_entry(entry.slice - first_slice(Definition::kNode), entry.key,
                               entry.state);
  }
  bool put_state() { return slices_.put_state(run_.host.keeps_entries()); }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  // In the slice of the last row.
  template <std::size_t kAggregate, class T>
  bool surpasses(const Key& key, const Maybe<T>& value) const {
    const auto* const state = slices_.current()->find(key, key.hash());
    return state != nullptr && state->template get<kAggregate>().surpasses(value);
  }

  Run& run_;
  Slices<Definition> slices_;
};

// State  [end, start, keys] -> accumulators.
template <class Definition>
class WindowGroups {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit WindowGroups(Run& run) : run_(run), windows_(run) {}

  template <class Graph>
  void take(Graph&, Change, const Row& row) {
    const auto start = Definition::start(row), end = Definition::end(row);
    if (!start.known || !end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 <= now_) return drop_late<Definition>(run_, late_rows, row, now_);
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    const Bounds bounds{end.value, start.value};
    const auto hash = key.hash();
    auto& groups = windows_.of_row(bounds, key, hash);
    if (run_.failed) return;
    const auto before = groups.entries().size();
    auto& group = groups.at(key, hash);
    if (groups.entries().size() != before) windows_.come(bounds, key, group);
    windows_.change(group);
    Definition::add(group.state, row, run_);
  }
  // Whether this window, which is open, has a better extreme by now than `value`, as far as memory
  // knows.
  template <std::size_t kAggregate, class T>
  bool surpasses_in(const Maybe<std::int64_t>& start, const Maybe<std::int64_t>& end,
                    const Key& key, const Maybe<T>& value) const {
    if (!start.known || !end.known) return false;
    const auto* const groups = windows_.newest({end.value, start.value});
    if (groups == nullptr) return false;
    const auto* const group = groups->find(key, key.hash());
    return group != nullptr && group->state.template get<kAggregate>().surpasses(value);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto next = windows_.lives_until(windows_.all().first());
      if (std::min(next, windows_.next_stored()) >= watermark) break;
      if (windows_.next_stored() <= next)
        windows_.find_stored();
      else
        show_first(graph);
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) { windows_.adopt_stored(now_); }
  bool adopt(const GraphEntry& entry) { return windows_.adopt(entry); }
  bool put_state() { return windows_.put_state(now_); }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  struct Group {
    typename Definition::State state;
    Mark mark;

    static bool is_there() { return true; }
    void append(std::string& bytes) const { state.append(bytes); }
    bool take(Text bytes) { return state.take(bytes); }
  };
  using Windows = GroupWindows<Definition, Group>;

  template <class Graph>
  void show_first(Graph& graph) {
    const auto& window = windows_.take_first();
    const auto [end, start] = window.bounds;
    visit_in_order(window.value, places_, [&, end = end, start = start](const auto& entry) {
      windows_.erase(window.bounds, entry.key, entry.state);
      const auto row = Definition::out(entry.key, entry.state.state, start, end, run_);
      if (!run_.failed) Definition::give(graph, Change::kInsert, row);
      forget_given<Definition>(run_);
      return !run_.failed;
    });
    if constexpr (Definition::Out::kTexts) run_.flush();  // They go with the window.
    windows_.drop_taken();
  }

  Run& run_;
  Windows windows_;
  std::int64_t now_ = kNoTime;  // The watermark.
  Places places_;
};

// Groups are fetched when a row of them comes, with all of their values.
//
// State  keys -> how many rows, aggregates; and the values that aggregates hold, in parts
//        (value_parts.hpp), where they are many and the store keeps what it was given.
// Memory A group that is used must fit. One that is larger than what the operator may have leaves
//        memory with each checkpoint, and asks for none before its time.
template <class Definition>
class RunningGroups {
  using Row = typename Definition::Row;
  using Out = typename Definition::Out;
  using Key = typename Definition::Key;
  using State = typename Definition::State;

 public:
  explicit RunningGroups(Run& run)
      : run_(run),
        stored_(run.host, kSlice, Grouping::kKey, run.host.idle_ms()),
        parts_(run.host, kParts, Grouping::kFirstPart) {}

  template <class Graph>
  void take(Graph& graph, Change change, const Row& row) {
    if (stored_.is_sweep_due()) end_idle();
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    auto* known = find(key);
    if (run_.failed) return;
    stored_.took_row([this] { return bytes() - std::min(largest_bytes_, held_bytes_); });
    if (known == nullptr) {
      if (!adds(change)) return;  // Of a row that was late, and was never seen.
      known = &groups_.at(key, key.hash());
      stored_.come(known->value.mark, [&](std::string& bytes) { key.append(bytes); });
      note(*known);
      gather(*known, true, row);
      return show(graph, Change::kInsert, known->key, known->value.state);
    }
    if constexpr (decltype(State::all)::kCount == 0 && !Definition::kRetracts) {
      if (stored_.ends()) note(*known);
      return;
    }
    const Kept<Out> before(Definition::out(known->key, known->value.state, run_));
    if (run_.failed) return;
    note(*known);
    gather(*known, adds(change), row);
    if (run_.failed) return;
    if (known->value.rows == 0) {
      erase_stored(*known);
      const auto row_before = before.row();
      erase(*known);
      return Definition::give(graph, Change::kDelete, row_before);
    }
    const Out after = Definition::out(known->key, known->value.state, run_);
    if (run_.failed || Out::equal(before.row(), after)) return;
    Definition::give(graph, Change::kUpdateBefore, before.row());
    if (!run_.failed) Definition::give(graph, Change::kUpdateAfter, after);
  }
  // Without keys there is a group even where there was no row.
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    if constexpr (std::is_same_v<Key, KeyOf<>>) {
      if (watermark != kEndOfTime || groups_.size() != 0) return;
      if (stored_.is_partial() && fetch(Key(), Key().hash()) != nullptr) return;
      show(graph, Change::kInsert, Key(), State());
    }
  }
  void set_watermark(std::int64_t) {}
  void adopt_stored(std::int64_t) {
    stored_.become_partial();
    parts_.become_partial();
  }
  bool adopt(const GraphEntry& entry) {
    auto& stored = entry.slice == kSlice ? stored_ : parts_;
    if (entry.state.size == 0) return stored.adopt_gone(entry.key, entry.version), true;
    auto* const known = entry.slice == kSlice ? take_entry(entry) : nullptr;
    if (known == nullptr || !end_taking(*known)) return false;
    if (entry.changed) groups_.note(*known);
    return true;
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    if (!(stored_.keeps() ? groups_.for_each_noted(put_entry) : groups_.for_each(put_entry)))
      return false;
    if (!parts_.put_gone()) return false;  // Those that were written anew are among them.
    largest_bytes_ = 0;
    if (!stored_.wants_room(bytes())) return true;
    groups_ = {};
    held_bytes_ = 0;
    return (!State::kHoldsValues || parts_.group()) &&
           stored_.leave(State::kHoldsValues ? kParts : kNoSlice);
  }

  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode), kParts = kSlice + 1;
  struct Group {
    std::int64_t rows = 0;
    State state;
    [[no_unique_address]] MarkOf<Definition> mark;
  };
  using Entry = typename KeyedValues<Key, Group>::Entry;

  // Groups that no row has changed for long end. What was shown of them stays so.
  [[gnu::noinline]] void end_idle() {
    groups_.for_each([this](Entry& entry) {
      if (!stored_.is_idle(entry.value.mark)) return true;
      erase_stored(entry);
      erase(entry);
      return true;
    });
  }
  void erase(Entry& entry) {
    if constexpr (State::kHoldsValues) {
      if (stored_.is_bounded()) held_bytes_ -= entry.value.state.held_bytes();
    }
    groups_.erase(entry);
  }
  // None: null.
  Entry* find(const Key& key) {
    if constexpr (requires { Definition::kIsRemembered; }) {
      auto* const number = run_.group;
      auto* known = number == nullptr ? nullptr : groups_.of_number(*number, key);
      if (known != nullptr) return known;
      known = search(key);
      if (known != nullptr && number != nullptr) *number = groups_.number_of(*known);
      return known;
    } else {
      return search(key);
    }
  }
  Entry* search(const Key& key) {
    const auto hash = key.hash();
    auto* const known = groups_.find(key, hash);
    return known == nullptr && stored_.is_partial() ? fetch(key, hash) : known;
  }
  // A group that memory may not have. None: null.
  [[gnu::noinline]] Entry* fetch(const Key& key, std::uint64_t hash) {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return take_entry({kSlice, bytes, state, version, false}) != nullptr;
    };
    run_.failed = !stored_.fetch([&](std::string& bytes) { key.append(bytes); }, take);
    auto* const known = groups_.find(key, hash);
    if constexpr (State::kHoldsValues) {
      // Of a group that has ended they go.
      const bool wants_parts = known == nullptr ? stored_.ends() : known->value.state.has_parts();
      if (!run_.failed && wants_parts) run_.failed = !fetch_parts(key, known);
    }
    if (run_.failed || known == nullptr) return nullptr;
    if (end_taking(*known)) return known;
    run_.host.refuse_entry();
    run_.failed = true;
    return nullptr;
  }
  bool fetch_parts(const Key& key, Entry* known) {
    const auto take = [&](Text bytes, Text part, std::uint64_t version) {
      if (known == nullptr) return parts_.adopt_gone(bytes, version), true;
      Text rest = bytes, group;
      std::int64_t aggregate = 0, number = 0;
      Mark unused;
      return take_part(rest, group) && take_ordered(rest, aggregate) &&
             take_ordered(rest, number) && rest.size == 0 && parts_.take_begin(part, unused) &&
             known->value.state.take_part(aggregate, number, part, version);
    };
    return parts_.fetch([&](std::string& bytes) { append_key_part(key, bytes); }, take);
  }
  // None of this query: null. Behind the last of its parts follows end_taking().
  Entry* take_entry(const GraphEntry& entry) {
    Text state = entry.state;
    Key key;
    if (!key.take(entry.key)) return nullptr;
    auto& known = groups_.at(key);
    known.value.mark = {entry.version, entry.changed};
    const bool taken = stored_.take_begin(state, known.value.mark) &&
                       take_ordered(state, known.value.rows) && known.value.rows >= 0 &&
                       known.value.state.take_first(state);
    return taken ? &known : nullptr;
  }
  bool end_taking(Entry& known) {
    if constexpr (State::kHoldsValues) {
      if (!known.value.state.end_taking()) return false;
      if (stored_.is_bounded()) hold(0, known.value.state.held_bytes());
    }
    return true;
  }
  std::uint64_t bytes() const {
    return groups_.bytes() + groups_.size() * stored_.bytes_of_entry() + held_bytes_;
  }
  // What happens to the values of a group shows in the memory that they take.
  template <class Act>
  void holding(Entry& entry, const Act& act) {
    if constexpr (State::kHoldsValues) {
      if (!stored_.is_bounded()) return act();
      const auto before = entry.value.state.held_bytes();
      act();
      hold(before, entry.value.state.held_bytes());
    } else {
      act();
    }
  }
  void hold(std::uint64_t before, std::uint64_t now) {
    held_bytes_ += now - before;
    largest_bytes_ = std::max(largest_bytes_, now);
  }
  void note(Entry& entry) {
    if (stored_.change(entry.value.mark)) groups_.note(entry);
  }
  void gather(Entry& entry, bool adding, const Row& row) {
    entry.value.rows += adding ? 1 : -1;
    holding(entry, [&] {
      if constexpr (Definition::kRetracts) {
        if (!adding) return Definition::take_back(entry.value.state, row, run_);
      }
      Definition::add(entry.value.state, row, run_);
    });
  }
  template <class Graph>
  void show(Graph& graph, Change change, const Key& key, const State& state) {
    if (run_.failed) return;
    const auto row = Definition::out(key, state, run_);
    if (!run_.failed) Definition::give(graph, change, row);
  }
  static auto key_of_part(const Key& key, std::int64_t aggregate, std::int64_t number) {
    return [&key, aggregate, number](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(aggregate, bytes);
      append_ordered(number, bytes);
    };
  }
  void erase_stored(Entry& entry) {
    if constexpr (may_store<Definition>()) {
      stored_.erase(entry.value.mark, [&](std::string& bytes) { entry.key.append(bytes); });
      entry.value.state.for_each_of_values([&](std::int64_t aggregate, const HasParts& values) {
        values.for_each_part([&](std::int64_t number, const Mark& mark) {
          parts_.erase(mark, key_of_part(entry.key, aggregate, number));
        });
        return true;
      });
    }
  }
  bool put_parts(Entry& entry) {
    return entry.value.state.for_each_of_values([&](std::int64_t aggregate, auto& values) {
      const auto put = [&](std::int64_t number, Text part, Mark& mark) {
        const auto key = key_of_part(entry.key, aggregate, number);
        if (mark.version == 0) parts_.come(mark, key);
        return parts_.put(mark, key,
                          [&](std::string& bytes) { bytes.append(part.data, part.size); });
      };
      return values.put_values(put, [&](std::int64_t number, const Mark& mark) {
        parts_.erase(mark, key_of_part(entry.key, aggregate, number));
      });
    });
  }
  bool put(Entry& entry) {
    bool parts = true;
    if (stored_.keeps()) holding(entry, [&] { parts = put_parts(entry); });
    return parts && stored_.put(
                        entry.value.mark, [&](std::string& bytes) { entry.key.append(bytes); },
                        [&](std::string& bytes) {
                          append_ordered(entry.value.rows, bytes);
                          entry.value.state.append(bytes);
                        });
  }

  Run& run_;
  StoredEntries<Definition> stored_, parts_;
  KeyedValues<Key, Group> groups_;
  // Where the operator may have so much memory only: what the values of groups take, and those of
  // the largest group that changed since the last checkpoint.
  std::uint64_t held_bytes_ = 0, largest_bytes_ = 0;
};

}  // namespace holdfast::query
