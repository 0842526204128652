#include "extreme_join.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/stream/compile/column_origin.hpp>
#include <holdfast/stream/compile/expression_source.hpp>

namespace holdfast::stream::compile {
namespace {

using sql::AggregateKind;
using sql::Expression;
using sql::Operation;

// A column, moved by so many milliseconds if it is a time.
struct Moved {
  std::uint32_t column = 0;
  std::int64_t by = 0;
};
std::optional<Moved> moved_column(const Expression& e) {
  if (e.operation == Operation::kColumn) return Moved{e.column};
  if (e.operation != Operation::kShiftTime) return std::nullopt;
  const auto &time = *e.arguments[0], &by = *e.arguments[1];
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (time.operation != Operation::kColumn || by.operation != Operation::kLiteral ||
      by.literal.null || by.literal.number > kMost || by.literal.number < -kMost)
    return std::nullopt;
  return Moved{time.column, static_cast<std::int64_t>(by.literal.number)};
}

class Search {
 public:
  Search(const sql::Plan& plan, std::size_t node, std::size_t input)
      : plan_(plan),
        node_(plan.nodes[node]),
        join_(std::get<sql::Join>(node_.what)),
        input_(input) {}

  std::optional<ExtremePartner> find() {
    const bool fits = join_.kind == sql::JoinKind::kInner && !plan_.nodes[own()].updating &&
                      find_group() && find_keys();
    if (!fits || !take_condition(join_.condition.get()) || !has_value_) return std::nullopt;
    if (!is_of_one_window()) return std::nullopt;
    return std::move(found_);
  }

 private:
  std::size_t own() const { return node_.inputs[input_]; }
  std::size_t other() const { return node_.inputs[1 - input_]; }
  const std::vector<sql::ExpressionPointer>& own_keys() const {
    return input_ == 0 ? join_.left_keys : join_.right_keys;
  }
  const std::vector<sql::ExpressionPointer>& other_keys() const {
    return input_ == 0 ? join_.right_keys : join_.left_keys;
  }

  // All columns of the other side that matter are of one group of windows.
  bool find_group() {
    for (std::uint32_t i = 0; i < plan_.nodes[other()].columns.size(); ++i) {
      const auto place = origin_of(plan_, {other(), i});
      group_ = std::get_if<sql::Group>(&plan_.nodes[place.node].what);
      if (group_ == nullptr) continue;
      found_.group = place.node;
      found_.keys.resize(group_->keys.size());
      key_known_.resize(group_->keys.size());
      const bool ends_once =
          group_->by_columns || group_->window.size_ms == group_->window.slide_ms;
      const bool of_windows = !group_->by_columns || join_.form == sql::JoinForm::kWindow;
      return group_->windowed && group_->lateness_ms == 0 && ends_once && of_windows &&
             !group_->window.cumulates &&
             (join_.form == sql::JoinForm::kRegular || join_.form == sql::JoinForm::kWindow);
    }
    return false;
  }
  // The group's column that the other side's is; none: it is computed.
  std::optional<std::uint32_t> of_group(std::uint32_t column) const {
    const auto place = origin_of(plan_, {other(), column});
    if (place.node != found_.group) return std::nullopt;
    return place.column;
  }
  std::uint32_t aggregates_begin() const { return static_cast<std::uint32_t>(group_->keys.size()); }
  // window_start, window_end, window_time.
  std::uint32_t bounds_begin() const {
    return aggregates_begin() + static_cast<std::uint32_t>(group_->aggregates.size());
  }

  bool find_keys() {
    for (std::size_t i = 0; i < own_keys().size(); ++i) {
      const auto &mine = *own_keys()[i], &its = *other_keys()[i];
      if (mine.operation != Operation::kColumn || its.operation != Operation::kColumn) continue;
      const auto column = of_group(its.column);
      if (!column) continue;
      if (*column < aggregates_begin()) {
        found_.keys[*column] = mine.column;
        key_known_[*column] = true;
      } else if (*column < bounds_begin()) {
        take_value(Operation::kEqual, mine.column, *column);
      } else if (*column == bounds_begin()) {
        found_.start = mine.column;
        has_start_ = true;
      }
    }
    found_.end = input_ == 0 ? join_.left_time : join_.right_time;
    return std::find(key_known_.begin(), key_known_.end(), false) == key_known_.end();
  }
  // `value` operation the aggregate.
  bool take_value(Operation operation, std::uint32_t value, std::uint32_t column) {
    const auto& aggregate = group_->aggregates[column - aggregates_begin()];
    const auto& type = plan_.nodes[own()].columns[value].type;
    const bool least = operation == Operation::kGreaterEqual || operation == Operation::kGreater;
    const bool most = operation == Operation::kLessEqual || operation == Operation::kLess;
    const bool equal = operation == Operation::kEqual;
    const bool is_max = aggregate.kind == AggregateKind::kMax && (least || equal);
    const bool is_min = aggregate.kind == AggregateKind::kMin && (most || equal);
    const bool whole = type.is_integer() || type.kind == sql::Kind::kTimestamp;
    if ((!is_max && !is_min) || aggregate.distinct || !whole || !(type == aggregate.type))
      return false;
    found_.value = value;
    found_.aggregate = column - aggregates_begin();
    return has_value_ = true;
  }

  // Whatever else the condition says, it can be asked of fewer rows: none of it fails.
  bool take_condition(const Expression* e) {
    if (e == nullptr) return true;
    if (e->operation == Operation::kAnd)
      return std::all_of(e->arguments.begin(), e->arguments.end(),
                         [this](const auto& part) { return take_condition(part.get()); });
    return take_comparison(*e) || !ExpressionSource::can_fail(*e);
  }
  bool take_comparison(const Expression& e) {
    switch (e.operation) {
      case Operation::kLess:
      case Operation::kLessEqual:
      case Operation::kGreater:
      case Operation::kGreaterEqual:
      case Operation::kEqual: break;
      default: return false;
    }
    auto first = moved_column(*e.arguments[0]), second = moved_column(*e.arguments[1]);
    if (!first || !second) return false;
    const auto left = static_cast<std::uint32_t>(plan_.nodes[node_.inputs[0]].columns.size());
    auto operation = e.operation;
    if ((first->column < left) != (input_ == 0)) {
      std::swap(first, second);
      operation = sql::turned(operation);
    }
    // One of either side, each by its number there.
    if ((first->column < left) == (second->column < left)) return false;
    (input_ == 0 ? second : first)->column -= left;
    const auto column = of_group(second->column);
    if (!column || *column < aggregates_begin()) return false;
    if (*column < bounds_begin()) {
      const bool plain = first->by == 0 && second->by == 0;
      return plain && take_value(operation, first->column, *column);
    }
    return take_bound(operation, first->column, second->by - first->by, *column);
  }
  // A time of the row `operation` window_end + by, or another bound of the window.
  bool take_bound(Operation operation, std::uint32_t time, std::int64_t by, std::uint32_t column) {
    const auto which = column - bounds_begin();
    if (which == 0) by -= group_->window.size_ms;
    if (which == 2) by -= 1;
    const bool from = operation == Operation::kGreaterEqual || operation == Operation::kGreater;
    const bool to = operation == Operation::kLessEqual || operation == Operation::kLess;
    if (from && by >= -group_->window.size_ms) from_.push_back(time);
    if (to && by <= 0) to_.push_back(time);
    return from || to;
  }
  // The rows of the other side that may be partners are of the window that the row is in.
  bool is_of_one_window() {
    if (join_.form == sql::JoinForm::kWindow) return has_start_;
    for (const auto time : from_) {
      if (std::find(to_.begin(), to_.end(), time) == to_.end()) continue;
      found_.time = time;
      return true;
    }
    return false;
  }

  const sql::Plan& plan_;
  const sql::Node& node_;
  const sql::Join& join_;
  const std::size_t input_;
  const sql::Group* group_ = nullptr;
  std::vector<bool> key_known_;
  bool has_value_ = false, has_start_ = false;
  std::vector<std::uint32_t> from_, to_;  // Columns that are no earlier, and no later, than it.
  ExtremePartner found_;
};

}  // namespace

std::optional<ExtremePartner> extreme_partner(const sql::Plan& plan, std::size_t node,
                                              std::size_t input) {
  return Search(plan, node, input).find();
}

}  // namespace holdfast::stream::compile
