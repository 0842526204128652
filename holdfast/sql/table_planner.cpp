// FROM: tables, windows of them, joins; and the sub-queries of WHERE, which are joins, too.
#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/query_planner.hpp>
#include <holdfast/sql/zone_functions.hpp>

namespace holdfast::sql {
namespace {

using syntax::Form;

void append(Scope& scope, const Scope& other) {
  for (std::size_t i = 0; i < other.columns.size(); ++i) {
    scope.add(other.columns[i], other.qualifiers[i]);
    scope.shadowed.back() = other.shadowed[i];
  }
}

void add_bounds(Scope& scope, const std::string& qualifier) {
  scope.add({"window_start", kTimestampType, Role::kWindowStart}, qualifier);
  scope.add({"window_end", kTimestampType, Role::kWindowEnd}, qualifier);
  scope.add({"window_time", kTimestampType, Role::kWindowTime}, qualifier);
}

std::vector<Column> with_bounds(std::vector<Column> columns) {
  columns.push_back({"window_start", kTimestampType, Role::kWindowStart});
  columns.push_back({"window_end", kTimestampType, Role::kWindowEnd});
  columns.push_back({"window_time", kTimestampType, Role::kWindowTime});
  return columns;
}

bool has_aggregate(const syntax::Expression* e, const UserFunctions& users) {
  if (e == nullptr) return false;
  if (e->form == Form::kCall && e->over == nullptr) {
    const auto* user = users.find(e->name);
    if (aggregate_named(e->name) || (user != nullptr && user->is_aggregate())) return true;
  }
  return std::any_of(e->arguments.begin(), e->arguments.end(),
                     [&](const auto& argument) { return has_aggregate(argument.get(), users); });
}

// It has one row, also where there was none.
bool is_of_all_rows(const syntax::Select& select, const UserFunctions& users) {
  return select.group_by.empty() && !select.having &&
         std::any_of(select.items.begin(), select.items.end(),
                     [&](const auto& item) { return has_aggregate(item.expression.get(), users); });
}

// A sub-query whose rows can be joined as they are: no groups, no order.
const syntax::Select* plain_select(const syntax::Query& query, const UserFunctions& users) {
  if (!query.with.empty() || query.terms.size() != 1 || !query.order_by.empty() || query.limit ||
      query.offset)
    return nullptr;
  const auto* select = std::get_if<syntax::Select>(&query.terms.front());
  if (select == nullptr || select->distinct || !select->group_by.empty() || select->having ||
      !select->from || is_of_all_rows(*select, users))
    return nullptr;
  return select;
}

// As in Flink.
Error lateness_of_session(Position at) {
  return unsupported_at(at, "SESSION with 'table.exec.emit.late-fire.enabled'");
}

void split(const syntax::Expression& e, std::vector<const syntax::Expression*>& into) {
  if (e.form != Form::kBinary || e.name != "AND") return into.push_back(&e);
  split(*e.arguments[0], into);
  split(*e.arguments[1], into);
}

}  // namespace

Result<Relation> QueryPlanner::table(const syntax::TableReference& reference) {
  Relation relation;
  relation.scope.functions = &catalog_.functions();
  if (reference.query != nullptr) {
    HF_ASSIGN_OR_RETURN(relation.node, query(*reference.query));
  } else {
    HF_ASSIGN_OR_RETURN(relation.node, named(reference.name, reference.at));
  }
  HF_ASSIGN_OR_RETURN(relation.node, renamed(relation.node, reference.columns, reference.at));
  const auto& qualifier = reference.alias.empty() ? reference.name : reference.alias;
  for (const auto& column : graph_.columns(relation.node))
    relation.scope.add(column, qualifier);
  if (reference.window) {
    HF_RETURN_IF_ERROR(add_window(relation, *reference.window));
    add_bounds(relation.scope, qualifier);
  }
  return relation;
}

Status QueryPlanner::add_window(Relation& relation, const syntax::WindowCall& call) {
  const bool session = call.function == "SESSION";
  if (graph_.updating(relation.node) && (lateness_.allowed_ms == 0 || session))
    return unsupported_at(call.at, call.function + " of rows that change");
  HF_ASSIGN_OR_RETURN(const auto column, time_of_window(relation, call.time_column, call.at));
  std::vector<const syntax::Expression*> sizes;
  for (const auto& size : call.sizes)
    sizes.push_back(size.get());
  Windowing windowing{call.function, {}, {}, call.at};
  HF_ASSIGN_OR_RETURN(windowing.window, bind_window(call.function, call.at, column, sizes));
  for (const auto& name : call.partition_by) {
    HF_ASSIGN_OR_RETURN(const auto key, find_column(relation.scope, name, call.at));
    windowing.partition.push_back(key);
  }
  relation.windowing = std::move(windowing);
  return {};
}

Result<std::uint32_t> QueryPlanner::time_of_window(Relation& relation, const std::string& name,
                                                   Position at, const std::string& qualifier) {
  auto& scope = relation.scope;
  HF_ASSIGN_OR_RETURN(const auto column, find_column(scope, name, at, qualifier));
  // A window's rows change until its lateness is over, others at any time.
  if (scope.columns[column].role == Role::kTime && graph_.updating(relation.node))
    return unsupported_at(at, "a window of rows that change");
  if (scope.columns[column].is_time()) return at_wall_time(relation, column, at);
  if (scope.columns[column].role != Role::kProcessing)
    return error_at(at, escape(name) + " is no time attribute",
                    "a window wants the column of WATERMARK FOR, or one of PROCTIME()");
  if (graph_.updating(relation.node))
    return unsupported_at(at, "a window of processing time of rows that change");
  HF_ASSIGN_OR_RETURN(relation.node, graph_.at_clock(relation.node, column));
  const auto& columns = graph_.columns(relation.node);
  for (std::size_t i = 0; i < columns.size(); ++i)
    scope.columns[i].role = columns[i].role;
  return at_wall_time(relation, column, at);
}

// A window of instants is one of their wall clock: a column that nobody can name, which the
// watermark follows from here on.
Result<std::uint32_t> QueryPlanner::at_wall_time(Relation& relation, std::uint32_t column,
                                                 Position at) {
  auto& scope = relation.scope;
  const auto* const zone = scope.columns[column].type.zone;
  if (zone == nullptr) return column;
  auto columns = graph_.columns(relation.node);
  std::vector<ExpressionPointer> expressions;
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    expressions.push_back(column_of(i, columns[i].type, at));
    if (columns[i].role != Role::kProcessing) columns[i].role = Role::kPlain;
    scope.columns[i].role = columns[i].role;
  }
  expressions.push_back(at_wall_clock(column_of(column, scope.columns[column].type, at)));
  columns.push_back({"$wall", kTimestampType, Role::kTime});
  scope.add(columns.back(), "");
  HF_ASSIGN_OR_RETURN(relation.node,
                      graph_.add(Project{std::move(expressions)}, {relation.node}, columns, false));
  HF_ASSIGN_OR_RETURN(relation.node,
                      graph_.add(WallClock{zone}, {relation.node}, std::move(columns), false));
  return static_cast<std::uint32_t>(scope.columns.size() - 1);
}

Status QueryPlanner::assign_windows(Relation& relation) {
  if (!relation.windowing) return {};
  const auto windowing = *std::move(relation.windowing);
  if (windowing.function == "SESSION") {
    relation.windowing = windowing;
    std::vector<ExpressionPointer> keys;
    for (const auto key : windowing.partition)
      keys.push_back(column_of(key, relation.scope.columns[key].type, windowing.at));
    return assign_sessions(relation, std::move(keys));
  }
  relation.windowing.reset();
  HF_ASSIGN_OR_RETURN(relation.node, graph_.add(AssignWindows{windowing.window}, {relation.node},
                                                with_bounds(graph_.columns(relation.node)),
                                                graph_.updating(relation.node)));
  return {};
}

Status QueryPlanner::assign_sessions(Relation& relation, std::vector<ExpressionPointer> keys) {
  if (lateness_.allowed_ms != 0) return lateness_of_session(relation.windowing->at);
  AssignSessions sessions;
  sessions.time_column = relation.windowing->window.time_column;
  sessions.gap_ms = relation.windowing->window.size_ms;
  sessions.keys = std::move(keys);
  relation.windowing.reset();
  HF_ASSIGN_OR_RETURN(relation.node, graph_.add(std::move(sessions), {relation.node},
                                                with_bounds(graph_.columns(relation.node)), false));
  return {};
}

// Without columns.
Result<Relation> QueryPlanner::one_row() {
  Literals row;
  row.rows.emplace_back();
  Relation relation;
  relation.scope.functions = &catalog_.functions();
  HF_ASSIGN_OR_RETURN(relation.node, graph_.add(std::move(row), {}, {}, false));
  return relation;
}

Result<Relation> QueryPlanner::from(const syntax::Select& select) {
  if (!select.from) return one_row();
  if (select.from->as_of != nullptr)
    return unsupported_at(select.from->at, "FOR SYSTEM_TIME AS OF without a join");
  Relation relation;
  if (select.from->unnest != nullptr) {
    HF_ASSIGN_OR_RETURN(relation, one_row());
    HF_ASSIGN_OR_RETURN(relation, unnest(std::move(relation), *select.from, nullptr));
  } else {
    HF_ASSIGN_OR_RETURN(relation, table(*select.from));
  }
  for (const auto& one : select.joins) {
    HF_ASSIGN_OR_RETURN(relation, join(std::move(relation), one));
  }
  return relation;
}

Result<Relation> QueryPlanner::join(Relation left, const syntax::Join& join) {
  HF_RETURN_IF_ERROR(assign_windows(left));
  if (join.table.unnest != nullptr) return unnest(std::move(left), join.table, &join);
  if (join.table.as_of != nullptr) return join_as_of(std::move(left), join);
  HF_ASSIGN_OR_RETURN(auto right, table(join.table));
  HF_RETURN_IF_ERROR(assign_windows(right));
  const std::size_t width = left.scope.columns.size();
  append(left.scope, right.scope);
  HF_ASSIGN_OR_RETURN(auto condition, join_condition(join, left.scope, width));
  const bool outer = join.kind != syntax::JoinKind::kInner;
  HF_ASSIGN_OR_RETURN(left.node,
                      graph_.join(join.kind, left.node, right.node, std::move(condition)));
  // Conditions of WHERE may make an inner join one of windows or of near times; an outer one is
  // what its own condition says.
  if (outer) {
    HF_ASSIGN_OR_RETURN(left.node, graph_.settle(left.node, join.at));
  }
  const auto& columns = graph_.columns(left.node);
  for (std::size_t i = 0; i < columns.size(); ++i)
    left.scope.columns[i].role = columns[i].role;
  return left;
}

Result<ExpressionPointer> QueryPlanner::join_condition(const syntax::Join& join, Scope& scope,
                                                       std::size_t left) {
  if (join.on != nullptr) {
    HF_ASSIGN_OR_RETURN(auto bound, bind_condition(*join.on, scope));
    return folded(std::move(bound));
  }
  std::vector<ExpressionPointer> all;
  for (const auto& name : join.using_columns) {
    const auto find = [&](std::size_t from, std::size_t to) -> Result<std::uint32_t> {
      Scope side;
      for (std::size_t i = from; i < to; ++i) {
        side.add(scope.columns[i], scope.qualifiers[i]);
        side.shadowed.back() = scope.shadowed[i];
      }
      HF_ASSIGN_OR_RETURN(const auto column, find_column(side, name, join.at));
      return column + static_cast<std::uint32_t>(from);
    };
    HF_ASSIGN_OR_RETURN(const auto a, find(0, left));
    HF_ASSIGN_OR_RETURN(const auto b, find(left, scope.columns.size()));
    auto one = column_of(a, scope.columns[a].type, join.at);
    auto other = column_of(b, scope.columns[b].type, join.at);
    HF_ASSIGN_OR_RETURN(auto same, equal_of(std::move(one), std::move(other), join.at));
    all.push_back(std::move(same));
    // The name means the side whose rows are all there.
    if (join.kind == syntax::JoinKind::kFull)
      return unsupported_at(join.at, "FULL JOIN with USING", "write ON");
    scope.shadowed[join.kind == syntax::JoinKind::kRight ? a : b] = true;
  }
  return conjunction_of(std::move(all));
}

// ---- FOR SYSTEM_TIME AS OF ----
Result<Relation> QueryPlanner::join_as_of(Relation left, const syntax::Join& join) {
  if (join.kind != syntax::JoinKind::kInner && join.kind != syntax::JoinKind::kLeft)
    return unsupported_at(join.at, "this join with FOR SYSTEM_TIME AS OF",
                          "JOIN and LEFT JOIN are");
  HF_ASSIGN_OR_RETURN(const auto time, bind(*join.table.as_of, left.scope));
  const Role role = time->operation == Operation::kColumn ? left.scope.columns[time->column].role
                    : time->operation == Operation::kProcessingTime ? Role::kProcessing
                                                                    : Role::kPlain;
  const bool lookup = role == Role::kProcessing;
  if (!lookup && role != Role::kTime && role != Role::kWindowTime)
    return error_at(join.table.as_of->at, "FOR SYSTEM_TIME AS OF wants a time attribute",
                    "the column of WATERMARK FOR, or PROCTIME()");
  if (graph_.updating(left.node))
    return unsupported_at(join.at, "FOR SYSTEM_TIME AS OF beside rows that change");
  HF_ASSIGN_OR_RETURN(auto right, table(join.table));
  if (right.windowing) return unsupported_at(join.table.at, "a window with FOR SYSTEM_TIME AS OF");
  std::vector<std::uint32_t> versions_key;
  std::uint32_t version_time = 0;
  if (!lookup) {
    HF_ASSIGN_OR_RETURN(right.node, versions_of(right.node, versions_key, join.table.at));
    const auto& columns = graph_.columns(right.node);
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [](const Column& column) { return column.is_time(); });
    if (found == columns.end())
      return error_at(join.table.at, "the table of FOR SYSTEM_TIME AS OF has no time attribute",
                      "WATERMARK FOR makes one");
    version_time = static_cast<std::uint32_t>(found - columns.begin());
  } else {
    const auto* scan = std::get_if<Scan>(&graph_.at(right.node).what);
    if (scan == nullptr) return unsupported_at(join.table.at, "a look-up in anything but a table");
    const Table* table = scan->table;
    HF_ASSIGN_OR_RETURN(right.node, graph_.add(Scan{table, true}, {}, table->columns, false));
  }
  const std::size_t width = left.scope.columns.size();
  append(left.scope, right.scope);
  HF_ASSIGN_OR_RETURN(auto condition, join_condition(join, left.scope, width));
  HF_ASSIGN_OR_RETURN(
      left.node, graph_.join_as_of(join.kind, left.node, right.node, std::move(condition), lookup,
                                   time->column, version_time));
  const auto& keys = std::get<Join>(graph_.at(left.node).what).right_keys;
  if (keys.empty())
    return error_at(join.at, "FOR SYSTEM_TIME AS OF wants an equality of both tables in ON");
  for (const auto key : versions_key) {
    const bool found = std::any_of(keys.begin(), keys.end(), [&](const auto& one) {
      return one->operation == Operation::kColumn && one->column == key;
    });
    if (!found)
      return error_at(join.at, "ON wants an equality of the primary key's column " +
                                   escape(right.scope.columns[key].name));
  }
  const auto& columns = graph_.columns(left.node);
  for (std::size_t i = 0; i < columns.size(); ++i)
    left.scope.columns[i].role = columns[i].role;
  return left;
}

// The rows of which a versioned table shows the newest of each key: those of a table with a primary
// key, or those that ROW_NUMBER() … = 1 in the order of their times, the newest first, chooses of.
Result<NodeId> QueryPlanner::versions_of(NodeId node, std::vector<std::uint32_t>& key,
                                         Position at) {
  const Error none = error_at(at, "FOR SYSTEM_TIME AS OF wants a table with a PRIMARY KEY",
                              "or a view that keeps the newest row of each key by ROW_NUMBER()");
  if (const auto* scan = std::get_if<Scan>(&graph_.at(node).what)) {
    key = scan->table->primary_key;
    return key.empty() ? Result<NodeId>(none) : Result<NodeId>(node);
  }
  const auto* project = std::get_if<Project>(&graph_.at(node).what);
  if (project == nullptr) return none;
  const NodeId ranked = graph_.at(node).inputs[0];
  const auto* rank = std::get_if<Rank>(&graph_.at(ranked).what);
  if (rank == nullptr || rank->last != 1 || rank->ranking != Ranking::kRowNumber ||
      rank->by_columns || graph_.updating(graph_.at(ranked).inputs[0]) || rank->order.size() != 1 ||
      !rank->order[0].descending || rank->order[0].value->operation != Operation::kColumn ||
      !graph_.columns(ranked)[rank->order[0].value->column].is_time())
    return none;
  const NodeId source = graph_.at(ranked).inputs[0];
  std::vector<ExpressionPointer> expressions;
  for (const auto& expression : project->expressions) {
    const auto columns = columns_of(*expression);
    const bool number = !columns.empty() && columns.back() + 1 == graph_.columns(ranked).size();
    expressions.push_back(number ? literal_of(Value::of(1), kBigIntType, at) : clone(*expression));
  }
  for (const auto& part : rank->partition) {
    const auto shown = std::find_if(expressions.begin(), expressions.end(),
                                    [&](const auto& one) { return equal(*one, *part); });
    if (shown == expressions.end()) return none;
    key.push_back(static_cast<std::uint32_t>(shown - expressions.begin()));
  }
  auto columns = graph_.columns(node);
  return graph_.project(source, std::move(expressions), std::move(columns));
}

// ---- Sub-queries of WHERE ----
Status QueryPlanner::keep_matches(Relation& relation, const syntax::Expression& test) {
  const syntax::Expression* e = &test;
  bool negated = false;
  while (e->form == Form::kUnary) {
    negated = !negated;
    e = e->arguments[0].get();
  }
  negated = negated != e->negated;
  const bool is_in = e->form == Form::kIn;
  const std::size_t width = relation.scope.columns.size();
  const auto* select = plain_select(*e->query, catalog_.functions());
  const auto* const first = std::get_if<syntax::Select>(&e->query->terms.front());
  if (!is_in && first != nullptr && e->query->terms.size() == 1 &&
      is_of_all_rows(*first, catalog_.functions()))
    return unsupported_at(e->at, "EXISTS of aggregates without GROUP BY, which is always true",
                          "leave it out, or write the condition in WHERE of the sub-query");
  // All columns of a query: it is one column, or an error says so.
  if (is_in && select != nullptr && select->items.size() == 1 &&
      select->items[0].expression == nullptr)
    select = nullptr;
  Relation right;
  Scope both = relation.scope;
  std::vector<ExpressionPointer> conditions;
  ExpressionPointer member;
  if (select != nullptr) {
    // Its conditions may read the rows around it.
    HF_ASSIGN_OR_RETURN(right, from(*select));
    HF_RETURN_IF_ERROR(assign_windows(right));
    append(both, right.scope);
    both.outer = static_cast<std::uint32_t>(width);
    std::vector<const syntax::Expression*> parts;
    if (select->where != nullptr) split(*select->where, parts);
    for (const auto* part : parts) {
      HF_ASSIGN_OR_RETURN(auto bound, bind_condition(*part, both));
      conditions.push_back(folded(std::move(bound)));
    }
    if (is_in) {
      if (select->items.size() != 1 || select->items[0].expression == nullptr)
        return error_at(e->at, "the sub-query of IN has one column");
      HF_ASSIGN_OR_RETURN(member, bind(*select->items[0].expression, both));
    }
  } else {
    HF_ASSIGN_OR_RETURN(right.node, query(*e->query));
    for (const auto& column : graph_.columns(right.node))
      both.add(column, "");
    if (is_in && both.columns.size() != width + 1)
      return error_at(e->at, "the sub-query of IN has one column");
    member = column_of(static_cast<std::uint32_t>(width), both.columns[width].type, e->at);
  }
  if (is_in) {
    HF_ASSIGN_OR_RETURN(auto value, bind(*e->arguments[0], relation.scope));
    if (negated) {
      HF_ASSIGN_OR_RETURN(right.node, graph_.settle(right.node, e->at));
      return keep_others(relation, std::move(right), std::move(value), std::move(member),
                         std::move(conditions));
    }
    HF_ASSIGN_OR_RETURN(auto same, equal_of(std::move(value), std::move(member), e->at));
    conditions.push_back(folded(std::move(same)));
  }
  HF_ASSIGN_OR_RETURN(right.node, graph_.settle(right.node, e->at));
  const auto kind = negated ? syntax::JoinKind::kAnti : syntax::JoinKind::kSemi;
  HF_ASSIGN_OR_RETURN(relation.node, graph_.join(kind, relation.node, right.node,
                                                 conjunction_of(std::move(conditions))));
  return {};
}

}  // namespace holdfast::sql
