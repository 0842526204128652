#include "make_operator.hpp"

#include <variant>

#include <holdfast/stream/graph/corrected_groups.hpp>
#include <holdfast/stream/graph/delayed_changes.hpp>
#include <holdfast/stream/graph/earliest_row.hpp>
#include <holdfast/stream/graph/group_operators.hpp>
#include <holdfast/stream/graph/join_operators.hpp>
#include <holdfast/stream/graph/over_operators.hpp>
#include <holdfast/stream/graph/processing_time.hpp>
#include <holdfast/stream/graph/rank_operators.hpp>
#include <holdfast/stream/graph/row_windows.hpp>
#include <holdfast/stream/graph/simple_operators.hpp>
#include <holdfast/stream/graph/sort_rows.hpp>

namespace holdfast::stream::graph {
namespace {

constexpr std::int64_t kSlicesOfOperator = std::int64_t{1} << 50;

// The operator of each kind of node.
class Make {
 public:
  // `retracts`: rows of the input may be taken back.
  Make(const Parts& parts, bool retracts) : parts_(parts), retracts_(retracts) {}

  using Made = std::unique_ptr<Operator>;
  Made operator()(const sql::Scan&) const { return std::make_unique<PassRows>(parts_); }
  Made operator()(const sql::Literals&) const { return std::make_unique<PassRows>(parts_); }
  Made operator()(const sql::Union&) const { return std::make_unique<PassRows>(parts_); }
  Made operator()(const sql::Filter&) const { return std::make_unique<FilterRows>(parts_); }
  Made operator()(const sql::Project&) const { return std::make_unique<ProjectRows>(parts_); }
  Made operator()(const sql::AssignWindows&) const {
    return std::make_unique<AssignWindowRows>(parts_);
  }
  Made operator()(const sql::AssignSessions&) const {
    return std::make_unique<AssignSessionRows>(parts_);
  }
  Made operator()(const sql::ProcessingTime&) const { return std::make_unique<ClockRows>(parts_); }
  Made operator()(const sql::WallClock&) const { return std::make_unique<WallClockRows>(parts_); }
  Made operator()(const sql::Group& group) const {
    if (group.row_size != 0) return std::make_unique<RowWindows>(parts_);
    if (!group.windowed) return std::make_unique<RunningGroups>(parts_, retracts_);
    if (group.lateness_ms != 0) return std::make_unique<CorrectedGroups>(parts_, retracts_);
    if (group.by_columns) return std::make_unique<WindowGroups>(parts_);
    return std::make_unique<SliceGroups>(parts_);
  }
  Made operator()(const sql::DelayChanges&) const {
    return std::make_unique<DelayedChanges>(parts_);
  }
  Made operator()(const sql::Join& join) const {
    switch (join.form) {
      case sql::JoinForm::kWindow: return std::make_unique<WindowJoin>(parts_);
      case sql::JoinForm::kInterval: return std::make_unique<IntervalJoin>(parts_);
      case sql::JoinForm::kTemporal: return std::make_unique<TemporalJoin>(parts_);
      case sql::JoinForm::kLookup: return std::make_unique<LookupJoin>(parts_);
      default: return std::make_unique<RegularJoin>(parts_);
    }
  }
  Made operator()(const sql::Unnest&) const { return std::make_unique<UnnestRows>(parts_); }
  Made operator()(const sql::Rank& rank) const {
    if (rank.by_columns) return std::make_unique<WindowRank>(parts_);
    if (rank.earliest) return std::make_unique<EarliestRow>(parts_);
    return std::make_unique<RunningRank>(parts_, retracts_);
  }
  Made operator()(const sql::OverAggregate&) const { return std::make_unique<OverRows>(parts_); }
  Made operator()(const sql::Sort& sort) const {
    if (sort.at_once) return std::make_unique<FirstRows>(parts_);
    return std::make_unique<SortRows>(parts_);
  }
  Made operator()(const sql::Materialize&) const { return std::make_unique<SortRows>(parts_); }

 private:
  const Parts& parts_;
  const bool retracts_;
};

}  // namespace

std::unique_ptr<Operator> make_operator(const sql::Plan& plan, std::size_t node, StateStore* store,
                                        const Retention& retention, LateRows* late_rows) {
  const auto& what = plan.nodes[node];
  Parts parts{what,      {},   store,    static_cast<std::int64_t>(node + 1) * kSlicesOfOperator,
              retention, node, late_rows};
  bool retracts = false;
  for (const auto input : what.inputs) {
    parts.inputs.push_back(&plan.nodes[input].columns);
    retracts = retracts || plan.nodes[input].updating;
  }
  return std::visit(Make(parts, retracts), what.what);
}

OutputRows::OutputRows(const sql::Plan& plan, Sink& sink)
    : Operator(Parts{plan.nodes.back(), {&plan.columns()}, nullptr, 0}), sink_(sink) {}

}  // namespace holdfast::stream::graph
