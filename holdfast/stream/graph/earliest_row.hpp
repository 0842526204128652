// earliest_row.hpp: the earliest row of each partition by event time, once: a deduplication that
// keeps the first row.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

// A row waits until the watermark has come to its time, and is shown then; an earlier one that
// comes meanwhile takes its place, one of the same time does not. What was shown is never changed.
// As in Flink, a row before the watermark is late, and dropped.
//
// State  waiting: [partition] -> row; shown: [partition] -> its time. The second is fetched when a
//        row of the partition comes, and ends when the retention is over.
// Order  Of rows that are shown at once: by time, then by the partitions' bytes.
// Costs  O(log partitions) per row.
class EarliestRow : public Operator {
 public:
  explicit EarliestRow(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return shown_.is_partial() ? std::set{slice(1)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(waiting_, shown_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  std::int64_t time_of(const sql::Row& row) const;

  const sql::Rank& rank_;
  RowTable waiting_;
  NumberTable shown_;
  std::set<std::pair<std::int64_t, std::string>> order_;  // Of those that wait.
  Sweeps sweeps_;
};

}  // namespace holdfast::stream::graph
