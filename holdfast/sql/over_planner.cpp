#include "over_planner.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/grouping_sets.hpp>

namespace holdfast::sql {
namespace {

bool alike(const syntax::Expression& a, const syntax::Expression& b) {
  return a.form == b.form && a.name == b.name && a.qualifier == b.qualifier && a.text == b.text &&
         a.query == nullptr && b.query == nullptr && a.json == nullptr && b.json == nullptr &&
         a.negated == b.negated && a.distinct == b.distinct && a.star == b.star &&
         a.has_filter == b.has_filter && a.ignores_nulls == b.ignores_nulls && a.type == b.type &&
         a.arguments.size() == b.arguments.size() &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(),
                    [](const auto& x, const auto& y) { return alike(*x, *y); });
}

bool alike(const syntax::ExpressionPointer& a, const syntax::ExpressionPointer& b) {
  return a == nullptr ? b == nullptr : b != nullptr && alike(*a, *b);
}

// By their texts: two windows that are written alike.
bool alike(const syntax::Over& a, const syntax::Over& b) {
  const auto same_key = [](const auto& x, const auto& y) { return alike(x, y); };
  const auto same_item = [](const auto& x, const auto& y) {
    return x.descending == y.descending && x.nulls_first == y.nulls_first &&
           alike(x.expression, y.expression);
  };
  return a.has_frame == b.has_frame && a.rows == b.rows && alike(a.preceding, b.preceding) &&
         std::equal(a.partition_by.begin(), a.partition_by.end(), b.partition_by.begin(),
                    b.partition_by.end(), same_key) &&
         std::equal(a.order_by.begin(), a.order_by.end(), b.order_by.begin(), b.order_by.end(),
                    same_item);
}

// ROWS or RANGE … PRECEDING, in rows or milliseconds.
Result<std::int64_t> frame_of(const syntax::Over& over) {
  if (over.preceding == nullptr) return OverAggregate::kUnbounded;
  auto bound = bind(*over.preceding, Scope{});
  const auto fits = [&](const Expression& frame) {
    return frame.operation == Operation::kLiteral && !frame.literal.null &&
           frame.literal.number >= 0 &&
           (over.rows ? frame.type.is_integer() : frame.type.kind == Kind::kInterval);
  };
  if (bound) bound = folded(std::move(*bound));
  if (!bound || !fits(**bound))
    return error_at(over.preceding->at,
                    over.rows ? "ROWS wants a number of rows" : "RANGE wants an INTERVAL");
  const auto wide = (*bound)->literal.number;
  const auto number = static_cast<std::int64_t>(wide);
  if (wide != number || !is_summable(number))
    return error_at(over.preceding->at,
                    "a frame begins at most 2^60 rows or milliseconds before its row");
  return number;
}

}  // namespace

OverPlanner::Window& OverPlanner::window_of(std::size_t call) {
  const auto& one = calls_[call];
  for (auto& window : windows_) {
    if (window.ranks == one.numbers_rows && window.lags == one.lags &&
        alike(*window.over, *one.over))
      return window;
  }
  windows_.push_back({one.over, one.at, one.numbers_rows, one.lags, {}, {}, {}});
  return windows_.back();
}

Status OverPlanner::bind_windows(const Scope& scope, std::vector<Aggregate>& aggregates,
                                 bool grouped) {
  if (bound_) return {};
  bound_ = true;
  Scope inner = scope;
  inner.aggregates = &aggregates;
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    const auto known = windows_.size();
    auto& window = window_of(call);
    window.calls.push_back(call);
    if (windows_.size() == known) continue;
    for (const auto& key : window.over->partition_by) {
      HF_ASSIGN_OR_RETURN(auto bound, bind(*key, inner));
      window.partition.push_back(folded(std::move(bound)));
    }
    for (const auto& item : window.over->order_by) {
      HF_ASSIGN_OR_RETURN(auto bound, bind(*item.expression, inner));
      HF_RETURN_IF_ERROR(check_order(bound->type, item.expression->at));
      window.order.push_back({folded(std::move(bound)), item.descending, item.nulls_first});
    }
    if (!aggregates.empty() && !grouped)
      return error_at(window.over->at, "an aggregate cannot stand here");
  }
  for (const auto* expression : expressions()) {
    const auto* call = grouped ? nullptr : grouping_in(**expression);
    if (call != nullptr) return error_at(call->at, "GROUPING wants GROUP BY");
  }
  return {};
}

std::vector<ExpressionPointer*> OverPlanner::expressions() {
  std::vector<ExpressionPointer*> all;
  for (auto& window : windows_) {
    for (auto& key : window.partition)
      all.push_back(&key);
    for (auto& key : window.order)
      all.push_back(&key.value);
  }
  for (auto& call : calls_) {
    if (call.aggregate.argument) all.push_back(&call.aggregate.argument);
    if (call.aggregate.filter) all.push_back(&call.aggregate.filter);
  }
  return all;
}

// The column that a window of aggregates is in the order of; null: none that is a time.
const Column* OverPlanner::time_of(const Window& window, const std::vector<Column>& columns) {
  if (window.order.size() != 1 || window.order[0].descending ||
      window.order[0].value->operation != Operation::kColumn)
    return nullptr;
  const auto& column = columns[window.order[0].value->column];
  return column.is_time() || column.role == Role::kProcessing ? &column : nullptr;
}

// Of one SELECT: windows of times of events, or of times of the clock.
Status OverPlanner::check_times(const std::vector<Column>& columns) const {
  const Window* of_clock = nullptr;
  const Window* of_events = nullptr;
  for (const auto& window : windows_) {
    const auto* time = window.ranks ? nullptr : time_of(window, columns);
    if (time != nullptr) (time->is_time() ? of_events : of_clock) = &window;
  }
  if (of_clock == nullptr || of_events == nullptr) return {};
  return unsupported_at(of_clock->at, "OVER by processing time beside OVER by event time",
                        "a query in FROM has one, and the query around it the other");
}

// The ranking comes last, since its rows change. Windows of rows as they come are first, before
// others put the rows in an order. Frames without an end are before those that have one: the
// watermark judges their rows, so none is left that is late for one of them and was counted by
// another.
Result<NodeId> OverPlanner::add_to(NodeId node) {
  places_.resize(calls_.size());
  const OverCall* ranked = nullptr;
  for (const auto& call : calls_) {
    if (call.numbers_rows && ranked != nullptr)
      return unsupported_at(call.at, "more than one ROW_NUMBER, RANK or DENSE_RANK in a SELECT");
    if (call.numbers_rows) ranked = &call;
  }
  const auto columns = graph_.columns(node);
  HF_RETURN_IF_ERROR(check_times(columns));
  const auto comes_at = [&](const Window& window) {
    if (window.over->preceding == nullptr) return 0;
    const auto* time = time_of(window, columns);
    return time != nullptr && !time->is_time() && window.over->rows ? 0 : 1;
  };
  std::stable_sort(windows_.begin(), windows_.end(),
                   [&](const Window& a, const Window& b) { return comes_at(a) < comes_at(b); });
  for (const bool ranks : {false, true}) {
    for (auto& window : windows_) {
      if (window.ranks != ranks) continue;
      HF_ASSIGN_OR_RETURN(node, add_window(window, node));
    }
  }
  return node;
}

Result<NodeId> OverPlanner::add_window(Window& window, NodeId node) {
  auto columns = graph_.columns(node);
  for (const auto call : window.calls) {
    places_[call] = static_cast<std::uint32_t>(columns.size());
    columns.push_back(
        {"$over" + std::to_string(call), window.ranks ? kBigIntType : calls_[call].aggregate.type});
  }
  return window.ranks ? rank(window, node, std::move(columns))
                      : aggregate(window, node, std::move(columns));
}

ExpressionPointer OverPlanner::placed(ExpressionPointer expression) const {
  if (expression->operation == Operation::kOver)
    return column_of(places_[expression->column], expression->type, expression->at);
  for (auto& argument : expression->arguments)
    argument = placed(std::move(argument));
  return expression;
}

Result<NodeId> OverPlanner::rank(Window& window, NodeId node, std::vector<Column> columns) {
  const auto& over = *window.over;
  if (over.has_frame) return error_at(over.at, "a ranking has no ROWS and no RANGE");
  if (window.order.empty()) return error_at(over.at, "a ranking wants ORDER BY in its OVER");
  Rank rank;
  rank.ranking = calls_[window.calls.front()].ranking;
  bool start = false, end = false;
  for (const auto& key : window.partition) {
    if (key->operation != Operation::kColumn) continue;
    const Role role = columns[key->column].role;
    start = start || role == Role::kWindowStart;
    if (role == Role::kWindowEnd) end = true, rank.end_column = key->column;
  }
  rank.by_columns = start && end && !graph_.updating(node);
  rank.partition = std::move(window.partition);
  rank.order = std::move(window.order);
  const bool changes = !rank.by_columns;
  return graph_.add(std::move(rank), {node}, std::move(columns), changes);
}

Result<NodeId> OverPlanner::aggregate(Window& window, NodeId node, std::vector<Column> columns) {
  const auto& spec = *window.over;
  if (graph_.updating(node)) return unsupported_at(spec.at, "OVER rows that change");
  const auto* const time = time_of(window, columns);
  if (time == nullptr)
    return unsupported_at(spec.at, "OVER with another order than that of a time attribute",
                          "ORDER BY the column of WATERMARK FOR, or one of PROCTIME()");
  if (window.lags && spec.has_frame) return error_at(spec.at, "LAG has no ROWS and no RANGE");
  OverAggregate over;
  over.partition = std::move(window.partition);
  over.rows = spec.rows || window.lags;
  HF_ASSIGN_OR_RETURN(over.preceding, frame_of(spec));
  over.time_column = window.order[0].value->column;
  if (time->role == Role::kProcessing) {  // As in Flink, all rows up to one are those before it.
    over.rows = over.rows || over.preceding == OverAggregate::kUnbounded;
    over.as_they_come = over.rows;
  }
  if (time->role == Role::kProcessing && !over.as_they_come) {
    HF_ASSIGN_OR_RETURN(node, graph_.at_clock(node, over.time_column));
    const auto& below = graph_.columns(node);
    for (std::size_t i = 0; i < below.size(); ++i)
      columns[i].role = below[i].role;
  }
  for (const auto call : window.calls)
    over.aggregates.push_back(std::move(calls_[call].aggregate));
  return graph_.add(std::move(over), {node}, std::move(columns), false);
}

}  // namespace holdfast::sql
