#include "grouping_sets.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::sql {
namespace {

bool reads_window(const Expression& e, std::uint32_t first_window_column) {
  const auto columns = columns_of(e);
  return !columns.empty() && columns.back() >= first_window_column;
}

}  // namespace

Error group_by_number(Position at) {
  return error_at(at, "GROUP BY a number", "name the column or the expression");
}

bool is_group_window(const syntax::Expression& e) {
  return e.form == syntax::Form::kCall && e.over == nullptr &&
         (e.name == "TUMBLE" || e.name == "HOP" || e.name == "SESSION");
}

bool is_row_window(const syntax::Expression& e) {
  return e.form == syntax::Form::kCall && e.over == nullptr &&
         (e.name == "TUMBLE_ROWS" || e.name == "HOP_ROWS");
}

Status bind_row_window(const syntax::Expression& call, Group& group) {
  constexpr std::int64_t kMostOpen = 1000, kMostRows = 1'000'000'000;
  const bool hops = call.name == "HOP_ROWS";
  const auto wrong = [&](const std::string& what) {
    return error_at(call.at, call.name + what,
                    hops ? "HOP_ROWS(slide, size)" : "TUMBLE_ROWS(size)");
  };
  if (group.row_size != 0) return error_at(call.at, "a query has one window");
  if (call.arguments.size() != (hops ? 2 : 1) || call.star || call.distinct || call.has_filter)
    return wrong(hops ? " wants two numbers of rows" : " wants one number of rows");
  std::vector<std::int64_t> rows;
  for (const auto& argument : call.arguments) {
    const auto number = argument->form == syntax::Form::kNumber
                            ? value_of(argument->text, kBigIntType)
                            : std::optional<Value>();
    if (!number || number->number < 1 || number->number > kMostRows)
      return wrong(" wants numbers of 1 to " + std::to_string(kMostRows));
    rows.push_back(static_cast<std::int64_t>(number->number));
  }
  group.row_size = rows.back();
  group.row_slide = rows.front();
  if (group.row_slide > group.row_size) return wrong(": the slide is no longer than the window");
  if ((group.row_size - 1) / group.row_slide >= kMostOpen)
    return wrong(": a row is in more than " + std::to_string(kMostOpen) + " windows");
  return {};
}

Result<GroupKeys> bind_grouping_sets(const syntax::Select& select, const Scope& scope,
                                     std::uint32_t first_window_column,
                                     std::string_view group_window) {
  const auto& sets = select.grouping_sets;
  std::vector<ExpressionPointer> bound(select.group_by.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (is_group_window(*select.group_by[i])) continue;
    HF_ASSIGN_OR_RETURN(bound[i], bind(*select.group_by[i], scope));
    bound[i] = folded(std::move(bound[i]));
    if (select.group_by[i]->form == syntax::Form::kNumber) return group_by_number(bound[i]->at);
  }
  const auto in_all = [&](const auto& is_it) {
    return std::all_of(sets.begin(), sets.end(),
                       [&](const auto& set) { return std::any_of(set.begin(), set.end(), is_it); });
  };
  const auto role_of = [&](std::uint32_t i) {
    const bool column = bound[i] != nullptr && bound[i]->operation == Operation::kColumn;
    return column ? scope.columns[bound[i]->column].role : Role::kPlain;
  };
  GroupKeys keys;
  if (!group_window.empty()) {
    if (!in_all([&](std::uint32_t i) { return bound[i] == nullptr; }))
      return unsupported_at(select.at, "a grouping set without the window");
    if (group_window == "SESSION")
      return unsupported_at(select.at, "GROUP BY SESSION with grouping sets",
                            "the table function SESSION with PARTITION BY is");
    keys.start = scope.window_column;
    keys.end = scope.window_column + 1;
  }
  std::vector<std::uint32_t> places(bound.size(), kNoWindowColumn);  // Among the keys.
  for (std::uint32_t i = 0; i < bound.size(); ++i) {
    if (bound[i] == nullptr) continue;
    const Role role = role_of(i);
    const auto same = [&](std::uint32_t j) {
      return bound[j] != nullptr && equal(*bound[i], *bound[j]);
    };
    const bool is_start = role == Role::kWindowStart, is_end = role == Role::kWindowEnd;
    auto& bound_of_window = is_start ? keys.start : keys.end;
    if ((is_start || is_end) && in_all(same) &&
        (bound_of_window == kNoWindowColumn || bound_of_window == bound[i]->column)) {
      bound_of_window = bound[i]->column;
      continue;
    }
    const bool window_time = bound[i]->operation == Operation::kColumn &&
                             first_window_column != kNoWindowColumn &&
                             bound[i]->column == first_window_column + 2;
    if (window_time) continue;  // It is given by window_end.
    const auto known = std::find_if(keys.all.begin(), keys.all.end(),
                                    [&](const auto& key) { return equal(*key, *bound[i]); });
    places[i] = static_cast<std::uint32_t>(known - keys.all.begin());
    if (known != keys.all.end()) continue;
    keys.computes_window = keys.computes_window || reads_window(*bound[i], first_window_column);
    keys.all.push_back(clone(*bound[i]));
  }
  for (const auto& set : sets) {
    keys.sets.emplace_back(keys.all.size());
    for (const auto i : set) {
      if (places[i] != kNoWindowColumn) keys.sets.back()[places[i]] = true;
    }
  }
  return keys;
}

ExpressionPointer number_of_set(Position at) { return made(Operation::kGrouping, kIntType, at); }

Result<NodeId> expanded(PlanGraph& graph, NodeId node, const GroupingSets& sets, Group& group) {
  auto columns = graph.columns(node);
  const auto width = static_cast<std::uint32_t>(columns.size());
  const auto keys = static_cast<std::uint32_t>(group.keys.size() - 1);
  for (std::uint32_t i = 0; i < keys; ++i)
    columns.push_back({"$key" + std::to_string(i), group.keys[i]->type});
  columns.push_back({"$set", kIntType});
  std::vector<NodeId> branches;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    std::vector<ExpressionPointer> expressions;
    for (std::uint32_t i = 0; i < width; ++i)
      expressions.push_back(column_of(i, columns[i].type, {}));
    for (std::uint32_t i = 0; i < keys; ++i) {
      const auto& key = *group.keys[i];
      expressions.push_back(sets[set][i] ? clone(key) : literal_of(Value(), key.type, key.at));
    }
    expressions.push_back(
        literal_of(Value::of(static_cast<std::int64_t>(set)), kIntType, group.keys[keys]->at));
    HF_ASSIGN_OR_RETURN(branches.emplace_back(),
                        graph.project(node, std::move(expressions), columns));
  }
  for (std::uint32_t i = 0; i <= keys; ++i)
    group.keys[i] = column_of(width + i, columns[width + i].type, group.keys[i]->at);
  const bool changes = graph.updating(node);
  return graph.add(Union{}, std::move(branches), std::move(columns), changes);
}

Result<ExpressionPointer> grouping_of(const Expression& call, const Group& group,
                                      const GroupingSets& sets) {
  std::vector<std::size_t> places;
  for (const auto& argument : call.arguments) {
    const auto found = std::find_if(group.keys.begin(), group.keys.end(),
                                    [&](const auto& key) { return equal(*key, *argument); });
    if (found == group.keys.end())
      return error_at(argument->at, "GROUPING wants a key of GROUP BY");
    places.push_back(static_cast<std::size_t>(found - group.keys.begin()));
  }
  const auto number = [&](std::int64_t value) {
    return literal_of(Value::of(value), kBigIntType, call.at);
  };
  auto choice = made(Operation::kCase, kBigIntType, call.at);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    std::int64_t bits = 0;
    for (const auto place : places)
      bits = bits * 2 + (sets[set][place] ? 0 : 1);
    if (bits == 0) continue;
    choice->arguments.push_back(
        made(Operation::kEqual, kBooleanType, call.at,
             column_of(static_cast<std::uint32_t>(group.keys.size() - 1), kIntType, call.at),
             literal_of(Value::of(static_cast<std::int64_t>(set)), kIntType, call.at)));
    choice->arguments.push_back(number(bits));
  }
  if (choice->arguments.empty()) return number(0);
  choice->arguments.push_back(number(0));
  return choice;
}

Result<ExpressionPointer> bind_grouping(const syntax::Expression& e, const Scope& scope) {
  constexpr std::size_t kMostKeys = 62;  // Bits of a BIGINT.
  if (scope.aggregates == nullptr)
    return error_at(e.at, e.name + " belongs to the columns and HAVING of a GROUP BY");
  if (e.arguments.empty() || e.arguments.size() > kMostKeys)
    return error_at(e.at, e.name + " wants keys of GROUP BY");
  Scope inner = scope;
  inner.aggregates = nullptr;
  inner.overs = nullptr;
  inner.scalar_query = nullptr;
  auto call = made(Operation::kGrouping, kBigIntType, e.at);
  for (const auto& argument : e.arguments) {
    HF_ASSIGN_OR_RETURN(auto bound, bind(*argument, inner));
    call->arguments.push_back(folded(std::move(bound)));
  }
  return call;
}

const Expression* grouping_in(const Expression& e) {
  if (e.operation == Operation::kGrouping) return &e;
  for (const auto& argument : e.arguments) {
    if (const auto* found = grouping_in(*argument)) return found;
  }
  return nullptr;
}

}  // namespace holdfast::sql
