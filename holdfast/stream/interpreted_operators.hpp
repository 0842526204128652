// interpreted_operators.hpp: the operators of a plan, interpreted. They start at once, and do all
// that a plan can say.
#pragma once

#include <memory>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/group_operator.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/sink.hpp>

namespace holdfast::stream {

class InterpretedOperators : public Operators {
 public:
  // Whether a plan is one chain: conditions, one window or group, conditions, a projection.
  static bool can_run(const sql::Plan& plan);
  // All outlive it. `store` may be null: no checkpoints.
  InterpretedOperators(const sql::Plan& plan, Sink& sink, StateStore* store);

  // First of all where there is a checkpoint: its counts; the groups come from the state store.
  Status restore(const OperatorCounts& counts);
  Result<Progress> take(Source& source) override;
  Status end() override { return advance(kEndOfTime); }
  Status put_state() override { return group_ == nullptr ? Status() : group_->put_state(); }
  OperatorCounts counts() const override;
  std::set<std::int64_t> stored_slices() const override;
  Status visit_entries(VisitEntry visit) const override;

 private:
  Status take_row(sql::Row& row);
  Status follow_watermark(const sql::Row& row);
  Status pass_on(std::size_t node, sql::Row& row);
  Status assign(const sql::AssignWindows& windows, std::size_t node, const sql::Row& row);
  Status advance(std::int64_t watermark);

  const sql::Plan& plan_;
  Sink& sink_;
  std::unique_ptr<GroupOperator> group_;
  std::size_t group_node_ = 0;
  std::int64_t watermark_ = kNoWatermark;
  std::uint64_t rows_without_time_ = 0, rows_out_ = 0;
  sql::Row row_;
};

}  // namespace holdfast::stream
