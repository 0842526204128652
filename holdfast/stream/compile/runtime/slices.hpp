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

#include <type_traits>

#include <holdfast/stream/compile/runtime/further_aggregates.hpp>
#include <holdfast/stream/compile/runtime/mark.hpp>
#include <holdfast/stream/compile/runtime/state_of.hpp>
#include <holdfast/stream/compile/runtime/time_slices.hpp>
#include <holdfast/stream/compile/runtime/user_functions.hpp>

namespace holdfast::query {

template <class Definition>
class Slices : public TimeSlices {
 public:
  using Key = typename Definition::Key;
  using State = typename Definition::State;
  using Slice = SliceTable<Key, State, may_store<Definition>()>;

  explicit Slices(Run& run, std::int64_t offset = 0) : TimeSlices(run, offset, kRules, make) {}

  Slice* current() const { return static_cast<Slice*>(TimeSlices::current()); }
  static bool is_in(std::int64_t slice_begin, std::int64_t time) {
    const auto since = static_cast<std::uint64_t>(time - slice_begin);
    return since < static_cast<std::uint64_t>(Definition::kSlideMs);
  }
  // The slice of this time becomes the current one. False: it is late for all its windows.
  [[gnu::always_inline]] bool find(std::int64_t time) {
    return (is_in(current_begin(), time) && current() != nullptr) || find_slice_of(time);
  }
  static std::int64_t start_of(std::int64_t end) { return kRules.start_of(end); }

  // Ends the windows that `watermark` has passed: end_window(end), which fires it or takes its
  // slices.
  template <class EndWindow>
  void advance(std::int64_t watermark, const EndWindow& end_window) {
    if constexpr (Definition::kWindowed) {
      if (!is_quiet(watermark)) [[unlikely]] {
        const auto call = [](void* context, std::int64_t end) {
          (*static_cast<const EndWindow*>(context))(end);
        };
        end_windows(watermark, call, const_cast<EndWindow*>(&end_window));
      }
    }
    set_watermark(watermark);
  }
  // For a query without windows. If it has no key, there is a group even where there was no row.
  template <class Emit>
  void end(const Emit& emit) {
    if constexpr (std::is_same_v<Key, KeyOf<>>)
      static_cast<Slice&>(slice_at(kEndOfTime)).at(Key(), Key().hash());
    fire(kEndOfTime, emit);
    run_.flush();  // The texts of what was shown are in the slice.
    drop(kEndOfTime);
    set_watermark(kEndOfTime);
  }

  // The groups of a window: emit(key, state, window_end).
  template <class Emit>
  void fire(std::int64_t end, const Emit& emit) {
    if constexpr (kRules.stored) {
      SortedRuns<Key, State> runs(run_);
      const auto* const groups = gather(end, runs.all());
      if (groups == nullptr) return;
      if (!runs.all().empty()) return show(of(*groups), runs, end, emit);
      show(of(*groups), end, emit);
    } else {
      show(of(gather(end)), end, emit);
    }
  }

 private:
  static constexpr bool kCumulates = requires { Definition::kCumulates; };
  static constexpr SliceRules kRules = {
      Definition::kWindowed, kCumulates,           Slice::kBounded,      may_store<Definition>(),
      Definition::kSizeMs,   Definition::kSlideMs, Definition::kOffsetMs};

  static AnySlice* make() { return new Slice(); }
  static const Slice& of(const AnySlice& slice) { return static_cast<const Slice&>(slice); }

  template <class Emit>
  void show(const Slice& groups, std::int64_t end, const Emit& emit) {
    visit_in_order(groups, places_, [&](const typename Slice::Entry& entry) {
      emit(entry.key, entry.state, end);
      return !run_.failed;
    });
  }
  // The same with runs, group by group: memory need not have all of them.
  template <class Emit>
  [[gnu::cold, gnu::noinline]] void show(const Slice& groups, SortedRuns<Key, State>& runs,
                                         std::int64_t end, const Emit& emit) {
    const auto emit_one = [&](const Key& key, const State& state) { emit(key, state, end); };
    if (!runs.all().begin()) return;
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
};

}  // namespace holdfast::query
