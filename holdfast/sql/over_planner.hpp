// over_planner.hpp: the functions with OVER of a SELECT, as operators: one for each window.
//
// Functions whose windows are written alike share one operator. Those of other windows follow one
// another: a row passes all of them, and one that is late for one of them is dropped.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan_graph.hpp>
#include <holdfast/sql/scope.hpp>

namespace holdfast::sql {

class OverPlanner {
 public:
  explicit OverPlanner(PlanGraph& graph) : graph_(graph) {}

  // Where a binder puts what it finds.
  std::vector<OverCall>& calls() { return calls_; }
  bool empty() const { return calls_.empty(); }
  // Keys and order of each window; once. Aggregates in them are gathered in `aggregates`, and are
  // an error unless the rows are `grouped`.
  Status bind_windows(const Scope& scope, std::vector<Aggregate>& aggregates, bool grouped);
  // All that reads the rows' columns.
  std::vector<ExpressionPointer*> expressions();
  // The rows of `node`, each with a column per function behind it.
  Result<NodeId> add_to(NodeId node);
  // After add_to(): the same, with its columns in the place of the functions.
  ExpressionPointer placed(ExpressionPointer expression) const;

 private:
  struct Window {
    const syntax::Over* over;
    Position at;
    bool ranks, lags;
    std::vector<ExpressionPointer> partition;
    std::vector<OrderKey> order;
    std::vector<std::size_t> calls;
  };
  Window& window_of(std::size_t call);
  static const Column* time_of(const Window& window, const std::vector<Column>& columns);
  Status check_times(const std::vector<Column>& columns) const;
  Result<NodeId> add_window(Window& window, NodeId node);
  Result<NodeId> rank(Window& window, NodeId node, std::vector<Column> columns);
  Result<NodeId> aggregate(Window& window, NodeId node, std::vector<Column> columns);

  PlanGraph& graph_;
  std::vector<OverCall> calls_;
  std::vector<Window> windows_;
  std::vector<std::uint32_t> places_;  // Of each call: its column.
  bool bound_ = false;
};

}  // namespace holdfast::sql
