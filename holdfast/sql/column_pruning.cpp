#include "column_pruning.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sql {
namespace {

using Columns = std::vector<bool>;          // By number: it is read.
using Places = std::vector<std::uint32_t>;  // By number before: the number now, or kGone.
constexpr std::uint32_t kGone = ~std::uint32_t{0};

void renumber(Expression& expression, const Places& places) {
  if (expression.operation == Operation::kColumn) expression.column = places[expression.column];
  for (auto& argument : expression.arguments)
    renumber(*argument, places);
}
void renumber(std::vector<ExpressionPointer>& expressions, const Places& places) {
  for (auto& expression : expressions)
    renumber(*expression, places);
}
void renumber(std::vector<Aggregate>& aggregates, const Places& places) {
  for (auto& aggregate : aggregates) {
    if (aggregate.argument != nullptr) renumber(*aggregate.argument, places);
    if (aggregate.filter != nullptr) renumber(*aggregate.filter, places);
  }
}

void read(const Expression& expression, Columns& columns) {
  for (const auto column : columns_of(expression))
    columns[column] = true;
}
void read(const std::vector<ExpressionPointer>& expressions, Columns& columns) {
  for (const auto& expression : expressions)
    read(*expression, columns);
}
void read(const std::vector<Aggregate>& aggregates, Columns& columns) {
  for (const auto& aggregate : aggregates) {
    if (aggregate.argument != nullptr) read(*aggregate.argument, columns);
    if (aggregate.filter != nullptr) read(*aggregate.filter, columns);
  }
}

bool keeps_rows(const Operator& what) {
  return std::holds_alternative<Join>(what) || std::holds_alternative<Rank>(what) ||
         std::holds_alternative<AssignSessions>(what) ||
         std::holds_alternative<OverAggregate>(what);
}

bool shows_left_alone(const Join& join) {
  return join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti;
}

// What an operator reads of each of its inputs, where `wanted` of its own columns are read.
class Reads {
 public:
  Reads(const Columns& wanted, std::vector<Columns> widths)
      : wanted_(wanted), of_(std::move(widths)) {}
  std::vector<Columns> take() { return std::move(of_); }

  void operator()(const Scan&) {}
  void operator()(const Literals&) {}
  void operator()(const Filter& filter) {
    pass_through();
    read(*filter.predicate, of_[0]);
  }
  void operator()(const Project& project) {
    for (std::size_t i = 0; i < project.expressions.size(); ++i) {
      if (wanted_[i]) read(*project.expressions[i], of_[0]);
    }
  }
  void operator()(const AssignWindows& assign) {
    pass_through();
    of_[0][assign.window.time_column] = true;
  }
  void operator()(const AssignSessions& sessions) {
    pass_through();
    of_[0][sessions.time_column] = true;
    read(sessions.keys, of_[0]);
  }
  void operator()(const ProcessingTime& time) {
    pass_through();
    of_[0][time.column] = true;
  }
  void operator()(const WallClock&) { pass_through(); }
  void operator()(const Group& group) {
    read(group.keys, of_[0]);
    read(group.aggregates, of_[0]);
    if (group.windowed && !group.by_columns) of_[0][group.window.time_column] = true;
    if (group.windowed && group.by_columns)
      of_[0][group.start_column] = of_[0][group.end_column] = true;
  }
  void operator()(const DelayChanges&) { all(); }
  void operator()(const Join& join) {
    const auto left = of_[0].size();
    Columns both = wanted_;
    both.resize(left + of_[1].size());
    if (join.condition != nullptr) read(*join.condition, both);
    for (std::size_t i = 0; i < both.size(); ++i) {
      if (both[i]) (i < left ? of_[0][i] : of_[1][i - left]) = true;
    }
    read(join.left_keys, of_[0]);
    read(join.right_keys, of_[1]);
    if (join.form == JoinForm::kRegular || join.form == JoinForm::kLookup) return;
    of_[0][join.left_time] = of_[1][join.right_time] = true;
  }
  void operator()(const Unnest& unnest) {
    pass_through();
    read(*unnest.array, of_[0]);
  }
  void operator()(const Union&) {
    for (auto& columns : of_)
      columns = wanted_;
  }
  void operator()(const Rank& rank) {
    pass_through();
    read(rank.partition, of_[0]);
    for (const auto& key : rank.order)
      read(*key.value, of_[0]);
    if (rank.by_columns) of_[0][rank.end_column] = true;
  }
  void operator()(const OverAggregate& over) {
    pass_through();
    if (!over.as_they_come) of_[0][over.time_column] = true;
    read(over.partition, of_[0]);
    read(over.aggregates, of_[0]);
  }
  void operator()(const Sort&) { all(); }
  void operator()(const Materialize&) { all(); }

 private:
  // Its first columns are those of its input.
  void pass_through() {
    for (std::size_t i = 0; i < of_[0].size(); ++i)
      of_[0][i] = of_[0][i] || wanted_[i];
  }
  void all() { std::fill(of_[0].begin(), of_[0].end(), true); }

  const Columns& wanted_;
  std::vector<Columns> of_;
};

// Gives an operator the numbers that the columns of its inputs have now.
class Renumber {
 public:
  Renumber(const Columns& wanted, const std::vector<Places>& inputs, std::size_t left_width)
      : wanted_(wanted), inputs_(inputs), left_width_(left_width) {}

  void operator()(Scan&) const {}
  void operator()(Literals&) const {}
  void operator()(Union&) const {}
  void operator()(Materialize&) const {}
  void operator()(Filter& filter) const { renumber(*filter.predicate, inputs_[0]); }
  void operator()(Project& project) const {
    std::vector<ExpressionPointer> kept;
    for (std::size_t i = 0; i < project.expressions.size(); ++i) {
      if (wanted_[i]) kept.push_back(std::move(project.expressions[i]));
    }
    renumber(kept, inputs_[0]);
    project.expressions = std::move(kept);
  }
  void operator()(AssignWindows& assign) const { move(assign.window.time_column); }
  void operator()(AssignSessions& sessions) const {
    move(sessions.time_column);
    renumber(sessions.keys, inputs_[0]);
  }
  void operator()(ProcessingTime& time) const { move(time.column); }
  void operator()(WallClock&) const {}
  void operator()(Group& group) const {
    renumber(group.keys, inputs_[0]);
    renumber(group.aggregates, inputs_[0]);
    if (!group.windowed) return;
    if (!group.by_columns) return move(group.window.time_column);
    move(group.start_column);
    move(group.end_column);
  }
  void operator()(DelayChanges&) const {}  // Groups keep their columns.
  void operator()(Join& join) const {
    Places both = inputs_[0];
    for (const auto place : inputs_[1])
      both.push_back(place == kGone ? kGone : place + static_cast<std::uint32_t>(left_width_));
    if (join.condition != nullptr) renumber(*join.condition, both);
    renumber(join.left_keys, inputs_[0]);
    renumber(join.right_keys, inputs_[1]);
    if (join.form == JoinForm::kRegular || join.form == JoinForm::kLookup) return;
    join.left_time = inputs_[0][join.left_time];
    join.right_time = inputs_[1][join.right_time];
  }
  void operator()(Unnest& unnest) const { renumber(*unnest.array, inputs_[0]); }
  void operator()(Rank& rank) const {
    renumber(rank.partition, inputs_[0]);
    for (auto& key : rank.order)
      renumber(*key.value, inputs_[0]);
    if (rank.by_columns) move(rank.end_column);
  }
  void operator()(OverAggregate& over) const {
    if (!over.as_they_come) move(over.time_column);
    renumber(over.partition, inputs_[0]);
    renumber(over.aggregates, inputs_[0]);
  }
  void operator()(Sort& sort) const {
    for (auto& key : sort.keys)
      renumber(*key.value, inputs_[0]);
  }

 private:
  void move(std::uint32_t& column) const { column = inputs_[0][column]; }

  const Columns& wanted_;
  const std::vector<Places>& inputs_;
  const std::size_t left_width_;
};

// What is read of each node, and of each of its inputs along the edge.
struct AllReads {
  std::vector<Columns> of_node;
  std::vector<std::vector<Columns>> of_edge;
};

// From the root down.
AllReads all_reads(const Plan& plan) {
  const auto count = plan.nodes.size();
  AllReads all;
  all.of_edge.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    all.of_node.emplace_back(plan.nodes[i].columns.size(), i + 1 == count);
  for (std::size_t i = count; i-- > 0;) {
    const auto& node = plan.nodes[i];
    std::vector<Columns> none;
    for (const auto input : node.inputs)
      none.emplace_back(plan.nodes[input].columns.size());
    Reads reads(all.of_node[i], std::move(none));
    std::visit(reads, node.what);
    all.of_edge[i] = reads.take();
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      auto& edge = all.of_edge[i][k];
      // A row has a column, also where only rows are counted.
      if (std::find(edge.begin(), edge.end(), true) == edge.end() && !edge.empty()) edge[0] = true;
      auto& of_input = all.of_node[node.inputs[k]];
      for (std::size_t column = 0; column < edge.size(); ++column)
        of_input[column] = of_input[column] || edge[column];
    }
  }
  return all;
}

class Pruning {
 public:
  explicit Pruning(Plan plan) : before_(std::move(plan)), reads_(all_reads(before_)) {}

  Plan take() {
    after_.sink = before_.sink;
    after_.updating = before_.updating;
    for (std::uint32_t node = 0; node < before_.nodes.size(); ++node)
      rebuild(node);
    return std::move(after_);
  }

 private:
  void rebuild(std::uint32_t number) {
    auto& node = before_.nodes[number];
    std::vector<Places> places;
    const bool exact = keeps_rows(node.what) || std::holds_alternative<Union>(node.what);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto input = node.inputs[k];
      places.push_back(places_[input]);
      std::uint32_t now = numbers_[input];
      if (exact) now = projected(now, reads_.of_edge[number][k], places.back());
      node.inputs[k] = now;
    }
    const std::size_t left_width =
        node.inputs.empty() ? 0 : after_.nodes[node.inputs[0]].columns.size();
    std::visit(Renumber(reads_.of_node[number], places, left_width), node.what);
    places_.push_back(places_of(node, reads_.of_node[number], places, left_width));
    std::vector<Column> columns;
    for (std::size_t i = 0; i < node.columns.size(); ++i) {
      if (places_.back()[i] != kGone) columns.push_back(std::move(node.columns[i]));
    }
    node.columns = std::move(columns);
    numbers_.push_back(static_cast<std::uint32_t>(after_.nodes.size()));
    after_.nodes.push_back(std::move(node));
  }

  // A projection on what is read along one edge, if there is more. `places` become its own.
  std::uint32_t projected(std::uint32_t input, const Columns& read, Places& places) {
    Project project;
    std::vector<Column> columns;
    const auto& below = after_.nodes[input].columns;
    Places own(places.size(), kGone);
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (!read[i]) continue;
      own[i] = static_cast<std::uint32_t>(columns.size());
      const auto& column = below[places[i]];
      project.expressions.push_back(column_of(places[i], column.type, {}));
      columns.push_back(column);
    }
    if (columns.size() == below.size()) return input;
    places = std::move(own);
    after_.nodes.push_back(
        {std::move(project), std::move(columns), {input}, after_.nodes[input].updating});
    return static_cast<std::uint32_t>(after_.nodes.size() - 1);
  }

  // Where the columns of a node stand now.
  static Places places_of(const Node& node, const Columns& wanted,
                          const std::vector<Places>& inputs, std::size_t left_width) {
    Places places(node.columns.size(), kGone);
    std::uint32_t next = 0;
    if (std::holds_alternative<Project>(node.what)) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (wanted[i]) places[i] = next++;
      }
      return places;
    }
    const auto* join = std::get_if<Join>(&node.what);
    const bool own = inputs.empty() || std::holds_alternative<Group>(node.what);
    std::size_t at = 0;
    for (std::size_t k = 0; k < inputs.size() && !own; ++k) {
      if (k > 0 && (join == nullptr || shows_left_alone(*join))) break;
      for (const auto place : inputs[k]) {
        if (place != kGone) {
          places[at] = place + (k == 0 ? 0 : static_cast<std::uint32_t>(left_width));
          next = std::max(next, places[at] + 1);
        }
        ++at;
      }
    }
    for (; at < places.size(); ++at)  // What it adds itself.
      places[at] = next++;
    return places;
  }

  Plan before_, after_;
  const AllReads reads_;
  std::vector<Places> places_;          // By number of a node before.
  std::vector<std::uint32_t> numbers_;  // The same.
};

}  // namespace

std::vector<std::vector<bool>> read_columns(const Plan& plan) { return all_reads(plan).of_node; }

Plan without_unread_columns(Plan plan) {
  const bool any = std::any_of(plan.nodes.begin(), plan.nodes.end(),
                               [](const Node& node) { return keeps_rows(node.what); });
  if (!any) return plan;
  return Pruning(std::move(plan)).take();
}

}  // namespace holdfast::sql
