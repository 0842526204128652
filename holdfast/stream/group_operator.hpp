// group_operator.hpp: rows into groups, and groups into rows when their window ends.
//
// A row is late for a window when window_end - 1 ms <= watermark, judged by the watermark before
// the row. A row that is late for all its windows is dropped and counted. Windows that end
// together are given in the order of their ends, their groups in the order of the keys' bytes.
//
// Threads  One at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/window_state.hpp>

namespace holdfast::stream {

class GroupOperator {
 public:
  using Emit = FunctionRef<Status(sql::Row& row)>;
  // What was gathered for windows up to this end: instead of ending them.
  using HandOver = std::function<void(std::int64_t end, SliceMap slices)>;

  GroupOperator(const sql::Group& group, StateStore* store)
      : group_(group), state_(group.aggregates, store) {}

  // After a checkpoint: its state, and the watermark it was taken at.
  Status restore(std::int64_t watermark);
  Status add(const sql::Row& row);
  // Ends the windows that `watermark` has passed; kEndOfTime ends all.
  Status advance(std::int64_t watermark, Emit emit);
  // Called for one of several workers, before any row: workers/part.hpp.
  void become_part(std::int64_t watermark, HandOver hand_over) {
    watermark_ = watermark;
    hand_over_ = std::move(hand_over);
  }
  // Of rows to come, only those with these keys are added.
  void own(std::uint32_t number, std::uint32_t of) {
    number_ = number;
    of_ = of;
  }
  void give_rest();
  void absorb(SliceMap slices);
  Status put_state() { return state_.put_all(); }
  const std::set<std::int64_t>& stored_slices() const { return state_.stored_slices(); }
  Status visit_entries(Operators::VisitEntry visit) const { return state_.visit_entries(visit); }

  std::uint64_t entries() const { return state_.entries(); }
  std::uint64_t bytes() const { return state_.bytes(); }
  std::uint64_t late_rows() const { return late_rows_; }
  std::uint64_t rows_without_time() const { return rows_without_time_; }
  void set_counters(std::uint64_t late, std::uint64_t without_time) {
    late_rows_ = late;
    rows_without_time_ = without_time;
  }

 private:
  Status key_of(const sql::Row& row);
  bool is_ours() const;
  bool slice_of(const sql::Row& row, std::int64_t& slice);
  std::int64_t first_open_end(std::int64_t slice) const;
  std::int64_t start_of(std::int64_t window_end) const;
  std::int64_t last_end(std::int64_t slice) const;
  Status fire(std::int64_t window_end, Emit emit);
  Status emit_group(std::string_view key, const Accumulators& accumulators, std::int64_t window_end,
                    Emit emit);

  const sql::Group& group_;
  WindowState state_;
  std::int64_t watermark_ = kNoWatermark;
  std::int64_t next_end_ = kEndOfTime;  // Of the first window that is open and not empty.
  std::uint64_t late_rows_ = 0, rows_without_time_ = 0;
  std::string key_;
  HandOver hand_over_;  // Empty: this is no part.
  std::uint32_t number_ = 0, of_ = 1;
};

}  // namespace holdfast::stream
