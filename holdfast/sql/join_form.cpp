#include "join_form.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::sql {
namespace {

constexpr std::int64_t kNone = kMaxTimestampMs - kMinTimestampMs + 1;  // Longer than any interval.

bool is_role(const ExpressionPointer& key, const std::vector<Column>& columns, Role role) {
  return key->operation == Operation::kColumn && columns[key->column].role == role;
}

// The pair of keys that are both of this role.
std::optional<std::size_t> key_of(const Join& join, const Node& left, const Node& right,
                                  Role role) {
  for (std::size_t i = 0; i < join.left_keys.size(); ++i) {
    if (is_role(join.left_keys[i], left.columns, role) &&
        is_role(join.right_keys[i], right.columns, role))
      return i;
  }
  return std::nullopt;
}

// `column` + `shift_ms`, of a time attribute.
struct Time {
  std::uint32_t column = 0;
  std::int64_t shift_ms = 0;
};
std::optional<Time> time_in(const Expression& e, const std::vector<Column>& columns) {
  if (e.operation == Operation::kColumn && columns[e.column].is_time()) return Time{e.column, 0};
  if (e.operation != Operation::kShiftTime || e.arguments[1]->operation != Operation::kLiteral ||
      e.arguments[1]->literal.null)
    return std::nullopt;
  auto time = time_in(*e.arguments[0], columns);
  if (time) time->shift_ms += static_cast<std::int64_t>(e.arguments[1]->literal.number);
  return time;
}

// A condition low <= left time - right time <= high, one or both of its bounds.
class NearTimes {
 public:
  NearTimes(const std::vector<Column>& columns, std::size_t left)
      : columns_(columns), left_(left) {}

  bool take(const Expression& e) {
    if (e.operation < Operation::kEqual || e.operation > Operation::kGreaterEqual ||
        e.operation == Operation::kNotEqual)
      return false;
    auto a = time_in(*e.arguments[0], columns_), b = time_in(*e.arguments[1], columns_);
    if (!a || !b || (a->column < left_) == (b->column < left_)) return false;
    Operation operation = e.operation;
    if (a->column >= left_) {  // right < left is left > right.
      std::swap(a, b);
      operation = turned(operation);
    }
    if (has_columns_ && (a->column != left_time || b->column != right_time)) return false;
    has_columns_ = true;
    left_time = a->column;
    right_time = b->column;
    bound(operation, b->shift_ms - a->shift_ms);
    return true;
  }
  bool complete() const { return low != -kNone && high != kNone; }

  std::uint32_t left_time = 0, right_time = 0;
  std::int64_t low = -kNone, high = kNone;

 private:
  // left - right `operation` `ms`
  void bound(Operation operation, std::int64_t ms) {
    if (operation != Operation::kLess && operation != Operation::kLessEqual)
      low = std::max(low, operation == Operation::kGreater ? ms + 1 : ms);
    if (operation != Operation::kGreater && operation != Operation::kGreaterEqual)
      high = std::min(high, operation == Operation::kLess ? ms - 1 : ms);
  }

  const std::vector<Column>& columns_;
  const std::size_t left_;
  bool has_columns_ = false;
};

bool window_form(Join& join, const Node& left, const Node& right) {
  const auto start = key_of(join, left, right, Role::kWindowStart);
  const auto end = key_of(join, left, right, Role::kWindowEnd);
  if (!start || !end) return false;
  join.form = JoinForm::kWindow;
  join.left_time = join.left_keys[*end]->column;
  join.right_time = join.right_keys[*end]->column;
  return true;
}

// The condition stays: it is exact where times are NULL, too.
bool interval_form(Join& join, const Node& left, const Node& right) {
  if (join.condition == nullptr || join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti)
    return false;
  std::vector<Column> all = left.columns;
  all.insert(all.end(), right.columns.begin(), right.columns.end());
  NearTimes times(all, left.columns.size());
  for (const auto& condition : conjuncts_of(clone(*join.condition)))
    times.take(*condition);
  if (!times.complete() || times.low > times.high) return false;
  join.form = JoinForm::kInterval;
  join.left_time = times.left_time;
  join.right_time = times.right_time - static_cast<std::uint32_t>(left.columns.size());
  join.low_ms = times.low;
  join.high_ms = times.high;
  return true;
}

}  // namespace

void decide_form(Join& join, const Node& left, const Node& right, std::vector<Column>& columns) {
  if (!left.updating && !right.updating &&
      (window_form(join, left, right) || interval_form(join, left, right)))
    return;
  // Rows that were there long before are shown once more: no watermark holds for their times.
  for (auto& column : columns) {
    if (column.role != Role::kProcessing) column.role = Role::kPlain;
  }
}

bool take_bound(const Expression& e, std::uint32_t number, std::uint64_t& first,
                std::uint64_t& last) {
  if (e.operation < Operation::kEqual || e.operation > Operation::kGreaterEqual ||
      e.operation == Operation::kNotEqual)
    return false;
  const bool straight = e.arguments[0]->operation == Operation::kColumn;
  const auto& column = *e.arguments[straight ? 0 : 1];
  const auto& literal = *e.arguments[straight ? 1 : 0];
  if (column.operation != Operation::kColumn || column.column != number ||
      literal.operation != Operation::kLiteral || !literal.type.is_integer() ||
      literal.literal.null)
    return false;
  const auto value = static_cast<std::int64_t>(literal.literal.number);
  const auto at_least = [&](std::int64_t bound) {
    first = std::max(first, static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 1)));
  };
  const auto at_most = [&](std::int64_t bound) {
    last = std::min(last, static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 0)));
  };
  using enum Operation;
  const auto operation = e.operation;
  if (operation == kEqual) return at_least(value), at_most(value), true;
  const bool above = (operation == kGreater || operation == kGreaterEqual) == straight;
  const bool strict = operation == kLess || operation == kGreater;
  constexpr auto kMost = std::int64_t{1} << 62;
  if (value > kMost || value < -kMost) return false;
  if (above)
    at_least(strict ? value + 1 : value);
  else
    at_most(strict ? value - 1 : value);
  return true;
}

}  // namespace holdfast::sql
