// over_operators.hpp: aggregates over rows before a row.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream/group_operator.hpp>

namespace holdfast::stream::graph {

// Aggregates of rows up to each row, in the order of their times. A row waits until the watermark
// has passed its time. Flink has two rules of what is late. With a frame without an end it is a row
// whose time the watermark has passed before it comes. Else it is a row behind one of its partition
// that has this time or a later one, and has not waited any more.
//
// Rows as they come (of processing time) do not wait: their number in their partition stands for
// their time, and none is late.
//
// With a frame of times a partition is forgotten when the watermark is behind its last row by the
// frame and half as much again, as Flink does; any other when no row of it has come for the
// retention. Rows that wait are in memory. All else of a partition that memory does not have is
// fetched when a row of it comes.
//
// State  waiting: [time, number] -> row; frames: [partition, time, number] -> row; sums: partition
//        -> accumulators of all rows before, where the frame has no end; passed: partition -> time
//        of the last row.
class OverRows : public Operator {
 public:
  explicit OverRows(const Parts& parts);
  StateSize state_size() const override { return size_of(waiting_, frames_, sums_, passed_); }
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override;
  std::set<std::int64_t> stored_slices() const override {
    return is_partial() ? std::set{slice(1), slice(2), slice(3)} : std::set<std::int64_t>();
  }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct Codec {
    const sql::OverAggregate* over;
    void encode(const Accumulators& accumulators, std::string& bytes) const;
    bool decode(std::string_view& bytes, Accumulators& accumulators) const;
  };
  // When the last row was; where a watermark ends the partition, when it does.
  struct PassedCodec : NumberCodec {
    const OverRows* rows;
    std::optional<std::int64_t> end_of(std::string_view, std::int64_t passed) const {
      if (!rows->ends_by_time()) return {};
      return rows->end_of(passed) - 1;
    }
  };
  using Passed = StateTable<std::int64_t, PassedCodec>;
  using Rows = std::vector<sql::Row>;
  bool is_partial() const { return passed_.is_partial(); }
  // All of a partition but what waits.
  Status fetch(const std::string& partition);
  Status leave();
  Status end_stored(std::int64_t until);
  bool has_ended(const Passed::Entry& passed, std::int64_t until) const;
  std::set<std::string> waiting_partitions() const;
  Result<std::string> partition_of(const sql::Row& row) const;
  Status take_at_once(const sql::Row& row);
  Status add(const sql::Row& row, Accumulators& accumulators) const;
  Status show(const sql::Row& row, const Accumulators& accumulators);
  Status give(const std::string& partition, std::int64_t time, const Rows& peers);
  Status give_bounded(const std::string& partition, std::int64_t time, const Rows& peers);
  Status gather_frame(const std::string& partition, std::int64_t time, Accumulators& accumulators);
  Status give_until(std::int64_t watermark);
  Status forget(const std::string& partition);
  Status end_idle(std::int64_t oldest_ms);
  bool ends_by_time() const { return !over_.rows && !unbounded(); }
  std::int64_t end_of(std::int64_t passed) const {
    return passed + over_.preceding + over_.preceding / 2 + 1;
  }
  bool unbounded() const { return over_.preceding == sql::OverAggregate::kUnbounded; }

  const sql::OverAggregate& over_;
  RowTable waiting_, frames_;
  StateTable<Accumulators, Codec> sums_;
  Passed passed_;
  std::set<std::pair<std::int64_t, std::string>> ends_;  // Of partitions that end by time.
  std::int64_t next_number_ = 0;
  std::int64_t oldest_ms_ = kNoWatermark;  // What has been idle since then has ended.
  bool looks_at_stored_ = false;           // For what has ended: once behind each checkpoint.
  Sweeps sweeps_;
};

}  // namespace holdfast::stream::graph
