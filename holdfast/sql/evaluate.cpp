#include "evaluate.hpp"

#include <chrono>
#include <cmath>
#include <limits>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/cast.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/nested_functions.hpp>
#include <holdfast/sql/prepared_function.hpp>
#include <holdfast/sql/scalar_functions.hpp>
#include <holdfast/sql/text_functions.hpp>

namespace holdfast::sql {
namespace {

std::uint32_t scale_of(const Type& type) { return type.kind == Kind::kDecimal ? type.scale : 0; }

Error too_long(const Expression& e) {
  return error_at(e.at, "the result does not fit " + name_of(e.type));
}

double real_arithmetic(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::kAdd: return a + b;
    case Operation::kSubtract: return a - b;
    case Operation::kMultiply: return a * b;
    case Operation::kDivide: return a / b;
    default: return std::fmod(a, b);
  }
}

// Of 64 bits at most each, so that 128 hold any answer.
Int128 integer_arithmetic(Operation operation, Int128 a, Int128 b) {
  switch (operation) {
    case Operation::kAdd: return a + b;
    case Operation::kSubtract: return a - b;
    case Operation::kMultiply: return a * b;
    case Operation::kDivide: return a / b;
    default: return a % b;
  }
}

std::optional<Int128> decimal_result(const Expression& e, Int128 a, Int128 b) {
  const std::uint32_t s1 = scale_of(e.arguments[0]->type), s2 = scale_of(e.arguments[1]->type);
  const std::uint32_t scale = e.type.scale;
  if (e.operation == Operation::kMultiply) return multiplied(a, b, s1 + s2 - scale);
  // a / 10^s1 / (b / 10^s2) * 10^scale; the rule of the type makes the shift positive.
  if (e.operation == Operation::kDivide) return divided(a, b, scale + s2 - s1);
  if (e.operation == Operation::kModulo)
    return rescaled(remainder_of(a, s1, b, s2), std::max(s1, s2), scale);
  return summed(a, s1, e.operation == Operation::kSubtract ? -b : b, s2, scale);
}

Status arithmetic(const Expression& e, const Value& a, const Value& b, Value& out) {
  out.null = false;
  if (e.type.is_real()) {
    const double real = real_arithmetic(e.operation, a.real, b.real);
    out.real = e.type.kind == Kind::kFloat ? static_cast<double>(static_cast<float>(real)) : real;
    return {};
  }
  const bool divides = e.operation == Operation::kDivide || e.operation == Operation::kModulo;
  if (divides && b.number == 0) return error_at(e.at, "division by zero");
  if (e.type.is_integer()) {
    out.number = wrapped(integer_arithmetic(e.operation, a.number, b.number), e.type.kind);
    return {};
  }
  const auto number = decimal_result(e, a.number, b.number);
  if (!number || !fits(*number, e.type.precision)) return too_long(e);
  out.number = *number;
  return {};
}

bool holds(Operation operation, int order) {
  switch (operation) {
    case Operation::kEqual: return order == 0;
    case Operation::kNotEqual: return order != 0;
    case Operation::kLess: return order < 0;
    case Operation::kLessEqual: return order <= 0;
    case Operation::kGreater: return order > 0;
    default: return order >= 0;
  }
}

int order_of(const Expression& a, const Value& left, const Expression& b, const Value& right) {
  if (a.type.kind == Kind::kDecimal || b.type.kind == Kind::kDecimal)
    return compared(left.number, scale_of(a.type), right.number, scale_of(b.type));
  return compare(left, right, a.type);
}

// AND stops at false, OR at true: what stands behind is not evaluated then.
Status junction(const Expression& e, const Row& row, Value& out) {
  const bool decisive = e.operation == Operation::kOr;
  bool unknown = false;
  for (const auto& argument : e.arguments) {
    HF_RETURN_IF_ERROR(evaluate(*argument, row, out));
    if (out.null) {
      unknown = true;
    } else if ((out.number != 0) == decisive) {
      return {};
    }
  }
  out.null = unknown;
  out.number = decisive ? 0 : 1;
  return {};
}

Status membership(const Expression& e, const Row& row, Value& out) {
  Value value;
  HF_RETURN_IF_ERROR(evaluate(*e.arguments[0], row, value));
  if (value.null) return out.null = true, Status();
  bool unknown = false;
  for (std::size_t i = 1; i < e.arguments.size(); ++i) {
    HF_RETURN_IF_ERROR(evaluate(*e.arguments[i], row, out));
    if (out.null) {
      unknown = true;
    } else if (order_of(*e.arguments[0], value, *e.arguments[i], out) == 0) {
      out = Value::of(1);
      return {};
    }
  }
  out = Value::of(0);
  out.null = unknown;
  return {};
}

Status choice(const Expression& e, const Row& row, Value& out) {
  for (std::size_t i = 0; i + 1 < e.arguments.size(); i += 2) {
    HF_RETURN_IF_ERROR(evaluate(*e.arguments[i], row, out));
    if (out.is_true()) return evaluate(*e.arguments[i + 1], row, out);
  }
  return evaluate(*e.arguments.back(), row, out);
}

// A time's, since 1970.
std::int64_t ms_of(const Value& time, const Type& type) {
  const auto number = static_cast<std::int64_t>(time.number);
  return type.kind == Kind::kDate ? number * kDayMs : number;
}

Status whole(const Expression& e, const Value& value, Value& out) {
  const Type& from = e.arguments[0]->type;
  out = value;
  if (from.is_real()) {
    out.real = e.operation == Operation::kFloor ? std::floor(value.real) : std::ceil(value.real);
  } else if (from.kind == Kind::kDecimal) {
    const Int128 unit = power_of_ten(from.scale);
    Int128 quotient = value.number / unit;
    const Int128 rest = value.number % unit;
    if (e.operation == Operation::kFloor && rest < 0) --quotient;
    if (e.operation == Operation::kCeil && rest > 0) ++quotient;
    out.number = quotient;
  }
  return {};
}

Status rounded(const Expression& e, const Value& value, Value& out) {
  const Type& from = e.arguments[0]->type;
  out = value;
  const auto digits = static_cast<std::uint32_t>(e.arguments[1]->literal.number);
  if (from.kind == Kind::kDecimal) {
    const auto number = rescaled(value.number, from.scale, e.type.scale);
    if (!number) return too_long(e);
    out.number = *number;
  } else if (from.is_real() && std::isfinite(value.real)) {
    // By its shortest digits, as they are printed: 2.675 is 2.68.
    const auto number = decimal_of(text_of(value, from), digits);
    if (number) out = value_of(decimal_text(*number, digits), from).value_or(value);
  }
  return {};
}

// Of texts of a pattern, and their parts.
Status parts(const Expression& e, const Row& row, const Value& first, Value& out) {
  if (e.operation == Operation::kUpper)
    return out = Value::of_text(in_upper_case(first.text)), Status();
  if (e.operation == Operation::kLower)
    return out = Value::of_text(in_lower_case(first.text)), Status();
  Value second, third;
  HF_RETURN_IF_ERROR(evaluate(*e.arguments[1], row, second));
  if (second.null) return out = Value(), Status();
  if (e.operation == Operation::kDateFormat) {
    out = Value::of_text(formatted_time(ms_of(first, e.arguments[0]->type), second.text));
    return {};
  }
  HF_RETURN_IF_ERROR(evaluate(*e.arguments[2], row, third));
  if (third.null) return out = Value(), Status();
  const auto part = part_of(first.text, second.text, static_cast<std::int64_t>(third.number));
  out = part ? Value::of_text(std::string(*part)) : Value();
  return {};
}

Status strings(const Expression& e, const Row& row, const Value& first, Value& out) {
  if (e.operation >= Operation::kUpper) return parts(e, row, first, out);
  if (e.operation == Operation::kCharLength)
    return out = Value::of(static_cast<Int128>(characters_of(first.text))), Status();
  if (e.operation == Operation::kTrim)
    return out = Value::of_text(std::string(without_blanks(first.text))), Status();
  Value second, third;
  HF_RETURN_IF_ERROR(evaluate(*e.arguments[1], row, second));
  const bool has_third = e.arguments.size() > 2;
  if (has_third) HF_RETURN_IF_ERROR(evaluate(*e.arguments[2], row, third));
  const bool optional_third = e.operation == Operation::kLike;
  if (second.null || (has_third && !optional_third && third.null)) return out.null = true, Status();
  if (e.operation == Operation::kConcat) {
    if (first.text.size() + second.text.size() > kMaxMadeText)
      return error_at(e.at, "||: a text is longer than 16 MiB");
    out = Value::of_text(first.text + second.text);
  } else if (e.operation == Operation::kSubstring) {
    const auto number = [](const Value& value) { return static_cast<std::int64_t>(value.number); };
    const auto count = has_third ? number(third) : std::numeric_limits<std::int64_t>::max();
    if (count < 0)
      out = Value();
    else
      out = Value::of_text(std::string(substring(first.text, number(second), count)));
  } else {
    const auto pattern = like_pattern(second.text, third.null ? '\0' : third.text.front());
    if (pattern.wrong != nullptr) return error_at(e.at, pattern.wrong);
    out = Value::of(is_like(first.text, pattern.steps, pattern.kinds) ? 1 : 0);
  }
  return {};
}

Status shifted(const Expression& e, Int128 ms, Value& out) {
  if (ms < kMinTimestampMs || ms > kMaxTimestampMs)
    return error_at(e.at, "the time lies beyond the years 1 to 9999");
  out = Value::of(ms);
  return {};
}

Status absolute(const Expression& e, Value& out) {
  if (e.type.is_real()) {
    out.real = e.operation == Operation::kNegate ? -out.real : std::fabs(out.real);
  } else if (e.operation == Operation::kNegate || out.number < 0) {
    out.number = e.type.is_integer() ? wrapped(-out.number, e.type.kind) : -out.number;
  }
  return {};
}

Status cast(const Expression& e, const Value& value, Value& out) {
  const Type& from = e.arguments[0]->type;
  auto result = cast_value(value, from, e.type);
  if (!result && e.operation == Operation::kCast) {
    return error_at(e.at, "'" + text_of(value, from) + "' is no " + name_of(e.type),
                    "TRY_CAST gives NULL");
  }
  out = result ? *std::move(result) : Value();
  return {};
}

// What is NULL if its first operand is.
Status of_one(const Expression& e, const Row& row, const Value& first, Value& out) {
  switch (e.operation) {
    case Operation::kNot: return out = Value::of(first.number == 0 ? 1 : 0), Status();
    case Operation::kNegate:
    case Operation::kAbsolute: return out = first, absolute(e, out);
    case Operation::kFloor:
    case Operation::kCeil: return whole(e, first, out);
    case Operation::kRound: return rounded(e, first, out);
    case Operation::kCast:
    case Operation::kTryCast: return cast(e, first, out);
    case Operation::kExtract:
      out = Value::of(extracted(*time_field(e.literal.text), ms_of(first, e.arguments[0]->type)));
      return {};
    case Operation::kTimestampOfMs: return shifted(e, first.number, out);
    default: return strings(e, row, first, out);
  }
}

Status scalar_call(const Expression& e, const Row& row, Value& out) {
  const auto& function = scalar_functions()[e.column];
  std::vector<Value> arguments(e.arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    HF_RETURN_IF_ERROR(evaluate(*e.arguments[i], row, arguments[i]));
    if (arguments[i].null && !function.takes_null) return out = Value(), Status();
  }
  if (const char* wrong = function.compute(arguments, e.type, out))
    return error_at(e.at, std::string(function.name) + ": " + wrong);
  return {};
}

Status nested_call(const Expression& e, const Row& row, Value& out) {
  const auto& function = nested_functions()[e.column];
  std::vector<Value> arguments(e.arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    HF_RETURN_IF_ERROR(evaluate(*e.arguments[i], row, arguments[i]));
    if (arguments[i].null && !function.takes_null) return out = Value(), Status();
  }
  if (const char* wrong = function.compute({arguments, e.arguments, e.type}, out))
    return error_at(e.at, std::string(function.name) + ": " + wrong);
  return {};
}

Status prepared_call(const Expression& e, const Row& row, Value& out) {
  std::vector<Value> arguments(e.arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    HF_RETURN_IF_ERROR(evaluate(*e.arguments[i], row, arguments[i]));
  if (const Status computed = e.prepared->compute(arguments, out); !computed)
    return error_at(e.at, computed.error().detail);
  return {};
}

Status now(Value& out) {
  using namespace std::chrono;
  out = Value::of(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  return {};
}

}  // namespace

Status evaluate(const Expression& e, const Row& row, Value& out) {
  switch (e.operation) {
    case Operation::kColumn: return out = row[e.column], Status();
    case Operation::kLiteral: return out = e.literal, Status();
    case Operation::kAggregate:
    case Operation::kOver:
    case Operation::kGrouping:
    case Operation::kScalarQuery: return error_at(e.at, "an aggregate has no value of one row");
    case Operation::kScalarCall: return scalar_call(e, row, out);
    case Operation::kNestedCall: return nested_call(e, row, out);
    case Operation::kPrepared: return prepared_call(e, row, out);
    case Operation::kProcessingTime: return now(out);
    case Operation::kAnd:
    case Operation::kOr: return junction(e, row, out);
    case Operation::kIn: return membership(e, row, out);
    case Operation::kCase: return choice(e, row, out);
    default: break;
  }
  Value first;
  HF_RETURN_IF_ERROR(evaluate(*e.arguments[0], row, first));
  if (e.operation == Operation::kIsNull) return out = Value::of(first.null ? 1 : 0), Status();
  if (e.operation == Operation::kIsTrue) return out = Value::of(first.is_true() ? 1 : 0), Status();
  if (e.operation == Operation::kIsFalse)
    return out = Value::of(!first.null && first.number == 0 ? 1 : 0), Status();
  if (first.null) return out = Value(), Status();
  const bool arithmetical = e.operation >= Operation::kAdd && e.operation <= Operation::kShiftTime;
  const bool comparing =
      e.operation >= Operation::kEqual && e.operation <= Operation::kGreaterEqual;
  if (!arithmetical && !comparing) return of_one(e, row, first, out);
  Value second;
  HF_RETURN_IF_ERROR(evaluate(*e.arguments[1], row, second));
  if (second.null) return out = Value(), Status();
  if (e.operation == Operation::kShiftTime) return shifted(e, first.number + second.number, out);
  if (arithmetical) return arithmetic(e, first, second, out);
  const int order = order_of(*e.arguments[0], first, *e.arguments[1], second);
  out = Value::of(holds(e.operation, order) ? 1 : 0);
  return {};
}

ExpressionPointer folded(ExpressionPointer expression) {
  return folded(std::move(expression), [](const Expression& e) -> Result<Value> {
    Value value;
    HF_RETURN_IF_ERROR(evaluate(e, {}, value));
    return value;
  });
}

ExpressionPointer folded(ExpressionPointer expression,
                         FunctionRef<Result<Value>(const Expression&)> evaluated) {
  bool literal = !expression->arguments.empty();
  for (auto& argument : expression->arguments) {
    argument = folded(std::move(argument), evaluated);
    literal = literal && argument->operation == Operation::kLiteral;
  }
  const auto operation = expression->operation;
  if (!literal || is_varying_call(*expression) || operation == Operation::kAggregate ||
      operation == Operation::kOver || operation == Operation::kScalarQuery ||
      operation == Operation::kGrouping)
    return expression;
  auto value = evaluated(*expression);
  if (!value) return expression;
  return literal_of(*std::move(value), expression->type, expression->at);
}

}  // namespace holdfast::sql
