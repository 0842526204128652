// least_rows.hpp: rows that a store has, in an order that it does not know: the first ones that
// have room, then those behind them. The store is read once for each such part. The interpreter has
// them, too (stream/graph/sort_rows.cpp).
//
//   for (bool more = true; more;) {
//     rows.begin(so many);
//     ...                              each row that the store has: take()
//     rows.for_each(...);              in their order
//     more = rows.end();
//   }
//
// `Before`  of two rows, the first is in front of the second; no two are equal.
// Costs     A row that has room O(log of how many have), another one a comparison.
// Threads   One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace holdfast::query {

template <class Row, class Before>
class LeastRows {
 public:
  // So many have room in any case.
  static constexpr std::size_t kLeast = 64;

  // `bytes`: so many of rows have room.
  LeastRows(Before before, std::uint64_t bytes)
      : before_(before), most_bytes_(bytes), rows_(before) {}

  // The next part, of no more than `most` rows, which is above 0.
  void begin(std::uint64_t most) { most_ = most; }
  // Whether it would be in this part, as far as rows have been seen.
  bool wants(const Row& row) const {
    if (last_ && !before_(*last_, row)) return false;
    return !is_cut_ || before_(row, rows_.rbegin()->first);
  }
  // One that it wants.
  void take(Row&& row, std::uint64_t bytes) {
    rows_.emplace(std::move(row), bytes);
    bytes_ += bytes;
    while (rows_.size() > most_ || (bytes_ > most_bytes_ && rows_.size() > kLeast))
      leave_last_out();
  }
  // Of this part, in their order: visit(row) -> go on.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [row, bytes] : rows_) {
      if (!visit(row)) return;
    }
  }
  // Whether there are rows behind this part.
  bool end() {
    if (!rows_.empty()) last_.emplace(std::move(rows_.extract(std::prev(rows_.end())).key()));
    rows_.clear();
    bytes_ = 0;
    return std::exchange(is_cut_, false);
  }
  // Of the part before this one; null: there was none.
  const Row* last() const { return last_ ? &*last_ : nullptr; }

 private:
  // No row behind those that stay is taken from now on: it may be behind this one, too.
  void leave_last_out() {
    const auto last = std::prev(rows_.end());
    bytes_ -= last->second;
    rows_.erase(last);
    is_cut_ = true;
  }

  const Before before_;
  const std::uint64_t most_bytes_;
  std::uint64_t most_ = 0, bytes_ = 0;
  std::map<Row, std::uint64_t, Before> rows_;  // And the bytes of each.
  std::optional<Row> last_;
  bool is_cut_ = false;  // Rows of this part, or of those behind it, were left out.
};

}  // namespace holdfast::query
