// UNNEST: the elements of an array beside the row that has it.
#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/query_planner.hpp>

namespace holdfast::sql {
namespace {

// The columns that an element, or an entry of a map, becomes.
Result<std::vector<Column>> columns_of_element(const Expression& array) {
  const Type& type = array.type;
  if (type.kind == Kind::kMap)
    return std::vector<Column>{{"KEY", type.nested->fields[0].type},
                               {"VALUE", type.nested->fields[1].type}};
  if (type.kind != Kind::kArray)
    return error_at(array.at, "UNNEST wants an ARRAY or a MAP, this is " + name_of(type));
  const Type& element = element_of(type);
  if (element.kind != Kind::kRow) return std::vector<Column>{{"EXPR$0", element}};
  std::vector<Column> columns;
  for (const auto& field : element.nested->fields)
    columns.push_back({field.name, field.type});
  return columns;
}

bool is_true(const syntax::Expression* on) {
  return on == nullptr || on->form == syntax::Form::kTrue;
}

}  // namespace

Result<Relation> QueryPlanner::unnest(Relation left, const syntax::TableReference& table,
                                      const syntax::Join* join) {
  const auto kind = join == nullptr ? syntax::JoinKind::kInner : join->kind;
  const auto* on = join == nullptr ? nullptr : join->on.get();
  if (kind != syntax::JoinKind::kInner && kind != syntax::JoinKind::kLeft)
    return unsupported_at(table.at, "this join with UNNEST", "CROSS JOIN and LEFT JOIN are");
  if (table.as_of != nullptr) return unsupported_at(table.at, "FOR SYSTEM_TIME AS OF with UNNEST");
  if (!is_true(on) || (join != nullptr && !join->using_columns.empty()))
    return unsupported_at(table.at, "a condition of a join with UNNEST",
                          "write ON TRUE, and the condition in WHERE");
  Unnest unnest;
  unnest.keeps_all = kind == syntax::JoinKind::kLeft;
  unnest.numbered = table.with_ordinality;
  HF_ASSIGN_OR_RETURN(unnest.array, bind(*table.unnest, left.scope));
  unnest.array = folded(std::move(unnest.array));
  HF_ASSIGN_OR_RETURN(auto shown, columns_of_element(*unnest.array));
  if (unnest.numbered) shown.push_back({"ORDINALITY", kIntType});
  if (!table.columns.empty() && table.columns.size() != shown.size())
    return error_at(table.at, "UNNEST has " + std::to_string(shown.size()) + " columns, " +
                                  std::to_string(table.columns.size()) + " names are given");
  // A join below gets no further conditions.
  HF_ASSIGN_OR_RETURN(left.node, graph_.settle(left.node, table.at));
  auto columns = graph_.columns(left.node);
  for (std::size_t i = 0; i < columns.size(); ++i)
    left.scope.columns[i].role = columns[i].role;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!table.columns.empty()) shown[i].name = table.columns[i];
    left.scope.add(shown[i], table.alias);
    columns.push_back(std::move(shown[i]));
  }
  if (columns.size() > kMaxColumns)
    return error_at(table.at, "more than " + std::to_string(kMaxColumns) + " columns");
  const bool changes = graph_.updating(left.node);
  HF_ASSIGN_OR_RETURN(left.node,
                      graph_.add(std::move(unnest), {left.node}, std::move(columns), changes));
  return left;
}

}  // namespace holdfast::sql
