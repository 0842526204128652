// interpreted_operators.hpp: the operators of a plan, interpreted. They start at once, and do all
// that a plan can say.
#pragma once

#include <memory>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/group_operator.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::stream {

class InterpretedOperators : public MergingOperators {
 public:
  // Whether a plan is one chain: conditions, one window or group, conditions, a projection. Groups
  // without a window are given when the input ends: `at_the_end` says that this is wanted.
  static bool can_run(const sql::Plan& plan, bool at_the_end);
  // Whether such a plan can have several workers; else why not.
  static Status can_split(const sql::Plan& plan, bool at_the_end);
  // All outlive it. `store` may be null: no checkpoints.
  InterpretedOperators(const sql::Plan& plan, Sink& sink, StateStore* store);

  Status restore(const OperatorCounts& counts) override;
  Result<Progress> take(Source& source) override;
  Status end() override { return advance(kEndOfTime); }
  Status put_state() override { return group_ == nullptr ? Status() : group_->put_state(); }
  OperatorCounts counts() const override;
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override;
  Status visit_entries(VisitEntry visit) const override;
  std::unique_ptr<Part> make_part(std::int64_t watermark, Part::Give give) const override;
  void absorb(Parcel& parcel) override;
  const sql::Plan& plan() const override { return plan_; }
  Status advance(std::int64_t watermark) override;

 private:
  Status take_row(sql::Row& row);
  Status follow_watermark(const sql::Row& row);
  Status pass_on(std::size_t node, sql::Row& row);
  Status assign(const sql::AssignWindows& windows, std::size_t node, const sql::Row& row);

  const sql::Plan& plan_;
  Sink& sink_;
  std::unique_ptr<GroupOperator> group_;
  std::size_t group_node_ = 0;
  std::int64_t watermark_ = kNoWatermark;
  std::uint64_t rows_without_time_ = 0, rows_out_ = 0;
  std::vector<std::uint64_t> given_;  // By node: rows that it gave to the next.
  sql::Row row_;
};

}  // namespace holdfast::stream
