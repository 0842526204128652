// over_frames.hpp: the rows of a partition of OVER that wait, or are in a frame, and what those of
// a frame add up to.
//
// A `Definition` is as of over_rows.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>

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

// Times of partitions, the earliest in front.
class PartitionTimes {
 public:
  struct Time {
    std::int64_t time;
    std::uint32_t entry;  // The partition's number.
    bool operator<(const Time& other) const { return time > other.time; }
  };
  PartitionTimes();
  ~PartitionTimes();

  bool empty() const;
  const Time& front() const;
  void push(const Time& time);
  void pop();
  void clear();

 private:
  std::vector<Time> heap_;
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

#ifndef HOLDFAST_APART

HF_APART PartitionTimes::PartitionTimes() {}
HF_APART PartitionTimes::~PartitionTimes() {}
HF_APART bool PartitionTimes::empty() const { return heap_.empty(); }
HF_APART const PartitionTimes::Time& PartitionTimes::front() const { return heap_.front(); }
HF_APART void PartitionTimes::push(const Time& time) {
  heap_.push_back(time);
  std::push_heap(heap_.begin(), heap_.end());
}
HF_APART void PartitionTimes::pop() {
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
}
HF_APART void PartitionTimes::clear() { heap_.clear(); }

#endif

}  // namespace holdfast::query
