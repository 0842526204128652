#include "column_origin.hpp"

#include <variant>

namespace holdfast::stream::compile {

ColumnPlace origin_of(const sql::Plan& plan, ColumnPlace place) {
  for (;;) {
    const auto& node = plan.nodes[place.node];
    if (const auto* project = std::get_if<sql::Project>(&node.what)) {
      const auto& expression = *project->expressions[place.column];
      if (expression.operation != sql::Operation::kColumn) return place;
      place.column = expression.column;
    } else if (!std::holds_alternative<sql::Filter>(node.what)) {
      return place;
    }
    place.node = node.inputs[0];
  }
}

std::optional<GroupedJoin> grouped_join(const sql::Plan& plan, std::size_t group) {
  const auto& node = plan.nodes[group];
  const auto* what = std::get_if<sql::Group>(&node.what);
  if (what == nullptr || what->windowed || what->row_size != 0) return std::nullopt;
  std::optional<GroupedJoin> found;
  for (const auto& key : what->keys) {
    if (key->operation != sql::Operation::kColumn) return std::nullopt;
    const auto place = origin_of(plan, {node.inputs[0], key->column});
    const auto& from = plan.nodes[place.node];
    const auto* join = std::get_if<sql::Join>(&from.what);
    if (join == nullptr || join->form != sql::JoinForm::kRegular) return std::nullopt;
    if (join->kind == sql::JoinKind::kSemi || join->kind == sql::JoinKind::kAnti)
      return std::nullopt;  // There are no pairs.
    const auto of_left = plan.nodes[from.inputs[0]].columns.size();
    const GroupedJoin one{place.node, place.column < of_left ? 0u : 1u};
    if (found && found->side != one.side) return std::nullopt;
    found = one;
  }
  return found;
}

}  // namespace holdfast::stream::compile
