#include "plan_graph.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/join_form.hpp>

namespace holdfast::sql {
namespace {

using Conditions = std::vector<ExpressionPointer>;

bool reads_only(const Expression& expression, std::size_t from, std::size_t to) {
  for (const auto column : columns_of(expression)) {
    if (column < from || column >= to) return false;
  }
  return true;
}

Conditions clones_of(const Conditions& expressions) {
  Conditions copies;
  for (const auto& expression : expressions)
    copies.push_back(clone(*expression));
  return copies;
}

Join clone_of(const Join& join) {
  Join copy;
  copy.kind = join.kind;
  copy.form = join.form;
  copy.left_keys = clones_of(join.left_keys);
  copy.right_keys = clones_of(join.right_keys);
  if (join.condition != nullptr) copy.condition = clone(*join.condition);
  copy.left_time = join.left_time;
  copy.right_time = join.right_time;
  copy.low_ms = join.low_ms;
  copy.high_ms = join.high_ms;
  return copy;
}

std::vector<OrderKey> clones_of(const std::vector<OrderKey>& keys) {
  std::vector<OrderKey> copies;
  for (const auto& key : keys)
    copies.push_back({clone(*key.value), key.descending, key.nulls_first});
  return copies;
}

// Whether `expression` may stand where a projection's columns are read: not much larger, and not
// deeper than a tree may be.
bool is_small(const Expression& expression) {
  constexpr std::size_t kLargest = 1000;
  return depth_of(expression) <= kMaxDepth && size_of(expression) <= kLargest;
}

// left = right of a pair of sides, as a key of each; the right one reads the right side's columns.
bool take_key(Expression& condition, std::size_t left, std::size_t all, Join& join) {
  if (condition.operation != Operation::kEqual) return false;
  auto& a = condition.arguments[0];
  auto& b = condition.arguments[1];
  const bool straight = reads_only(*a, 0, left) && reads_only(*b, left, all);
  const bool crossed = reads_only(*b, 0, left) && reads_only(*a, left, all);
  if (!straight && !crossed) return false;
  if (columns_of(*a).empty() || columns_of(*b).empty()) return false;
  if (crossed) std::swap(a, b);
  auto right = moved(*b, -static_cast<std::int64_t>(left));
  // Keys are compared by their bytes: of one type. Exact numbers of several types are compared as
  // they are, so they get one here.
  const auto type = common_type(a->type, right->type);
  if (!type) return false;
  const auto scale = std::max(as_decimal(a->type).scale, as_decimal(right->type).scale);
  if (type->kind == Kind::kDecimal && type->scale < scale) return false;  // It would round.
  join.left_keys.push_back(cast_to(std::move(a), *type));
  join.right_keys.push_back(cast_to(std::move(right), *type));
  return true;
}

}  // namespace

Result<NodeId> PlanGraph::add(Operator what, std::vector<NodeId> inputs,
                              std::vector<Column> columns, bool updating) {
  Node node{std::move(what), std::move(columns), std::move(inputs), updating};
  if (const auto* group = std::get_if<Group>(&node.what))
    HF_CHECK(node.columns.size() ==
             group->keys.size() + group->aggregates.size() + (group->windowed ? 3 : 0));
  // By the numbers of columns: a name may look like an expression.
  std::vector<std::string> numbers;
  for (const auto input : node.inputs) {
    for (std::size_t i = 0; i < nodes_[input].columns.size(); ++i)
      numbers.push_back("#" + std::to_string(numbers.size()));
  }
  std::string said = text_of(node, nodes_, numbers);
  for (const auto input : node.inputs)
    said += "\n" + std::to_string(input);
  for (const auto& column : node.columns)
    said +=
        "\n" + std::to_string(static_cast<int>(column.role)) + name_of(column.type) + column.name;
  if (const auto found = known_.find(said); found != known_.end()) return found->second;
  if (nodes_.size() == kMaxNodes)
    return Error{Errc::kUnsupported,
                 "the query has more than " + std::to_string(kMaxNodes) + " operators"};
  nodes_.push_back(std::move(node));
  const auto id = static_cast<NodeId>(nodes_.size() - 1);
  known_.emplace(std::move(said), id);
  return id;
}

Result<NodeId> PlanGraph::add_like(Operator what, NodeId input) {
  return add(std::move(what), {input}, columns(input), updating(input));
}

Result<NodeId> PlanGraph::filter(NodeId input, ExpressionPointer predicate) {
  return filter_by(input, conjuncts_of(std::move(predicate)));
}

Result<NodeId> PlanGraph::filter_by(NodeId input, Conditions conditions) {
  if (conditions.empty()) return input;
  const auto& what = at(input).what;
  if (std::holds_alternative<Project>(what)) return filter_projection(input, std::move(conditions));
  if (const auto* join = std::get_if<Join>(&what);
      join != nullptr && join->form == JoinForm::kRegular)
    return filter_join(input, std::move(conditions));
  if (const auto* below = std::get_if<Filter>(&what)) {
    // One filter: the earlier condition first.
    auto all = conjuncts_of(clone(*below->predicate));
    std::move(conditions.begin(), conditions.end(), std::back_inserter(all));
    const NodeId source = at(input).inputs[0];
    return add_like(Filter{conjunction_of(std::move(all))}, source);
  }
  return add_like(Filter{conjunction_of(std::move(conditions))}, input);
}

Result<NodeId> PlanGraph::filter_projection(NodeId input, Conditions conditions) {
  const NodeId source = at(input).inputs[0];
  if (const auto* rank = std::get_if<Rank>(&at(source).what); rank != nullptr && rank->numbered)
    return filter_rank(input, std::move(conditions));
  Conditions below, above;
  for (auto& condition : conditions) {
    auto inner = replaced(*condition, std::get<Project>(at(input).what).expressions);
    auto& place = is_small(*inner) && !varies(*inner) ? below : above;
    place.push_back(&place == &below ? std::move(inner) : std::move(condition));
  }
  NodeId projection = input;
  if (!below.empty()) {
    HF_ASSIGN_OR_RETURN(const NodeId filtered, filter_by(source, std::move(below)));
    auto expressions = clones_of(std::get<Project>(at(input).what).expressions);
    auto shown = columns(input);
    HF_ASSIGN_OR_RETURN(projection, add(Project{std::move(expressions)}, {filtered},
                                        std::move(shown), updating(filtered)));
  }
  if (above.empty()) return projection;
  return add_like(Filter{conjunction_of(std::move(above))}, projection);
}

// A deduplication by time, to Flink: the column that it is by; null: it is none. One that keeps the
// last row takes the later one of equal times. One that keeps the first shows each once.
const Column* PlanGraph::one_row_by(const Rank& rank, NodeId input, bool descending) const {
  if (rank.ranking != Ranking::kRowNumber || rank.first != 1 || rank.last != 1 ||
      rank.order.size() != 1 || updating(input))
    return nullptr;
  const auto& key = rank.order.front();
  if (key.descending != descending || key.value->operation != Operation::kColumn) return nullptr;
  const auto& column = columns(input)[key.value->column];
  return column.is_time() || column.role == Role::kProcessing ? &column : nullptr;
}

Result<NodeId> PlanGraph::filter_rank(NodeId projection, Conditions conditions) {
  const NodeId node = at(projection).inputs[0];
  const auto& rank = std::get<Rank>(at(node).what);
  const auto number = static_cast<std::uint32_t>(columns(node).size() - 1);
  Rank bounded;
  bounded.first = rank.first;
  bounded.last = rank.last;
  Conditions rest;
  const auto& expressions = std::get<Project>(at(projection).what).expressions;
  for (auto& condition : conditions) {
    if (!take_bound(*replaced(*condition, expressions), number, bounded.first, bounded.last))
      rest.push_back(std::move(condition));
  }
  NodeId result = projection;
  if (bounded.first != rank.first || bounded.last != rank.last) {
    for (const auto& key : rank.partition)
      bounded.partition.push_back(clone(*key));
    bounded.order = clones_of(rank.order);
    bounded.by_columns = rank.by_columns;
    bounded.ranking = rank.ranking;
    bounded.end_column = rank.end_column;
    auto inner = clones_of(expressions);
    auto shown = columns(projection);
    const NodeId source = at(node).inputs[0];
    bounded.latest = one_row_by(bounded, source, true) != nullptr;
    const auto* first_by = rank.by_columns ? nullptr : one_row_by(bounded, source, false);
    bounded.earliest = first_by != nullptr && first_by->is_time();
    // The first by the clock is the one that came first, also where the clock is set back.
    if (first_by != nullptr && !bounded.earliest) bounded.order.clear();
    auto below = columns(node);
    const bool changes = !rank.by_columns && first_by == nullptr;
    HF_ASSIGN_OR_RETURN(const NodeId ranked,
                        add(std::move(bounded), {source}, std::move(below), changes));
    HF_ASSIGN_OR_RETURN(
        result, add(Project{std::move(inner)}, {ranked}, std::move(shown), updating(ranked)));
  }
  if (rest.empty()) return result;
  return add_like(Filter{conjunction_of(std::move(rest))}, result);
}

// Conditions of one side go below it, where that drops no row that an outer join keeps.
Result<NodeId> PlanGraph::filter_join(NodeId input, Conditions conditions) {
  auto inputs = at(input).inputs;
  Join join = clone_of(std::get<Join>(at(input).what));
  const std::size_t left = columns(inputs[0]).size();
  const std::size_t all = left + columns(inputs[1]).size();
  const bool keeps_left = join.kind == JoinKind::kRight || join.kind == JoinKind::kFull;
  const bool keeps_right = join.kind == JoinKind::kLeft || join.kind == JoinKind::kFull;
  Conditions of_left, of_right, of_both, above;
  for (auto& condition : conditions) {
    const bool one_side = !columns_of(*condition).empty();
    if (one_side && !keeps_left && reads_only(*condition, 0, left)) {
      of_left.push_back(std::move(condition));
    } else if (one_side && !keeps_right && reads_only(*condition, left, all)) {
      of_right.push_back(moved(*condition, -static_cast<std::int64_t>(left)));
    } else {
      (join.kind == JoinKind::kInner ? of_both : above).push_back(std::move(condition));
    }
  }
  HF_ASSIGN_OR_RETURN(inputs[0], filter_by(inputs[0], std::move(of_left)));
  HF_ASSIGN_OR_RETURN(inputs[1], filter_by(inputs[1], std::move(of_right)));
  Conditions rest = conjuncts_of(std::move(join.condition));
  for (auto& condition : of_both) {
    if (!take_key(*condition, left, all, join)) rest.push_back(std::move(condition));
  }
  join.condition = conjunction_of(std::move(rest));
  const bool changes = at(input).updating;
  auto shown = columns(input);
  HF_ASSIGN_OR_RETURN(const NodeId joined, add(std::move(join), inputs, std::move(shown), changes));
  if (above.empty()) return joined;
  return add_like(Filter{conjunction_of(std::move(above))}, joined);
}

Result<NodeId> PlanGraph::project(NodeId input, Conditions expressions,
                                  std::vector<Column> columns) {
  const auto* below = std::get_if<Project>(&at(input).what);
  if (below != nullptr) {
    std::vector<std::size_t> reads(below->expressions.size());
    bool merges = true;
    for (const auto& expression : expressions) {
      for (const auto column : columns_of(*expression))
        ++reads[column];
    }
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const auto& inner = *below->expressions[i];
      const bool free =
          inner.operation == Operation::kColumn || inner.operation == Operation::kLiteral;
      // One expression may read it twice.
      const bool once = reads[i] <= 1 && varying_call(inner) == nullptr;
      merges = merges && (free || once);
    }
    Conditions merged;
    for (const auto& expression : expressions) {
      merged.push_back(folded(replaced(*expression, below->expressions)));
      merges = merges && is_small(*merged.back());
    }
    if (merges) {
      const NodeId source = at(input).inputs[0];
      return add(Project{std::move(merged)}, {source}, std::move(columns), updating(source));
    }
  }
  return add(Project{std::move(expressions)}, {input}, std::move(columns), updating(input));
}

Result<NodeId> PlanGraph::join(JoinKind kind, NodeId left, NodeId right,
                               ExpressionPointer condition) {
  Join join;
  join.kind = kind;
  const std::size_t width = columns(left).size(), all = width + columns(right).size();
  Conditions rest, of_right;
  for (auto& one : conjuncts_of(std::move(condition))) {
    // What the right side alone decides goes below it, unless all its rows are shown.
    const bool right_alone = !columns_of(*one).empty() && reads_only(*one, width, all) &&
                             kind != JoinKind::kRight && kind != JoinKind::kFull;
    if (right_alone)
      of_right.push_back(moved(*one, -static_cast<std::int64_t>(width)));
    else if (!take_key(*one, width, all, join))
      rest.push_back(std::move(one));
  }
  HF_ASSIGN_OR_RETURN(right, filter_by(right, std::move(of_right)));
  join.condition = conjunction_of(std::move(rest));
  std::vector<Column> shown = columns(left);
  if (kind != JoinKind::kSemi && kind != JoinKind::kAnti)
    shown.insert(shown.end(), columns(right).begin(), columns(right).end());
  const bool changes =
      updating(left) || updating(right) || (kind != JoinKind::kInner && kind != JoinKind::kSemi);
  return add(std::move(join), {left, right}, std::move(shown), changes);
}

Result<NodeId> PlanGraph::join_as_of(JoinKind kind, NodeId left, NodeId right,
                                     ExpressionPointer condition, bool lookup,
                                     std::uint32_t left_time, std::uint32_t right_time) {
  Join join;
  join.kind = kind;
  join.form = lookup ? JoinForm::kLookup : JoinForm::kTemporal;
  join.left_time = left_time;
  join.right_time = right_time;
  const std::size_t width = columns(left).size(), all = width + columns(right).size();
  Conditions rest;
  for (auto& one : conjuncts_of(std::move(condition))) {
    if (!take_key(*one, width, all, join)) rest.push_back(std::move(one));
  }
  join.condition = conjunction_of(std::move(rest));
  std::vector<Column> shown = columns(left);
  for (auto column : columns(right)) {
    column.role = Role::kPlain;
    shown.push_back(std::move(column));
  }
  return add(std::move(join), {left, right}, std::move(shown), false);
}

Result<NodeId> PlanGraph::settle(NodeId node, Position at_place) {
  if (std::holds_alternative<Join>(at(node).what)) return settle_join(node, at_place);
  const auto* filter = std::get_if<Filter>(&at(node).what);
  if (filter == nullptr || !std::holds_alternative<Join>(at(at(node).inputs[0]).what)) return node;
  auto predicate = clone(*filter->predicate);
  HF_ASSIGN_OR_RETURN(const NodeId below, settle(at(node).inputs[0], at_place));
  return add_like(Filter{std::move(predicate)}, below);
}

Result<NodeId> PlanGraph::settle_join(NodeId node, Position at_place) {
  if (std::get<Join>(at(node).what).form != JoinForm::kRegular) return node;
  auto inputs = at(node).inputs;
  HF_ASSIGN_OR_RETURN(inputs[0], settle(inputs[0], at_place));
  HF_ASSIGN_OR_RETURN(inputs[1], settle(inputs[1], at_place));
  Join join = clone_of(std::get<Join>(at(node).what));
  std::vector<Column> shown = columns(node);
  decide_form(join, at(inputs[0]), at(inputs[1]), shown);
  const bool changes = join.form == JoinForm::kRegular &&
                       (updating(inputs[0]) || updating(inputs[1]) || at(node).updating);
  return add(std::move(join), std::move(inputs), std::move(shown), changes);
}

Result<NodeId> PlanGraph::at_clock(NodeId node, std::uint32_t column) {
  auto shown = columns(node);
  for (std::uint32_t i = 0; i < shown.size(); ++i) {
    auto& role = shown[i].role;
    if (i == column)
      role = Role::kTime;
    else if (role != Role::kProcessing)  // The watermark is no longer of it.
      role = Role::kPlain;
  }
  return add(ProcessingTime{column}, {node}, std::move(shown), false);
}

bool PlanGraph::follows_clock(NodeId node) const {
  std::vector<NodeId> open{node};
  std::vector<bool> seen(nodes_.size());
  while (!open.empty()) {
    const auto& next = nodes_[open.back()];
    open.pop_back();
    if (std::holds_alternative<ProcessingTime>(next.what)) return true;
    for (const auto input : next.inputs) {
      if (!seen[input]) open.push_back(input);
      seen[input] = true;
    }
  }
  return false;
}

NodeId PlanGraph::copy(NodeId node, Plan& plan, std::vector<NodeId>& places) {
  constexpr NodeId kNowhere = ~NodeId{0};
  if (places[node] != kNowhere) return places[node];
  for (auto& input : nodes_[node].inputs)
    input = copy(input, plan, places);
  plan.nodes.push_back(std::move(nodes_[node]));
  return places[node] = static_cast<NodeId>(plan.nodes.size() - 1);
}

Plan PlanGraph::plan_from(NodeId root) && {
  Plan plan;
  plan.updating = updating(root);
  std::vector<NodeId> places(nodes_.size(), ~NodeId{0});
  copy(root, plan, places);
  return plan;
}

}  // namespace holdfast::sql
