// slices.hpp: groups by slices of time. A slice is as long as the windows' slide. A row is in one
// of them, whatever the number of its windows; a window that ends merges its slices. A query
// without windows has one slice, which ends with the input.
//
// A store that takes blocks has all of a slice that a checkpoint needs, and memory has it, too, as
// far as there is room: each checkpoint writes the groups that changed, with what they are now, and
// a window that ends is read from memory. What memory has forgotten, or a run before this one has
// written, is read from the store and merged. What leaves memory is written whole, in the order of
// its keys: so a window may have more groups than memory has room for (sorted_runs.hpp). Where
// there is no room before the time of the next checkpoint, one is asked for.
//
// A `Definition` has Key, State, kWindowed, kSizeMs, kSlideMs and kOffsetMs, as of groups.hpp; and
// kCumulates, true, where windows grow by a slide until they are of kSizeMs, and begin anew.
#pragma once

#include <map>
#include <set>
#include <utility>

#include <holdfast/stream/compile/runtime/further_aggregates.hpp>
#include <holdfast/stream/compile/runtime/slice_table.hpp>
#include <holdfast/stream/compile/runtime/sorted_runs.hpp>
#include <holdfast/stream/compile/runtime/state_of.hpp>
#include <holdfast/stream/compile/runtime/user_functions.hpp>

namespace holdfast::query {

template <class Definition>
class Slices {
 public:
  using Key = typename Definition::Key;
  using State = typename Definition::State;
  using Slice = SliceTable<Key, State>;
  using Map = std::map<std::int64_t, Slice>;
  using Runs = SortedRuns<Key, State>;

  // `offset`: what a slice is called in the store is moved by it.
  explicit Slices(Run& run, std::int64_t offset = 0)
      : run_(run), offset_(offset), tracks_(run.host.takes_blocks(memory_bytes_)) {}

  std::int64_t watermark() const { return watermark_; }
  void set_watermark(std::int64_t watermark) { watermark_ = watermark; }
  // Slices of the store, and entries, of one that has ended here.
  [[gnu::cold, gnu::noinline]] void adopt_stored(std::int64_t slice) {
    stored_.insert(slice);
    next_end_ = std::min(next_end_, first_open_end(slice));
  }
  [[gnu::cold]] bool adopt_entry(std::int64_t slice, Text key, Text state) {
    Slice& groups = slice_at(slice);
    next_end_ = std::min(next_end_, first_open_end(slice));
    return take_entry(groups, key, state);
  }

  // The slice of the last row; null: it has gone, or there was none.
  Slice* current() const { return current_; }
  std::int64_t current_begin() const { return current_begin_; }
  static bool is_in(std::int64_t slice_begin, std::int64_t time) {
    const auto since = static_cast<std::uint64_t>(time - slice_begin);
    return since < static_cast<std::uint64_t>(Definition::kSlideMs);
  }
  // The slice of this time becomes the current one. False: it is late for all its windows.
  [[gnu::always_inline]] bool find(std::int64_t time) {
    return (is_in(current_begin_, time) && current_ != nullptr) || find_slice_of(time);
  }
  // No window ends when the watermark comes here.
  bool is_quiet(std::int64_t watermark) const {
    return next_end_ == kEndOfTime || next_end_ - 1 > watermark;
  }
  // Called after rows were taken. Asks for a checkpoint where slices have more than memory may
  // have.
  void took(std::uint64_t rows) {
    rows_ += rows;
    if (rows_ >= look_at_) [[unlikely]]
      look_at_room();
  }
  // Where the window begins that ends there.
  static std::int64_t start_of(std::int64_t end) {
    if constexpr (kCumulates)
      return floor_divide(end - 1 - Definition::kOffsetMs, Definition::kSizeMs) *
                 Definition::kSizeMs +
             Definition::kOffsetMs;
    else
      return end - Definition::kSizeMs;
  }
  // For a query without windows.
  void find_only() {
    if (current_ == nullptr) current_ = &slice_at(kEndOfTime);
  }

  // Ends the windows that `watermark` has passed: end_window(end), which fires it or takes its
  // slices.
  template <class EndWindow>
  void advance(std::int64_t watermark, const EndWindow& end_window) {
    if constexpr (Definition::kWindowed) {
      if (!is_quiet(watermark)) [[unlikely]]
        end_windows(watermark, end_window);
    }
    watermark_ = watermark;
  }
  // For a query without windows. If it has no key, there is a group even where there was no row.
  template <class Emit>
  void end(const Emit& emit) {
    if constexpr (std::is_same_v<Key, KeyOf<>>) slice_at(kEndOfTime).at(Key(), Key().hash());
    fire(kEndOfTime, emit);
    run_.flush();  // The texts of what was shown are in the slice.
    drop(kEndOfTime);
    watermark_ = kEndOfTime;
  }

  // `kept`: what is put need not be put again.
  bool put_state([[maybe_unused]] bool kept) {
    if constexpr (kStored)
      return tracks_ ? put_blocks() : put_entries(kept);
    else
      return true;
  }

  // The groups of a window: emit(key, state, window_end).
  template <class Emit>
  void fire(std::int64_t end, const Emit& emit) {
    std::set<std::int64_t> ending;
    const auto first = Definition::kWindowed ? start_of(end) + Definition::kSlideMs : end;
    ending.insert(stored_.lower_bound(first), stored_.upper_bound(end));
    for (auto it = slices_.lower_bound(first); it != slices_.end() && it->first <= end; ++it)
      ending.insert(it->first);
    if (ending.size() == 1 && stored_.count(*ending.begin()) == 0) {
      show(slices_.at(*ending.begin()), end, emit);
      return;
    }
    merged_.clear();
    if constexpr (kStored) {
      show_with_stored(ending, end, emit);
    } else {
      for (const auto slice : ending)
        merge_groups(merged_, slices_.at(slice));
      show(merged_, end, emit);
    }
  }

  // Slices up to this end leave; the command has them from now on.
  [[gnu::noinline]] Map take_up_to(std::int64_t end) {
    Map taken;
    while (!slices_.empty() && slices_.begin()->first <= end)
      taken.insert(slices_.extract(slices_.begin()));
    current_ = nullptr;
    if (end == kEndOfTime) next_end_ = kEndOfTime;
    return taken;
  }
  // Those that another has gathered.
  [[gnu::cold, gnu::noinline]] void absorb(Map& given) {
    for (auto& [slice, groups] : given) {
      next_end_ = std::min(next_end_, first_open_end(slice));
      Slice& ours = slice_at(slice);
      if (ours.generation == 0 && ours.entries().size() < groups.entries().size()) {
        std::swap(ours, groups);
        ours.touched = true;
      }
      merge_groups(ours, groups);
    }
  }

 private:
  static constexpr bool kStored = may_store<Definition>();
  static constexpr bool kCumulates = requires { Definition::kCumulates; };

  [[gnu::noinline]] bool find_slice_of(std::int64_t time) {
    const auto ms = time - Definition::kOffsetMs;
    const auto slice =
        (floor_divide(ms, Definition::kSlideMs) + 1) * Definition::kSlideMs + Definition::kOffsetMs;
    const auto end = first_open_end(slice);
    if (end > last_end(slice)) return false;
    next_end_ = std::min(next_end_, end);
    current_ = &slice_at(slice);
    current_begin_ = slice - Definition::kSlideMs;
    return true;
  }

  // ---- Windows ----

  // The end of the last window that has this slice.
  static std::int64_t last_end(std::int64_t slice) {
    if constexpr (kCumulates) return start_of(slice) + Definition::kSizeMs;
    return slice + Definition::kSizeMs - Definition::kSlideMs;
  }
  // The end of the first window that has this slice and is not past: window_end - 1 > watermark.
  std::int64_t first_open_end(std::int64_t slice) const {
    if (!Definition::kWindowed) return kEndOfTime;
    if (watermark_ == INT64_MIN || slice - 1 > watermark_) return slice;
    constexpr auto slide = Definition::kSlideMs;
    return slice + (floor_divide(watermark_ + 1 - slice, slide) + 1) * slide;
  }

  template <class EndWindow>
  [[gnu::noinline]] void end_windows(std::int64_t watermark, const EndWindow& end_window) {
    while (next_end_ != kEndOfTime && next_end_ - 1 <= watermark && !run_.failed) {
      const auto end = next_end_;
      end_window(end);
      watermark_ = std::max(watermark_, end - 1);
      // Those that are in no later window go: so this ends, whatever the slices are.
      while (!stored_.empty() && last_end(*stored_.begin()) <= end)
        drop(*stored_.begin());
      while (!slices_.empty() && last_end(slices_.begin()->first) <= end)
        drop(slices_.begin()->first);
      next_end_ = kEndOfTime;
      for (const auto slice : stored_)
        next_end_ = std::min(next_end_, first_open_end(slice));
      for (const auto& [slice, groups] : slices_)
        next_end_ = std::min(next_end_, first_open_end(slice));
    }
  }

  // What the store has of a slice: its runs, and into merged_ all else.
  [[gnu::cold, gnu::noinline]] bool gather_stored(std::int64_t slice, const Slice* in_memory,
                                                  Runs& runs) {
    StoredGroups<Key, State> stored(merged_, newest_);
    if (!run_.host.for_each(offset_ + slice, stored)) return false;
    for (std::uint64_t generation = 0;;) {
      BlockPlace run;
      if (!run_.host.next_generation(offset_ + slice, generation, run)) return false;
      if (generation == 0) return true;
      if (in_memory != nullptr && generation == in_memory->generation) continue;
      if (run.epoch != 0 && runs.has_room())
        runs.add(offset_ + slice, generation, run);
      else if (!stored.merge(run_.host, offset_ + slice, generation))
        return false;
    }
  }

  // The groups of a window of which the store has some. merged_ is empty.
  template <class Emit>
  void show_with_stored(const std::set<std::int64_t>& ending, std::int64_t end, const Emit& emit) {
    Runs runs(run_);
    const Slice* groups = &merged_;
    for (const auto slice : ending) {
      const auto found = slices_.find(slice);
      const Slice* const in_memory = found == slices_.end() ? nullptr : &found->second;
      if (stored_.count(slice) != 0 && !gather_stored(slice, in_memory, runs))
        return static_cast<void>(run_.failed = true);
      if (ending.size() == 1 && in_memory != nullptr && merged_.entries().empty())
        groups = in_memory;
      else if (in_memory != nullptr)
        merge_groups(merged_, *in_memory);
    }
    show(*groups, runs, end, emit);
  }

  template <class Emit>
  void show(const Slice& groups, std::int64_t end, const Emit& emit) {
    visit_in_order(groups, places_, [&](const typename Slice::Entry& entry) {
      emit(entry.key, entry.state, end);
      return !run_.failed;
    });
  }

  // The same with runs, group by group: memory need not have all of them.
  template <class Emit>
  [[gnu::cold, gnu::noinline]] void show(const Slice& groups, Runs& runs, std::int64_t end,
                                         const Emit& emit) {
    if (runs.empty()) return show(groups, end, emit);
    const auto emit_one = [&](const Key& key, const State& state) { emit(key, state, end); };
    if (!runs.begin()) return;
    std::string key;
    const bool shown = visit_in_order(groups, places_, [&](const typename Slice::Entry& entry) {
      key.clear();
      entry.key.append(key);
      State* also = nullptr;
      if (!runs.take_below(&key, emit_one) || !runs.find(key, also)) return false;
      if (also != nullptr) also->merge(entry.state);
      emit_one(entry.key, also != nullptr ? *also : entry.state);
      return !run_.failed;
    });
    if (shown) runs.take_below(nullptr, emit_one);
    run_.flush();  // Texts of what was shown are in the runs.
  }

  // ---- Slices ----

  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [slice, groups] : slices_)
      bytes += groups.bytes();
    return bytes;
  }
  [[gnu::cold, gnu::noinline]] void look_at_room() {
    rows_ = 0;
    look_at_ = std::max<std::uint64_t>(kRowsBetweenLooks, kRowsPerSlice * slices_.size());
    if (tracks_ && bytes() > memory_bytes_) run_.host.ask_for_checkpoint();
  }
  bool put_entries(bool kept) {
    std::string key, state;
    for (const auto& [slice, groups] : slices_) {
      for (const auto& entry : groups.entries()) {
        key.clear(), state.clear();
        entry.key.append(key), entry.state.append(state);
        if (!run_.host.put(offset_ + slice, {key.data(), key.size()}, {state.data(), state.size()}))
          return false;
      }
    }
    if (kept) forget_all();
    return true;
  }
  // Puts what a checkpoint has yet to write of all slices. What is too much for memory leaves it.
  bool put_blocks() {
    const bool leave = !Slice::kBounded || bytes() > memory_bytes_;
    for (auto& [slice, groups] : slices_) {
      if (!(leave ? put_run(slice, groups) : put_changes(slice, groups))) return false;
    }
    current_ = nullptr;  // The next row touches its slice.
    if (leave) forget_all();
    return true;
  }
  bool put_changes(std::int64_t slice, Slice& groups) {
    if (!groups.touched) return true;
    bool all = false;
    const auto put = [&](Text block) {
      return run_.host.put_block(offset_ + slice, block, false, groups.generation);
    };
    block_.clear();
    if (!groups.put(block_, all, put)) return false;
    if (all) run_.host.drop_older(offset_ + slice, groups.generation);
    return true;
  }
  [[gnu::cold, gnu::noinline]] bool put_run(std::int64_t slice, Slice& groups) {
    const bool had_blocks = groups.generation != 0;
    const auto put = [&](Text block) {
      return run_.host.put_block(offset_ + slice, block, true, groups.generation);
    };
    block_.clear();
    if (!groups.put_run(block_, places_, put)) return false;
    if (had_blocks) run_.host.drop_older(offset_ + slice, groups.generation);
    return true;
  }
  [[gnu::cold, gnu::noinline]] void forget_all() {
    while (!slices_.empty()) {
      stored_.insert(slices_.begin()->first);
      forget(slices_.begin());
    }
  }

  static bool take_entry(Slice& groups, Text key, Text state) {
    Key taken;
    State gathered;
    if (!taken.take(key) || !gathered.take(state)) return false;
    groups.change(taken, taken.hash()).merge(gathered);
    return true;
  }

  [[gnu::noinline]] Slice& slice_at(std::int64_t slice) {
    auto found = slices_.find(slice);
    if (found == slices_.end())
      found = slices_.emplace(slice, std::exchange(spare_, Slice())).first;
    found->second.touched = true;
    return found->second;
  }
  [[gnu::noinline]] void drop(std::int64_t slice) {
    const auto found = slices_.find(slice);
    bool stored = stored_.erase(slice) != 0;
    if (found != slices_.end()) {
      stored = stored || found->second.generation != 0;
      forget(found);
    }
    if (stored) run_.host.drop(offset_ + slice);
  }
  [[gnu::noinline]] void forget(typename Map::iterator slice) {
    slice->second.clear();
    spare_ = std::move(slice->second);
    slices_.erase(slice);
    current_ = nullptr;
  }

  // A look is at all slices.
  static constexpr std::uint64_t kRowsBetweenLooks = 32'768, kRowsPerSlice = 64;

  Run& run_;
  const std::int64_t offset_;
  std::uint64_t memory_bytes_ = 0;  // That slices may take beside a store that takes blocks.
  const bool tracks_;               // There is one.
  std::uint64_t rows_ = 0;          // Since the last look,
  std::uint64_t look_at_ = kRowsBetweenLooks;  // and until the next.
  std::int64_t watermark_ = kNoTime;
  Map slices_;
  std::set<std::int64_t> stored_;       // Slices with entries that only the store has.
  std::int64_t next_end_ = kEndOfTime;  // Of the first window that is open and not empty.
  Slice* current_ = nullptr;            // The slice of the last row, and where it begins.
  std::int64_t current_begin_ = 0;
  Slice spare_, merged_, newest_;
  Places places_;
  std::string block_;
};

}  // namespace holdfast::query
