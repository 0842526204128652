// UNION, INTERSECT and EXCEPT; NOT IN; queries that are values.
#include <algorithm>
#include <utility>

#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/query_planner.hpp>

namespace holdfast::sql {
namespace {

using Expressions = std::vector<ExpressionPointer>;

ExpressionPointer truth(bool value) {
  return literal_of(Value::of(value ? 1 : 0), kBooleanType, {});
}

ExpressionPointer of_one(Operation operation, ExpressionPointer operand) {
  const auto at = operand->at;
  return made(operation, kBooleanType, at, std::move(operand));
}

Expressions columns_as_expressions(const std::vector<Column>& columns) {
  Expressions expressions;
  for (std::uint32_t i = 0; i < columns.size(); ++i)
    expressions.push_back(column_of(i, columns[i].type, {}));
  return expressions;
}

std::string_view name_of(syntax::SetOperation operation) {
  if (operation == syntax::SetOperation::kIntersect) return "INTERSECT";
  return operation == syntax::SetOperation::kExcept ? "EXCEPT" : "UNION";
}

// One row if `node` has any; else none.
Result<NodeId> any_row(PlanGraph& graph, NodeId node) {
  Expressions yes;
  yes.push_back(truth(true));
  HF_ASSIGN_OR_RETURN(const NodeId rows,
                      graph.project(node, std::move(yes), {{"any", kBooleanType}}));
  return distinct_of(graph, rows);
}

}  // namespace

Result<NodeId> QueryPlanner::combine(NodeId left, NodeId right, syntax::SetOperation operation,
                                     Position at) {
  const std::string name(name_of(operation));
  auto columns = graph_.columns(left);
  const auto& others = graph_.columns(right);
  if (columns.size() != others.size())
    return error_at(at, "the branches of " + name + " have " + std::to_string(columns.size()) +
                            " and " + std::to_string(others.size()) + " columns");
  auto of_left = columns_as_expressions(columns), of_right = columns_as_expressions(others);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto type = common_type(columns[i].type, others[i].type);
    if (!type)
      return error_at(at, "column " + std::to_string(i + 1) + " of " + name + " is " +
                              sql::name_of(columns[i].type) + " and " +
                              sql::name_of(others[i].type));
    if (columns[i].role != others[i].role) columns[i].role = Role::kPlain;
    columns[i].type = *type;
    of_left[i] = cast_to(std::move(of_left[i]), *type);
    of_right[i] = cast_to(std::move(of_right[i]), *type);
  }
  const bool meets =
      operation == syntax::SetOperation::kIntersect || operation == syntax::SetOperation::kExcept;
  if (meets) {  // The last column says of which branch a row is.
    for (auto& column : columns)
      column.role = Role::kPlain;
    columns.push_back({"$left", kBooleanType});
    of_left.push_back(truth(true));
    of_right.push_back(truth(false));
  }
  HF_ASSIGN_OR_RETURN(left, graph_.project(left, std::move(of_left), columns));
  HF_ASSIGN_OR_RETURN(right, graph_.project(right, std::move(of_right), columns));
  if (meets) {
    const bool common = operation == syntax::SetOperation::kIntersect;
    return meet(left, right, common, std::move(columns));
  }
  const bool changes = graph_.updating(left) || graph_.updating(right);
  HF_ASSIGN_OR_RETURN(const NodeId both,
                      graph_.add(Union{}, {left, right}, std::move(columns), changes));
  if (operation == syntax::SetOperation::kUnionAll) return both;
  return distinct_of(graph_, both);
}

// Groups of equal rows, NULL being equal to NULL, with their counts on either side.
Result<NodeId> QueryPlanner::meet(NodeId left, NodeId right, bool keeps_common,
                                  std::vector<Column> columns) {
  const bool changing = graph_.updating(left) || graph_.updating(right);
  HF_ASSIGN_OR_RETURN(const NodeId both, graph_.add(Union{}, {left, right}, columns, changing));
  Group group;
  const auto side = static_cast<std::uint32_t>(columns.size() - 1);
  columns.pop_back();
  group.keys = columns_as_expressions(columns);
  auto counted = columns;
  for (const bool of_left : {true, false}) {
    Aggregate count;
    count.kind = AggregateKind::kCountRows;
    count.type = kBigIntType;
    count.filter = column_of(side, kBooleanType, {});
    if (!of_left) count.filter = of_one(Operation::kNot, std::move(count.filter));
    group.aggregates.push_back(std::move(count));
    counted.push_back({of_left ? "$lefts" : "$rights", kBigIntType});
  }
  HF_ASSIGN_OR_RETURN(NodeId node, graph_.add(std::move(group), {both}, std::move(counted), true));
  Expressions conditions;
  for (const bool of_left : {true, false}) {
    auto test = std::make_unique<Expression>();
    test->operation = of_left || keeps_common ? Operation::kGreater : Operation::kEqual;
    test->type = kBooleanType;
    test->arguments.push_back(column_of(side + (of_left ? 0 : 1), kBigIntType, {}));
    test->arguments.push_back(literal_of(Value::of(0), kBigIntType, {}));
    conditions.push_back(std::move(test));
  }
  HF_ASSIGN_OR_RETURN(node, graph_.filter(node, conjunction_of(std::move(conditions))));
  auto shown = columns_as_expressions(columns);
  return graph_.project(node, std::move(shown), std::move(columns));
}

// value NOT IN (query): rows for which value = member is false for all members. So a NULL among the
// members leaves none, and a NULL as the value is kept only where there are no members.
Status QueryPlanner::keep_others(Relation& relation, Relation right, ExpressionPointer value,
                                 ExpressionPointer member, Expressions conditions) {
  const std::size_t width = graph_.columns(relation.node).size();
  const auto at = value->at;
  const bool alone = std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    const auto columns = columns_of(*condition);
    return columns.empty() || columns.front() >= width;
  });
  const auto member_columns = columns_of(*member);
  HF_ASSIGN_OR_RETURN(auto same, equal_of(clone(*value), clone(*member), at));
  same = folded(std::move(same));
  const auto drop = [&](NodeId of, ExpressionPointer condition) -> Status {
    HF_ASSIGN_OR_RETURN(relation.node, graph_.join(syntax::JoinKind::kAnti, relation.node, of,
                                                   std::move(condition)));
    return {};
  };
  if (!alone || (!member_columns.empty() && member_columns.front() < width)) {
    // The members depend on the row: each is looked at.
    conditions.push_back(of_one(Operation::kNot, of_one(Operation::kIsFalse, std::move(same))));
    return drop(right.node, conjunction_of(std::move(conditions)));
  }
  // Three joins that each have a key or a right side of one row.
  Expressions below;
  for (auto& condition : conditions)
    below.push_back(moved(*condition, -static_cast<std::int64_t>(width)));
  NodeId members = right.node;
  if (auto all = conjunction_of(std::move(below)); all != nullptr) {
    HF_ASSIGN_OR_RETURN(members, graph_.filter(members, std::move(all)));
  }
  HF_RETURN_IF_ERROR(drop(members, std::move(same)));
  HF_ASSIGN_OR_RETURN(const NodeId any, any_row(graph_, members));
  HF_RETURN_IF_ERROR(drop(any, of_one(Operation::kIsNull, std::move(value))));
  auto null_member = of_one(Operation::kIsNull, moved(*member, -static_cast<std::int64_t>(width)));
  HF_ASSIGN_OR_RETURN(const NodeId nulls, graph_.filter(members, std::move(null_member)));
  HF_ASSIGN_OR_RETURN(const NodeId any_null, any_row(graph_, nulls));
  return drop(any_null, nullptr);
}

Result<NodeId> QueryPlanner::single_value(const syntax::Expression& e) {
  HF_ASSIGN_OR_RETURN(const NodeId node, query(*e.query));
  const auto columns = graph_.columns(node);
  if (columns.size() != 1)
    return error_at(
        e.at, "a query that is a value has one column, this has " + std::to_string(columns.size()));
  NodeId below = node;
  if (std::holds_alternative<Project>(graph_.at(node).what)) below = graph_.at(node).inputs[0];
  const auto* group = std::get_if<Group>(&graph_.at(below).what);
  if (group != nullptr && group->keys.empty() && !group->windowed) return node;
  Aggregate single;
  single.kind = AggregateKind::kSingle;
  single.argument = column_of(0, columns[0].type, e.at);
  single.type = columns[0].type;
  single.at = e.at;
  Group one;
  one.aggregates.push_back(std::move(single));
  return graph_.add(std::move(one), {node}, {{"$single", columns[0].type}}, true);
}

}  // namespace holdfast::sql
