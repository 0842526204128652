// due_rows.hpp: rows that a store finds by the time until which they wait, the earliest first and
// some thousand at once. The interpreter has them, too (stream/graph/time_joins.cpp).
//
// How long a time is looked at follows from how many rows the last ones had. Where one has more
// than kMost, the latest are left for the next time; those that wait equally long come together.
//
// `Key`  of a row, in whose order the rows wait.
// Costs  Memory for kMost rows, or for those that wait equally long. A row O(log kMost).
// Threads  One at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace holdfast::query {

template <class Key, class Row>
class DueRows {
 public:
  static constexpr std::size_t kMost = 4'096;

  // Those that wait until `from`, or longer, and until `most` at the most, which is no less. The
  // time up to which they are to be looked for.
  std::int64_t begin(std::int64_t from, std::int64_t most) {
    const auto room = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(from);
    from_ = from;
    return until_ = last_ = room < span_ms_ ? most : from + static_cast<std::int64_t>(span_ms_) - 1;
  }
  // One that waits until `end`. False: that is none of the times that are looked for.
  template <class AnyRow>
  bool take(std::int64_t end, const Key& key, AnyRow&& row) {
    if (end < from_ || end > last_) return false;
    if (end > until_) return true;
    rows_.emplace(std::pair(end, key), std::forward<AnyRow>(row));
    if (rows_.size() > kMost) leave_latest();
    return true;
  }
  // `beyond`: how long those wait at least that were not looked for. The same of all that are left.
  // give(key, row) each of them that is there.
  template <class Give>
  std::int64_t finish(std::int64_t beyond, const Give& give) {
    const auto next = until_ < last_ ? until_ + 1 : beyond;
    const auto length = static_cast<std::uint64_t>(until_ - from_) + 1;
    if (until_ < last_)
      span_ms_ = length;
    else if (rows_.size() < kMost / 4)
      span_ms_ = std::min(2 * span_ms_, kLongest);
    for (auto& [place, row] : rows_)
      give(place.second, std::move(row));
    rows_.clear();
    return next;
  }

 private:
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;

  void leave_latest() {
    const auto latest = rows_.rbegin()->first.first;
    if (rows_.begin()->first.first == latest) return;
    while (rows_.rbegin()->first.first == latest)
      rows_.erase(std::prev(rows_.end()));
    until_ = latest - 1;
  }

  std::map<std::pair<std::int64_t, Key>, Row> rows_;
  std::int64_t from_ = 0, until_ = 0;  // The rows that are kept.
  std::int64_t last_ = 0;              // That is looked for.
  std::uint64_t span_ms_ = 1;
};

}  // namespace holdfast::query
