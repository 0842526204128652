// query_planner.hpp: queries within queries, and the names that stand for them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/plan_graph.hpp>

namespace holdfast::sql {

// A window table function that has not been applied yet: a GROUP BY of its windows may do so.
struct Windowing {
  std::string function;
  Window window;  // Of SESSION: the gap is its size.
  std::vector<std::uint32_t> partition;
  Position at;
};

// What FROM gives: a node, and what its columns are called. Behind the columns of the node are
// those of `windowing`.
struct Relation {
  NodeId node = 0;
  Scope scope;
  std::optional<Windowing> windowing;
};

class QueryPlanner {
 public:
  QueryPlanner(const Catalog& catalog, const Lateness& lateness)
      : catalog_(catalog), lateness_(lateness) {}

  PlanGraph& graph() { return graph_; }
  const Lateness& lateness() const { return lateness_; }
  Result<NodeId> query(const syntax::Query& query);
  // A common table, a view or a table.
  Result<NodeId> named(const std::string& name, Position at);
  // table_planner.cpp: one of FROM, and all of it.
  Result<Relation> table(const syntax::TableReference& reference);
  Result<Relation> from(const syntax::Select& select);
  // Assigns the windows of `relation`, if it has any.
  Status assign_windows(Relation& relation);
  Status assign_sessions(Relation& relation, std::vector<ExpressionPointer> keys);
  // The column of a window's time. One of PROCTIME() takes the time of the clock from here on. Of
  // instants it is a further column: their wall clock.
  Result<std::uint32_t> time_of_window(Relation& relation, const std::string& name, Position at,
                                       const std::string& qualifier = {});
  // IN (query) or EXISTS (query), a condition of WHERE: keeps the rows of `relation` for which it
  // holds.
  Status keep_matches(Relation& relation, const syntax::Expression& test);
  // set_planner.cpp: a query that is a value, as a node of one column and at most one row.
  Result<NodeId> single_value(const syntax::Expression& e);

 private:
  Result<NodeId> parts(const syntax::Query& query);
  Result<NodeId> term(const syntax::Term& term);
  Result<NodeId> values(const syntax::Values& values);
  // set_planner.cpp
  Result<NodeId> combine(NodeId left, NodeId right, syntax::SetOperation operation, Position at);
  Result<NodeId> meet(NodeId left, NodeId right, bool keeps_common, std::vector<Column> columns);
  Status keep_others(Relation& relation, Relation right, ExpressionPointer value,
                     ExpressionPointer member, std::vector<ExpressionPointer> conditions);
  Result<NodeId> sorted(const syntax::Query& query, NodeId node);
  Result<NodeId> select_sorted(const syntax::Query& query, const syntax::Select& select);
  Result<NodeId> limited(const syntax::Query& query, NodeId node, std::vector<OrderKey> keys);
  Result<NodeId> renamed(NodeId node, const std::vector<std::string>& names, Position at);
  Result<Relation> join(Relation left, const syntax::Join& join);
  Result<Relation> one_row();
  // unnest_planner.cpp. Without a `join` it is all of FROM.
  Result<Relation> unnest(Relation left, const syntax::TableReference& table,
                          const syntax::Join* join);
  Result<Relation> join_as_of(Relation left, const syntax::Join& join);
  Result<ExpressionPointer> join_condition(const syntax::Join& join, Scope& scope,
                                           std::size_t left);
  Status add_window(Relation& relation, const syntax::WindowCall& call);
  Result<std::uint32_t> at_wall_time(Relation& relation, std::uint32_t column, Position at);
  Result<NodeId> versions_of(NodeId node, std::vector<std::uint32_t>& key, Position at);

  const Catalog& catalog_;
  const Lateness lateness_;
  PlanGraph graph_;
  std::vector<std::map<std::string, NodeId>> common_;  // Of the queries around, outermost first.
  std::map<std::string, NodeId> views_;
  std::uint32_t depth_ = 0;
};

// select_planner.cpp: a SELECT; of `order` the keys, which may read columns behind the `shown`.
struct Selected {
  NodeId node = 0;
  std::vector<OrderKey> keys;
  std::size_t shown = 0;
};
Result<Selected> plan_select(QueryPlanner& planner, const syntax::Select& select,
                             const std::vector<syntax::OrderItem>& order);
// SELECT DISTINCT of all columns.
Result<NodeId> distinct_of(PlanGraph& graph, NodeId node);

}  // namespace holdfast::sql
