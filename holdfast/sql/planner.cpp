#include "planner.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/column_pruning.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/prepared_function.hpp>
#include <holdfast/sql/query_planner.hpp>

namespace holdfast::sql {
namespace {

std::vector<ExpressionPointer> columns_as_expressions(const std::vector<Column>& columns,
                                                      std::size_t count) {
  std::vector<ExpressionPointer> expressions;
  for (std::uint32_t i = 0; i < count; ++i)
    expressions.push_back(column_of(i, columns[i].type, {}));
  return expressions;
}

// The last projection gives the columns and types of the sink. Computed columns are no part of it:
// who reads the table computes them.
Result<NodeId> fit_to_sink(PlanGraph& graph, NodeId node, const syntax::QueryStatement& query,
                           const Table& sink) {
  const auto& given = graph.columns(node);
  std::vector<std::uint32_t> written;
  for (std::uint32_t i = 0; i < sink.columns.size(); ++i) {
    if (sink.computed[i] == nullptr) written.push_back(i);
  }
  const std::size_t wanted = query.columns.empty() ? written.size() : query.columns.size();
  if (given.size() != wanted) {
    return error_at(query.at, "the query has " + std::to_string(given.size()) + " columns, " +
                                  escape(sink.name) + " wants " + std::to_string(wanted));
  }
  Scope scope;
  for (const auto& column : sink.columns)
    scope.add(column, sink.name);
  std::vector<ExpressionPointer> placed(sink.columns.size());
  for (std::uint32_t i = 0; i < given.size(); ++i) {
    std::uint32_t column = 0;
    if (query.columns.empty()) {
      column = written[i];
    } else {
      HF_ASSIGN_OR_RETURN(column, find_column(scope, query.columns[i], query.at));
    }
    if (sink.computed[column] != nullptr)
      return error_at(query.at, "the column " + escape(sink.columns[column].name) +
                                    " is computed; nothing can be written to it");
    if (placed[column] != nullptr)
      return error_at(query.at,
                      "the column " + escape(sink.columns[column].name) + " is there twice");
    HF_ASSIGN_OR_RETURN(placed[column],
                        converted(column_of(i, given[i].type, query.at), sink.columns[column].type,
                                  "the column " + escape(sink.columns[column].name)));
  }
  std::vector<ExpressionPointer> values;
  std::vector<Column> columns;
  for (const auto i : written) {
    columns.push_back(sink.columns[i]);
    values.push_back(placed[i] != nullptr ? std::move(placed[i])
                                          : literal_of(Value(), columns.back().type, query.at));
  }
  return graph.project(node, std::move(values), std::move(columns));
}

// A ranking without an end would hold, and change, all rows there ever were.
Status check_ranks(const Plan& plan, Position at) {
  for (const auto& node : plan.nodes) {
    const auto* rank = std::get_if<Rank>(&node.what);
    if (rank != nullptr && rank->last == Rank::kAll)
      return unsupported_at(at, "a ranking without a bound",
                            "SELECT … FROM (SELECT …, ROW_NUMBER() OVER (…) AS n FROM …) WHERE n "
                            "<= 10");
  }
  return {};
}

// The first call, of an operator, of a function that is not deterministic.
class VaryingCall {
 public:
  template <class Other>
  const Expression* operator()(const Other&) const {
    return nullptr;
  }
  const Expression* operator()(const Filter& filter) const { return in(filter.predicate); }
  const Expression* operator()(const Project& project) const { return in(project.expressions); }
  const Expression* operator()(const Unnest& unnest) const { return in(unnest.array); }
  const Expression* operator()(const Rank& rank) const {
    const auto* found = in(rank.partition);
    return found == nullptr ? in(rank.order) : found;
  }
  const Expression* operator()(const Sort& sort) const { return in(sort.keys); }
  const Expression* operator()(const Group& group) const {
    const auto* found = in(group.keys);
    for (const auto& aggregate : group.aggregates) {
      if (found == nullptr) found = in(aggregate.argument);
      if (found == nullptr) found = in(aggregate.filter);
    }
    return found;
  }
  const Expression* operator()(const Join& join) const {
    const auto* found = in(join.condition);
    if (found == nullptr) found = in(join.left_keys);
    return found == nullptr ? in(join.right_keys) : found;
  }

 private:
  static const Expression* in(const ExpressionPointer& e) {
    return e == nullptr ? nullptr : varying_call(*e);
  }
  static const Expression* in(const OrderKey& key) { return in(key.value); }
  template <class Part>
  static const Expression* in(const std::vector<Part>& all) {
    for (const auto& part : all) {
      if (const auto* found = in(part)) return found;
    }
    return nullptr;
  }
};

// A row that is taken back would be another one than the row that came.
Status check_varying_calls(const Plan& plan) {
  for (const auto& node : plan.nodes) {
    const auto* call = std::visit(VaryingCall(), node.what);
    const bool changes = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](auto input) { return plan.nodes[input].updating; });
    if (call != nullptr && changes)
      return unsupported_at(call->at, call->prepared->text() + " of rows that change",
                            "the function is not deterministic");
  }
  return {};
}

}  // namespace

Result<NodeId> QueryPlanner::query(const syntax::Query& query) {
  if (depth_ == kMaxDepth)
    return error_at(query.at,
                    "queries and views are nested deeper than " + std::to_string(kMaxDepth));
  ++depth_;
  common_.emplace_back();
  auto planned = parts(query);
  common_.pop_back();
  --depth_;
  return planned;
}

Result<NodeId> QueryPlanner::parts(const syntax::Query& query) {
  for (const auto& table : query.with) {
    if (common_.back().contains(table.name))
      return error_at(table.at, "there are two common tables " + escape(table.name));
    HF_ASSIGN_OR_RETURN(NodeId node, this->query(*table.query));
    HF_ASSIGN_OR_RETURN(node, renamed(node, table.columns, table.at));
    common_.back().emplace(table.name, node);
  }
  if (query.terms.size() == 1) {
    if (const auto* select = std::get_if<syntax::Select>(&query.terms.front()))
      return select_sorted(query, *select);
  }
  HF_ASSIGN_OR_RETURN(NodeId node, term(query.terms.front()));
  for (std::size_t i = 1; i < query.terms.size(); ++i) {
    HF_ASSIGN_OR_RETURN(const NodeId right, term(query.terms[i]));
    HF_ASSIGN_OR_RETURN(node, combine(node, right, query.between[i - 1], query.at));
  }
  return sorted(query, node);
}

Result<NodeId> QueryPlanner::term(const syntax::Term& term) {
  if (const auto* select = std::get_if<syntax::Select>(&term)) {
    HF_ASSIGN_OR_RETURN(const auto selected, plan_select(*this, *select, {}));
    return selected.node;
  }
  if (const auto* rows = std::get_if<syntax::Values>(&term)) return values(*rows);
  return query(*std::get<std::shared_ptr<const syntax::Query>>(term));
}

Result<NodeId> QueryPlanner::values(const syntax::Values& values) {
  std::vector<Column> columns(values.rows.front().size());
  std::vector<std::vector<ExpressionPointer>> bound;
  Scope scope;
  scope.functions = &catalog_.functions();
  for (const auto& row : values.rows) {
    if (row.size() != columns.size())
      return error_at(values.at, "the rows of VALUES differ in their number of columns");
    bound.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      HF_ASSIGN_OR_RETURN(auto value, bind(*row[i], scope));
      const auto type = common_type(columns[i].type, value->type);
      if (!type || value->type.kind == Kind::kInterval)
        return error_at(row[i]->at, "the column is " + name_of(columns[i].type) + ", this is " +
                                        name_of(value->type));
      columns[i].type = *type;
      bound.back().push_back(std::move(value));
    }
  }
  Literals literals;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].name = "EXPR$" + std::to_string(i);
    if (columns[i].type.kind == Kind::kNull) columns[i].type = kStringType;
  }
  for (auto& row : bound) {
    literals.rows.emplace_back(columns.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto cast = cast_to(std::move(row[i]), columns[i].type);
      HF_RETURN_IF_ERROR(evaluate(*cast, {}, literals.rows.back()[i]));
    }
  }
  return graph_.add(std::move(literals), {}, std::move(columns), false);
}

// ORDER BY of a UNION or VALUES: its columns only.
Result<NodeId> QueryPlanner::sorted(const syntax::Query& query, NodeId node) {
  Scope scope;
  scope.functions = &catalog_.functions();
  for (const auto& column : graph_.columns(node))
    scope.add(column, "");
  std::vector<OrderKey> keys;
  for (const auto& item : query.order_by) {
    HF_ASSIGN_OR_RETURN(auto key, bind(*item.expression, scope));
    HF_RETURN_IF_ERROR(check_order(key->type, item.expression->at));
    keys.push_back({folded(std::move(key)), item.descending, item.nulls_first});
  }
  return limited(query, node, std::move(keys));
}

Result<NodeId> QueryPlanner::select_sorted(const syntax::Query& query,
                                           const syntax::Select& select) {
  HF_ASSIGN_OR_RETURN(auto selected, plan_select(*this, select, query.order_by));
  HF_ASSIGN_OR_RETURN(NodeId node, limited(query, selected.node, std::move(selected.keys)));
  auto shown = graph_.columns(node);
  if (selected.shown == shown.size()) return node;
  auto expressions = columns_as_expressions(shown, selected.shown);
  shown.resize(selected.shown);
  return graph_.project(node, std::move(expressions), std::move(shown));
}

Result<NodeId> QueryPlanner::limited(const syntax::Query& query, NodeId node,
                                     std::vector<OrderKey> keys) {
  if (keys.empty() && !query.limit && !query.offset) return node;
  Sort sort;
  sort.keys = std::move(keys);
  sort.offset = query.offset.value_or(0);
  sort.limit = query.limit.value_or(Sort::kAll);
  sort.at_once = sort.keys.empty() && !graph_.updating(node);
  auto columns = graph_.columns(node);
  for (auto& column : columns)
    column.role = Role::kPlain;
  return graph_.add(std::move(sort), {node}, std::move(columns), false);
}

Result<NodeId> QueryPlanner::renamed(NodeId node, const std::vector<std::string>& names,
                                     Position at) {
  if (names.empty()) return node;
  auto columns = graph_.columns(node);
  if (names.size() != columns.size())
    return error_at(at, "there are " + std::to_string(names.size()) + " names for " +
                            std::to_string(columns.size()) + " columns");
  for (std::size_t i = 0; i < names.size(); ++i)
    columns[i].name = names[i];
  auto expressions = columns_as_expressions(columns, columns.size());
  return graph_.project(node, std::move(expressions), std::move(columns));
}

Result<NodeId> QueryPlanner::named(const std::string& name, Position at) {
  for (auto around = common_.rbegin(); around != common_.rend(); ++around) {
    if (const auto found = around->find(name); found != around->end()) return found->second;
  }
  if (const auto known = views_.find(name); known != views_.end()) return known->second;
  if (const View* view = catalog_.find_view(name)) {
    // What a view says knows nothing of the common tables around it.
    std::vector<std::map<std::string, NodeId>> none;
    std::swap(common_, none);
    auto node = query(*view->query);
    std::swap(common_, none);
    if (!node) return std::move(node).pass_on();
    HF_ASSIGN_OR_RETURN(const NodeId shown, renamed(*node, view->columns, at));
    views_.emplace(name, shown);
    return shown;
  }
  HF_ASSIGN_OR_RETURN(const Table* table, catalog_.find(name, at));
  return graph_.add(Scan{table, false}, {}, table->columns, false);
}

Result<Plan> plan_of(const syntax::QueryStatement& statement, const Catalog& catalog,
                     const Lateness& lateness) {
  QueryPlanner planner(catalog, lateness);
  HF_ASSIGN_OR_RETURN(NodeId node, planner.query(*statement.query));
  PlanGraph& graph = planner.graph();
  const Table* sink = nullptr;
  if (!statement.into.empty()) {
    HF_ASSIGN_OR_RETURN(sink, catalog.find(statement.into, statement.at));
    HF_ASSIGN_OR_RETURN(node, fit_to_sink(graph, node, statement, *sink));
  }
  if (!std::holds_alternative<Project>(graph.at(node).what)) {
    auto columns = graph.columns(node);
    auto expressions = columns_as_expressions(columns, columns.size());
    HF_ASSIGN_OR_RETURN(node, graph.project(node, std::move(expressions), std::move(columns)));
  }
  Plan plan = std::move(graph).plan_from(node);
  plan.sink = sink;
  HF_RETURN_IF_ERROR(check_ranks(plan, statement.at));
  HF_RETURN_IF_ERROR(check_varying_calls(plan));
  return without_unread_columns(std::move(plan));
}

}  // namespace holdfast::sql
