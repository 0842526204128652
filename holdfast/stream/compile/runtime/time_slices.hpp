// time_slices.hpp: slices of time and the windows that have them, whatever their groups are. What
// Slices (slices.hpp) says of its types is here: it is compiled once, not with each query.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/slice_table.hpp>
#include <holdfast/stream/compile/runtime/sorted_runs.hpp>

namespace holdfast::query {

struct SliceRules {
  bool windowed = false;
  bool cumulates = false;  // Windows grow by a slide until they are of size_ms, and begin anew.
  bool bounded = false;    // SliceTable::kBounded
  bool stored = false;     // A store may have some of it.
  std::int64_t size_ms = 0, slide_ms = 0, offset_ms = 0;

  // Where the window begins that ends there.
  constexpr std::int64_t start_of(std::int64_t end) const {
    if (!cumulates) return end - size_ms;
    return floor_divide(end - 1 - offset_ms, size_ms) * size_ms + offset_ms;
  }
  // The end of the last window that has this slice.
  constexpr std::int64_t last_end(std::int64_t slice) const {
    return (cumulates ? start_of(slice) : slice - slide_ms) + size_ms;
  }
};

class TimeSlices {
 public:
  using Map = std::map<std::int64_t, std::unique_ptr<AnySlice>>;
  using Make = AnySlice*();  // It is the caller's.

  // `offset`: what a slice is called in the store is moved by it.
  TimeSlices(Run& run, std::int64_t offset, const SliceRules& rules, Make* make);

  std::int64_t watermark() const { return watermark_; }
  void set_watermark(std::int64_t watermark) { watermark_ = watermark; }
  // Slices of the store, and entries, of one that has ended here.
  void adopt_stored(std::int64_t slice);
  bool adopt_entry(std::int64_t slice, Text key, Text state);

  // The slice of the last row; null: it has gone, or there was none.
  AnySlice* current() const { return current_; }
  std::int64_t current_begin() const { return current_begin_; }
  // The slice of this time becomes the current one. False: it is late for all its windows.
  bool find_slice_of(std::int64_t time);
  // For a query without windows.
  void find_only();
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

  // `kept`: what is put need not be put again.
  bool put_state(bool kept);
  // Slices up to this end leave; the command has them from now on.
  Map take_up_to(std::int64_t end);
  // Those that another has gathered.
  void absorb(Map& given);

 protected:
  ~TimeSlices();

  // Ends the windows that `watermark` has passed.
  using EndWindow = void(void* context, std::int64_t end);
  void end_windows(std::int64_t watermark, EndWindow* end_window, void* context);
  // The groups of a window, those in memory and what is read whole. Null: the store has failed. To
  // `runs`: what the store has beside them, in the order of keys.
  const AnySlice* gather(std::int64_t end, MergedRuns& runs);
  // The same where there is no store.
  const AnySlice& gather(std::int64_t end);
  AnySlice& slice_at(std::int64_t slice);
  void drop(std::int64_t slice);

  Run& run_;
  Places places_;

 private:
  class PutBlock;

  std::int64_t first_open_end(std::int64_t slice) const;
  std::set<std::int64_t> ending(std::int64_t end) const;
  bool gather_stored(std::int64_t slice, const AnySlice* in_memory, MergedRuns& runs);
  bool merge_generation(std::int64_t slice, std::uint64_t generation);
  std::uint64_t bytes() const;
  void look_at_room();
  bool put_entries(bool kept);
  bool put_blocks();
  bool put_changes(std::int64_t slice, AnySlice& groups);
  bool put_run(std::int64_t slice, AnySlice& groups);
  void forget_all();
  void forget(Map::iterator slice);

  // A look is at all slices.
  static constexpr std::uint64_t kRowsBetweenLooks = 32'768, kRowsPerSlice = 64;

  const SliceRules& rules_;
  Make* const make_;
  const std::int64_t offset_;
  std::uint64_t memory_bytes_ = 0;  // That slices may take beside a store that takes blocks.
  const bool tracks_;               // There is one.
  std::uint64_t rows_ = 0;          // Since the last look,
  std::uint64_t look_at_ = kRowsBetweenLooks;  // and until the next.
  std::int64_t watermark_ = kNoTime;
  Map slices_;
  std::set<std::int64_t> stored_;       // Slices with entries that only the store has.
  std::int64_t next_end_ = kEndOfTime;  // Of the first window that is open and not empty.
  AnySlice* current_ = nullptr;         // The slice of the last row, and where it begins.
  std::int64_t current_begin_ = 0;
  std::unique_ptr<AnySlice> spare_, merged_, newest_;
  std::string block_;
};

#ifndef HOLDFAST_APART

HF_APART TimeSlices::TimeSlices(Run& run, std::int64_t offset, const SliceRules& rules, Make* make)
    : run_(run),
      rules_(rules),
      make_(make),
      offset_(offset),
      tracks_(run.host.takes_blocks(memory_bytes_)),
      merged_(make()),
      newest_(make()) {}
HF_APART TimeSlices::~TimeSlices() {}

HF_APART void TimeSlices::adopt_stored(std::int64_t slice) {
  stored_.insert(slice);
  next_end_ = std::min(next_end_, first_open_end(slice));
}
HF_APART bool TimeSlices::adopt_entry(std::int64_t slice, Text key, Text state) {
  AnySlice& groups = slice_at(slice);
  next_end_ = std::min(next_end_, first_open_end(slice));
  return groups.take(key, state);
}

// ---- The current slice ----

HF_APART bool TimeSlices::find_slice_of(std::int64_t time) {
  const auto ms = time - rules_.offset_ms;
  const auto slice = (floor_divide(ms, rules_.slide_ms) + 1) * rules_.slide_ms + rules_.offset_ms;
  const auto end = first_open_end(slice);
  if (end > rules_.last_end(slice)) return false;
  next_end_ = std::min(next_end_, end);
  current_ = &slice_at(slice);
  current_begin_ = slice - rules_.slide_ms;
  return true;
}
HF_APART void TimeSlices::find_only() {
  if (current_ == nullptr) current_ = &slice_at(kEndOfTime);
}
// The end of the first window that has this slice and is not past: window_end - 1 > watermark.
HF_APART std::int64_t TimeSlices::first_open_end(std::int64_t slice) const {
  if (!rules_.windowed) return kEndOfTime;
  if (watermark_ == INT64_MIN || slice - 1 > watermark_) return slice;
  return slice + (floor_divide(watermark_ + 1 - slice, rules_.slide_ms) + 1) * rules_.slide_ms;
}

// ---- Windows ----

HF_APART void TimeSlices::end_windows(std::int64_t watermark, EndWindow* end_window,
                                      void* context) {
  while (next_end_ != kEndOfTime && next_end_ - 1 <= watermark && !run_.failed) {
    const auto end = next_end_;
    end_window(context, end);
    watermark_ = std::max(watermark_, end - 1);
    // Those that are in no later window go: so this ends, whatever the slices are.
    while (!stored_.empty() && rules_.last_end(*stored_.begin()) <= end)
      drop(*stored_.begin());
    while (!slices_.empty() && rules_.last_end(slices_.begin()->first) <= end)
      drop(slices_.begin()->first);
    next_end_ = kEndOfTime;
    for (const auto slice : stored_)
      next_end_ = std::min(next_end_, first_open_end(slice));
    for (const auto& [slice, groups] : slices_)
      next_end_ = std::min(next_end_, first_open_end(slice));
  }
}
// Its slices.
HF_APART std::set<std::int64_t> TimeSlices::ending(std::int64_t end) const {
  const auto first = rules_.windowed ? rules_.start_of(end) + rules_.slide_ms : end;
  std::set<std::int64_t> all(stored_.lower_bound(first), stored_.upper_bound(end));
  for (auto it = slices_.lower_bound(first); it != slices_.end() && it->first <= end; ++it)
    all.insert(it->first);
  return all;
}
HF_APART const AnySlice& TimeSlices::gather(std::int64_t end) {
  const auto first = rules_.windowed ? rules_.start_of(end) + rules_.slide_ms : end;
  const auto begin = slices_.lower_bound(first), last = slices_.upper_bound(end);
  if (begin != last && std::next(begin) == last) return *begin->second;
  merged_->clear();
  for (auto it = begin; it != last; ++it)
    merged_->merge(*it->second);
  return *merged_;
}
HF_APART const AnySlice* TimeSlices::gather(std::int64_t end, MergedRuns& runs) {
  if (stored_.empty()) return &gather(end);
  const auto slices = ending(end);
  merged_->clear();
  const AnySlice* only = nullptr;  // All are in it.
  for (const auto slice : slices) {
    const auto found = slices_.find(slice);
    const AnySlice* const in_memory = found == slices_.end() ? nullptr : found->second.get();
    if (stored_.count(slice) != 0 && !gather_stored(slice, in_memory, runs))
      return run_.failed = true, nullptr;
    if (slices.size() == 1 && in_memory != nullptr && merged_->groups() == 0)
      only = in_memory;
    else if (in_memory != nullptr)
      merged_->merge(*in_memory);
  }
  return only != nullptr ? only : merged_.get();
}

// Entries of a slice that the store has beside blocks.
class GatheredEntries final : public VisitEntries {
 public:
  explicit GatheredEntries(AnySlice& to) : to_(to) {}
  bool entry(Text key, Text state) override { return to_.take(key, state); }

 private:
  AnySlice& to_;
};
// What the store has of a slice: its runs, and into merged_ all else.
HF_APART bool TimeSlices::gather_stored(std::int64_t slice, const AnySlice* in_memory,
                                        MergedRuns& runs) {
  GatheredEntries entries(*merged_);
  if (!run_.host.for_each(offset_ + slice, entries)) return false;
  for (std::uint64_t generation = 0;;) {
    BlockPlace run;
    if (!run_.host.next_generation(offset_ + slice, generation, run)) return false;
    if (generation == 0) return true;
    if (in_memory != nullptr && generation == in_memory->generation) continue;
    if (run.epoch != 0 && runs.has_room())
      runs.add(offset_ + slice, generation, run);
    else if (!merge_generation(offset_ + slice, generation))
      return false;
  }
}
// All blocks of a generation. newest_ is empty before and after.
HF_APART bool TimeSlices::merge_generation(std::int64_t slice, std::uint64_t generation) {
  BlockPlace place;
  for (Text block{};;) {
    if (!run_.host.next_block(slice, generation, place, block)) return false;
    if (block.size == 0) break;
    if (!newest_->take_block(block)) return run_.host.refuse_entry(), false;
  }
  if (merged_->groups() == 0)
    std::swap(merged_, newest_);
  else
    merged_->merge(*newest_);
  newest_->clear();
  return true;
}

HF_APART TimeSlices::Map TimeSlices::take_up_to(std::int64_t end) {
  Map taken;
  while (!slices_.empty() && slices_.begin()->first <= end)
    taken.insert(slices_.extract(slices_.begin()));
  current_ = nullptr;
  if (end == kEndOfTime) next_end_ = kEndOfTime;
  return taken;
}
HF_APART void TimeSlices::absorb(Map& given) {
  for (auto& [slice, groups] : given) {
    next_end_ = std::min(next_end_, first_open_end(slice));
    AnySlice& before = slice_at(slice);
    auto& ours = slices_.at(slice);
    if (ours->generation == 0 && ours->groups() < groups->groups()) {
      std::swap(ours, groups);
      ours->touched = true;
      if (current_ == &before) current_ = ours.get();
    }
    ours->merge(*groups);
  }
}

// ---- Checkpoints ----

HF_APART bool TimeSlices::put_state(bool kept) {
  if (!rules_.stored) return true;
  return tracks_ ? put_blocks() : put_entries(kept);
}
HF_APART std::uint64_t TimeSlices::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [slice, groups] : slices_)
    bytes += groups->bytes();
  return bytes;
}
HF_APART void TimeSlices::look_at_room() {
  rows_ = 0;
  look_at_ = std::max<std::uint64_t>(kRowsBetweenLooks, kRowsPerSlice * slices_.size());
  if (tracks_ && bytes() > memory_bytes_) run_.host.ask_for_checkpoint();
}
HF_APART bool TimeSlices::put_entries(bool kept) {
  std::string key, state;
  for (const auto& [slice, groups] : slices_) {
    for (std::size_t i = 0; i < groups->groups(); ++i) {
      key.clear(), state.clear();
      groups->append_key(i, key), groups->append_state(i, state);
      if (!run_.host.put(offset_ + slice, {key.data(), key.size()}, {state.data(), state.size()}))
        return false;
    }
  }
  if (kept) forget_all();
  return true;
}

// Blocks of a slice for the store.
class TimeSlices::PutBlock final : public TakeBlock {
 public:
  PutBlock(Host& host, std::int64_t slice, bool in_run, std::uint64_t& generation)
      : host_(host), slice_(slice), in_run_(in_run), generation_(generation) {}
  bool block(Text block) override { return host_.put_block(slice_, block, in_run_, generation_); }

 private:
  Host& host_;
  const std::int64_t slice_;
  const bool in_run_;
  std::uint64_t& generation_;
};
// Puts what a checkpoint has yet to write of all slices. What is too much for memory leaves it.
HF_APART bool TimeSlices::put_blocks() {
  const bool leave = !rules_.bounded || bytes() > memory_bytes_;
  for (auto& [slice, groups] : slices_) {
    if (!(leave ? put_run(slice, *groups) : put_changes(slice, *groups))) return false;
  }
  current_ = nullptr;  // The next row touches its slice.
  if (leave) forget_all();
  return true;
}
HF_APART bool TimeSlices::put_changes(std::int64_t slice, AnySlice& groups) {
  if (!groups.touched) return true;
  bool all = false;
  PutBlock put(run_.host, offset_ + slice, false, groups.generation);
  block_.clear();
  if (!groups.put(block_, all, put)) return false;
  if (all) run_.host.drop_older(offset_ + slice, groups.generation);
  return true;
}
HF_APART bool TimeSlices::put_run(std::int64_t slice, AnySlice& groups) {
  const bool had_blocks = groups.generation != 0;
  PutBlock put(run_.host, offset_ + slice, true, groups.generation);
  block_.clear();
  if (!groups.put_run(block_, places_, put)) return false;
  if (had_blocks) run_.host.drop_older(offset_ + slice, groups.generation);
  return true;
}
HF_APART void TimeSlices::forget_all() {
  while (!slices_.empty()) {
    stored_.insert(slices_.begin()->first);
    forget(slices_.begin());
  }
}

// ---- Slices ----

HF_APART AnySlice& TimeSlices::slice_at(std::int64_t slice) {
  auto found = slices_.find(slice);
  if (found == slices_.end())
    found = slices_
                .emplace(slice,
                         spare_ != nullptr ? std::move(spare_) : std::unique_ptr<AnySlice>(make_()))
                .first;
  found->second->touched = true;
  return *found->second;
}
HF_APART void TimeSlices::drop(std::int64_t slice) {
  const auto found = slices_.find(slice);
  bool stored = stored_.erase(slice) != 0;
  if (found != slices_.end()) {
    stored = stored || found->second->generation != 0;
    forget(found);
  }
  if (stored) run_.host.drop(offset_ + slice);
}
HF_APART void TimeSlices::forget(Map::iterator slice) {
  slice->second->clear();
  spare_ = std::move(slice->second);
  slices_.erase(slice);
  current_ = nullptr;
}

#endif

}  // namespace holdfast::query
