#include "time_arithmetic.hpp"

#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/decimal.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::sql {
namespace {

using syntax::Form;

constexpr std::int64_t kMostYears = 9999;

Error no_number(const syntax::Expression& interval) {
  return error_at(interval.at, "'" + escape(interval.text) + "' is no number of " + interval.name,
                  "INTERVAL '10' " + interval.name);
}
Error longer_than_all(Position at) { return error_at(at, "an interval is longer than 9999 years"); }

// INTERVAL … MONTH or YEAR, with signs before it or none.
const syntax::Expression* months_in(const syntax::Expression& e, bool& negative) {
  if (e.form == Form::kUnary && (e.name == "-" || e.name == "+")) {
    negative ^= e.name == "-";
    return months_in(*e.arguments[0], negative);
  }
  const bool counts = e.form == Form::kInterval && (e.name == "MONTH" || e.name == "YEAR");
  return counts ? &e : nullptr;
}

Result<std::int64_t> months_of(const syntax::Expression& interval) {
  const std::int64_t each = interval.name == "YEAR" ? 12 : 1;
  const auto amount = decimal_of(interval.text, 1);
  if (!amount || *amount % 10 != 0) return no_number(interval);
  const Int128 months = *amount / 10 * each;
  if (months > kMostYears * 12 || months < -kMostYears * 12) return longer_than_all(interval.at);
  return static_cast<std::int64_t>(months);
}

}  // namespace

Result<ExpressionPointer> bind_interval(const syntax::Expression& e) {
  if (e.name == "MONTH" || e.name == "YEAR")
    return unsupported_at(
        e.at, "INTERVAL … " + e.name + " here",
        "it stands beside + or - with a DATE or TIMESTAMP(3); windows, frames and "
        "watermarks take DAY, HOUR, MINUTE and SECOND");
  const auto amount = decimal_of(e.text, 3);
  if (!amount) return no_number(e);
  const std::int64_t unit = e.name == "DAY"      ? kDayMs
                            : e.name == "HOUR"   ? 3'600'000
                            : e.name == "MINUTE" ? 60'000
                                                 : 1000;
  constexpr std::int64_t kLongest = kMaxTimestampMs - kMinTimestampMs;
  if (*amount > kLongest || *amount < -kLongest || *amount * unit / 1000 > kLongest ||
      *amount * unit / 1000 < -kLongest)
    return longer_than_all(e.at);
  return literal_of(Value::of(*amount * unit / 1000), kIntervalType, e.at);
}

Result<ExpressionPointer> moved_time(char sign, Position at, ExpressionPointer& left,
                                     ExpressionPointer& right) {
  if (sign == '+' && left->type.kind == Kind::kInterval && right->type.is_time())
    std::swap(left, right);
  if (right->type.kind != Kind::kInterval || !left->type.is_time()) return ExpressionPointer();
  const bool date = left->type.kind == Kind::kDate;
  if (sign == '-') right = made(Operation::kNegate, kIntervalType, at, std::move(right));
  right = folded(std::move(right));
  if (date) {
    if (right->operation != Operation::kLiteral)
      return unsupported_at(at, "a DATE and an INTERVAL that is no literal");
    right->literal.number -= right->literal.number % kDayMs;
    left = cast_to(std::move(left), kTimestampType);
  }
  const Type type = left->type;
  auto moved = made(Operation::kShiftTime, type, at, std::move(left), std::move(right));
  return date ? cast_to(std::move(moved), Type{Kind::kDate}) : std::move(moved);
}

Result<ExpressionPointer> moved_by_months(const syntax::Expression& e, const BindOperand& bind) {
  bool negative = e.name == "-";
  const auto* interval = months_in(*e.arguments[1], negative);
  const auto* time = e.arguments[0].get();
  if (interval == nullptr && e.name == "+") {
    negative = false;
    interval = months_in(*e.arguments[0], negative);
    time = e.arguments[1].get();
  }
  if (interval == nullptr || (e.name != "+" && e.name != "-")) return ExpressionPointer();
  HF_ASSIGN_OR_RETURN(const auto months, months_of(*interval));
  HF_ASSIGN_OR_RETURN(auto bound, bind(*time));
  if (!bound->type.is_time())
    return error_at(e.at, "there is no " + name_of(bound->type) + " " + e.name + " INTERVAL");
  std::vector<ExpressionPointer> arguments;
  arguments.push_back(literal_of(Value::of_text("MONTH"), kStringType, e.at));
  arguments.push_back(literal_of(Value::of(negative ? -months : months), kIntType, e.at));
  arguments.push_back(std::move(bound));
  return bind_function("TIMESTAMPADD", e.at, std::move(arguments));
}

}  // namespace holdfast::sql
