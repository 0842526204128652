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
  [[gnu::noinline]] bool next(Run& run) {
    before_.assign(key_.data, key_.size);
    if (rest_.size == 0 && !read(run)) return false;
    if (!at_entry_) return true;
    const bool first = key_.data == nullptr;
    return take_block_entry(rest_, key_, state_) && (first || before_ < key());
  }

 private:
  bool read(Run& run) {
    Text block{};
    if (!run.host.next_block(slice_, generation_, place_, block)) return false;
    at_entry_ = block.size != 0;
    if (at_entry_) block_.assign(block.data, block.size);
    rest_ = {block_.data(), at_entry_ ? block_.size() : 0};
    return true;
  }

  std::int64_t slice_;
  std::uint64_t generation_;
  BlockPlace place_;  // Behind the block.
  std::string block_, before_;
  Text rest_{}, key_{}, state_{};
  bool at_entry_ = true;
};

// Several of them, as one: what they have of a key is merged, in the order of the runs.
template <class Key, class State>
class SortedRuns {
 public:
  explicit SortedRuns(Run& run) : run_(run) { shown_.reserve(kShown); }

  bool empty() const { return runs_.empty(); }
  bool has_room() const { return runs_.size() < kMost; }
  void add(std::int64_t slice, std::uint64_t generation, BlockPlace begin) {
    runs_.emplace_back(slice, generation, begin);
  }
  // Behind the last add(). False: one cannot be read; so are those below.
  [[gnu::cold, gnu::noinline]] bool begin() {
    for (std::uint32_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i].next(run_)) return fail();
      if (runs_[i].at_entry()) heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(), later());
    return true;
  }

  // Calls emit(key, state) for the groups whose keys are below `bound`, all of them if it is null.
  template <class Emit>
  bool take_below(const std::string* bound, const Emit& emit) {
    while (!heap_.empty() && (bound == nullptr || runs_[heap_.front()].key() < *bound)) {
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
    if (heap_.empty() || runs_[heap_.front()].key() != key) return true;
    auto* const group = next_group();
    if (group != nullptr) state = &group->second;
    return group != nullptr;
  }

 private:
  using Group = std::pair<Key, State>;
  static constexpr std::size_t kMost = 1024;  // Of 60 MB. More are merged in memory.
  static constexpr std::size_t kShown =
      256;  // Groups that rows which wait for the sink point into.

  auto later() const {
    return [this](std::uint32_t a, std::uint32_t b) {
      const int order = runs_[a].key().compare(runs_[b].key());
      return order != 0 ? order > 0 : a > b;
    };
  }
  // The least, with all that the runs have of it.
  Group* next_group() {
    if (shown_.size() == kShown) {
      run_.flush();
      shown_.clear();
      texts_.clear();
    }
    shown_.emplace_back();
    Group& group = shown_.back();
    least_ = runs_[heap_.front()].key();
    if (!group.first.take(text_of(least_run().key())) || !group.second.take(least_run().state()))
      return fail(), nullptr;
    group.first.keep_texts(texts_);
    if (!advance()) return fail(), nullptr;
    while (!heap_.empty() && least_run().key() == least_) {
      State more;
      if (!more.take(least_run().state())) return fail(), nullptr;
      group.second.merge(more);
      if (!advance()) return fail(), nullptr;
    }
    return &group;
  }
  SortedRun& least_run() { return runs_[heap_.front()]; }
  [[gnu::noinline]] bool advance() {
    std::pop_heap(heap_.begin(), heap_.end(), later());
    if (!runs_[heap_.back()].next(run_)) return false;
    if (runs_[heap_.back()].at_entry())
      std::push_heap(heap_.begin(), heap_.end(), later());
    else
      heap_.pop_back();
    return true;
  }
  bool fail() {
    if (!run_.failed) run_.host.refuse_entry();
    return !(run_.failed = true);
  }

  Run& run_;
  std::vector<SortedRun> runs_;
  std::vector<std::uint32_t> heap_;  // Runs that are at an entry; the least key in front.
  std::string least_;
  std::vector<Group> shown_;
  TextArena texts_;  // Of their keys.
};

}  // namespace holdfast::query
