// plan_graph.hpp: nodes of a plan as a planner makes them: equal ones once, conditions as far down
// as they may go, projections merged.
//
// Errors  kUnsupported: more than kMaxNodes nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>

namespace holdfast::sql {

using NodeId = std::uint32_t;

class PlanGraph {
 public:
  const Node& at(NodeId node) const { return nodes_[node]; }
  const std::vector<Column>& columns(NodeId node) const { return nodes_[node].columns; }
  bool updating(NodeId node) const { return nodes_[node].updating; }
  // Whether the times of a node are those of the clock, or some of them.
  bool follows_clock(NodeId node) const;

  Result<NodeId> add(Operator what, std::vector<NodeId> inputs, std::vector<Column> columns,
                     bool updating);
  // Adds a node with the same kind of rows as `input`.
  Result<NodeId> add_like(Operator what, NodeId input);
  Result<NodeId> filter(NodeId input, ExpressionPointer predicate);
  // Merged with the projection that `input` is, if that computes nothing twice.
  Result<NodeId> project(NodeId input, std::vector<ExpressionPointer> expressions,
                         std::vector<Column> columns);
  // Rows of `left` beside those of `right` that hold `condition`, which reads both.
  Result<NodeId> join(JoinKind kind, NodeId left, NodeId right, ExpressionPointer condition);
  // Each row of `left` beside that of `right` at the time of column `left_time` of it, or beside
  // what is in `right` now.
  Result<NodeId> join_as_of(JoinKind kind, NodeId left, NodeId right, ExpressionPointer condition,
                            bool lookup, std::uint32_t left_time, std::uint32_t right_time);
  // Rows of `node`, which change nothing, each with the time of the clock in this column of
  // PROCTIME(): a time attribute from here on.
  Result<NodeId> at_clock(NodeId node, std::uint32_t column);
  // Decides which form the joins at the top of `node` have. Errors: kUnsupported.
  Result<NodeId> settle(NodeId node, Position at);

  // What `root` reads, in an order of inputs first.
  Plan plan_from(NodeId root) &&;

 private:
  Result<NodeId> filter_by(NodeId input, std::vector<ExpressionPointer> conditions);
  Result<NodeId> filter_projection(NodeId input, std::vector<ExpressionPointer> conditions);
  Result<NodeId> filter_join(NodeId input, std::vector<ExpressionPointer> conditions);
  const Column* one_row_by(const Rank& rank, NodeId input, bool descending) const;
  Result<NodeId> filter_rank(NodeId projection, std::vector<ExpressionPointer> conditions);
  Result<NodeId> settle_join(NodeId node, Position at);
  NodeId copy(NodeId node, Plan& plan, std::vector<NodeId>& places);

  std::vector<Node> nodes_;
  std::map<std::string, NodeId> known_;  // By what they say and read.
};

}  // namespace holdfast::sql
