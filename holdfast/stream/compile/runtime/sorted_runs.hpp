// sorted_runs.hpp: groups that memory has forgotten, read back in the order of their keys.
//
// What leaves memory at a checkpoint is written in the order of its keys: a run. So the groups of a
// window are merged as they are read, and a window may have more of them than memory has room for.
//
// Costs  Memory: a block (60 KB) per run. A group: O(log runs) comparisons of keys.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/compile/runtime/table.hpp>
#include <holdfast/stream/compile/runtime/texts.hpp>

namespace holdfast::query {

// One of them, and where it is read.
class SortedRun {
 public:
  // `begin`: of its blocks, as Host::next_generation() gives it.
  SortedRun(std::int64_t slice, std::uint64_t generation, BlockPlace begin)
      : slice_(slice), generation_(generation), place_(begin) {}

  bool at_entry() const { return at_entry_; }
  std::string_view key() const { return {key_.data, key_.size}; }
  Text state() const { return state_; }
  // Goes to the next entry, if there is one. False: it cannot be read, or is not behind the last.
  bool next(Run& run);

 private:
  bool read(Run& run);

  std::int64_t slice_;
  std::uint64_t generation_;
  BlockPlace place_;  // Behind the block.
  std::string block_, before_;
  Text rest_{}, key_{}, state_{};
  bool at_entry_ = true;
};

// Several of them, and the one whose entry has the least key.
class MergedRuns {
 public:
  explicit MergedRuns(Run& run);
  ~MergedRuns();

  bool empty() const;
  bool has_room() const;
  void add(std::int64_t slice, std::uint64_t generation, BlockPlace begin);
  // Behind the last add(). False: one cannot be read; so is that below.
  bool begin();
  bool at_end() const;
  // Of the least; of one key the earlier run is first.
  std::string_view key() const;
  Text state() const;
  bool next();
  // An entry is none of this query: the run has failed. False.
  bool fail();

 private:
  static constexpr std::size_t kMost = 1024;  // Of 60 MB. More are merged in memory.

  bool is_later(std::uint32_t a, std::uint32_t b) const;

  Run& run_;
  std::vector<SortedRun> runs_;
  std::vector<std::uint32_t> heap_;  // Runs that are at an entry; the least key in front.
};

// What the runs have of a key is merged, in the order of the runs.
template <class Key, class State>
class SortedRuns {
 public:
  explicit SortedRuns(Run& run) : run_(run), runs_(run) { shown_.reserve(kShown); }

  MergedRuns& all() { return runs_; }
  // Calls emit(key, state) for the groups whose keys are below `bound`, all of them if it is null.
  template <class Emit>
  bool take_below(const std::string* bound, const Emit& emit) {
    while (!runs_.at_end() && (bound == nullptr || runs_.key() < *bound)) {
      auto* const group = next_group();
      if (group == nullptr) return false;
      emit(group->first, group->second);
      if (run_.failed) return false;
    }
    return true;
  }
  // The state that the runs have of this key, and of no key below it; none: null. Until the next
  // call.
  bool find(const std::string& key, State*& state) {
    state = nullptr;
    if (runs_.at_end() || runs_.key() != key) return true;
    auto* const group = next_group();
    if (group != nullptr) state = &group->second;
    return group != nullptr;
  }

 private:
  using Group = std::pair<Key, State>;
  static constexpr std::size_t kShown =
      256;  // Groups that rows which wait for the sink point into.

  // The least, with all that the runs have of it.
  Group* next_group() {
    if (shown_.size() == kShown) {
      run_.flush();
      shown_.clear();
      texts_.clear();
    }
    shown_.emplace_back();
    Group& group = shown_.back();
    least_ = runs_.key();
    if (!group.first.take(text_of(runs_.key())) || !group.second.take(runs_.state()))
      return runs_.fail(), nullptr;
    group.first.keep_texts(texts_);
    if (!runs_.next()) return nullptr;
    while (!runs_.at_end() && runs_.key() == least_) {
      State more;
      if (!more.take(runs_.state())) return runs_.fail(), nullptr;
      group.second.merge(more);
      if (!runs_.next()) return nullptr;
    }
    return &group;
  }

  Run& run_;
  MergedRuns runs_;
  std::string least_;
  std::vector<Group> shown_;
  TextArena texts_;  // Of their keys.
};

#ifndef HOLDFAST_APART

HF_APART bool SortedRun::next(Run& run) {
  before_.assign(key_.data, key_.size);
  if (rest_.size == 0 && !read(run)) return false;
  if (!at_entry_) return true;
  const bool first = key_.data == nullptr;
  return take_block_entry(rest_, key_, state_) && (first || before_ < key());
}
HF_APART bool SortedRun::read(Run& run) {
  Text block{};
  if (!run.host.next_block(slice_, generation_, place_, block)) return false;
  at_entry_ = block.size != 0;
  if (at_entry_) block_.assign(block.data, block.size);
  rest_ = {block_.data(), at_entry_ ? block_.size() : 0};
  return true;
}

HF_APART MergedRuns::MergedRuns(Run& run) : run_(run) {}
HF_APART MergedRuns::~MergedRuns() {}
HF_APART bool MergedRuns::empty() const { return runs_.empty(); }
HF_APART bool MergedRuns::has_room() const { return runs_.size() < kMost; }
HF_APART bool MergedRuns::at_end() const { return heap_.empty(); }
HF_APART std::string_view MergedRuns::key() const { return runs_[heap_.front()].key(); }
HF_APART Text MergedRuns::state() const { return runs_[heap_.front()].state(); }
HF_APART void MergedRuns::add(std::int64_t slice, std::uint64_t generation, BlockPlace begin) {
  runs_.emplace_back(slice, generation, begin);
}
HF_APART bool MergedRuns::begin() {
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i].next(run_)) return fail();
    if (runs_[i].at_entry()) heap_.push_back(i);
  }
  std::make_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
  return true;
}
HF_APART bool MergedRuns::next() {
  const auto later = [this](auto a, auto b) { return is_later(a, b); };
  std::pop_heap(heap_.begin(), heap_.end(), later);
  if (!runs_[heap_.back()].next(run_)) return fail();
  if (runs_[heap_.back()].at_entry())
    std::push_heap(heap_.begin(), heap_.end(), later);
  else
    heap_.pop_back();
  return true;
}
HF_APART bool MergedRuns::fail() {
  if (!run_.failed) run_.host.refuse_entry();
  return !(run_.failed = true);
}
HF_APART bool MergedRuns::is_later(std::uint32_t a, std::uint32_t b) const {
  const int order = runs_[a].key().compare(runs_[b].key());
  return order != 0 ? order > 0 : a > b;
}

#endif

}  // namespace holdfast::query
