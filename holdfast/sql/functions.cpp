// The functions of one row, by name.
#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>

namespace holdfast::sql {
namespace {

enum class Wants : std::uint8_t { kNumber, kText, kTime, kInteger };

struct Function {
  std::string_view name;
  Operation operation;
  std::size_t least, most;
  Wants first;
};

constexpr std::array<Function, 16> kFunctions = {{
    {"ABS", Operation::kAbsolute, 1, 1, Wants::kNumber},
    {"CEIL", Operation::kCeil, 1, 1, Wants::kNumber},
    {"CEILING", Operation::kCeil, 1, 1, Wants::kNumber},
    {"CHARACTER_LENGTH", Operation::kCharLength, 1, 1, Wants::kText},
    {"CHAR_LENGTH", Operation::kCharLength, 1, 1, Wants::kText},
    {"CONCAT", Operation::kConcat, 2, 2, Wants::kText},
    {"EXTRACT", Operation::kExtract, 2, 2, Wants::kText},
    {"FLOOR", Operation::kFloor, 1, 1, Wants::kNumber},
    {"MOD", Operation::kModulo, 2, 2, Wants::kNumber},
    {"PROCTIME", Operation::kProcessingTime, 0, 0, Wants::kTime},
    {"ROUND", Operation::kRound, 1, 2, Wants::kNumber},
    {"SUBSTR", Operation::kSubstring, 2, 3, Wants::kText},
    {"SUBSTRING", Operation::kSubstring, 2, 3, Wants::kText},
    {"TO_TIMESTAMP", Operation::kCast, 1, 1, Wants::kText},
    {"TO_TIMESTAMP_LTZ", Operation::kTimestampOfMs, 2, 2, Wants::kInteger},
    {"TRIM", Operation::kTrim, 1, 1, Wants::kText},
}};

using Arguments = std::vector<ExpressionPointer>;

Status check_first(const Function& function, const Type& type, Position at) {
  const bool right = type.kind == Kind::kNull ||
                     (function.first == Wants::kNumber && type.is_numeric()) ||
                     (function.first == Wants::kText && type.kind == Kind::kString) ||
                     (function.first == Wants::kInteger && type.is_integer());
  if (right) return {};
  return error_at(at, std::string(function.name) + " does not take " + name_of(type));
}

Result<Type> whole_type(const Type& from) {
  if (from.kind != Kind::kDecimal) return from;
  return decimal_type(std::min(kMaxDigits, from.precision - from.scale + 1), 0);
}

// ROUND's digits are a literal, since the type depends on them.
Result<Type> rounded_type(Arguments& arguments, Position at) {
  if (arguments.size() == 1) arguments.push_back(literal_of(Value::of(0), kIntType, at));
  const auto& digits = *arguments[1];
  if (digits.operation != Operation::kLiteral || !digits.type.is_integer() || digits.literal.null ||
      digits.literal.number < 0 || digits.literal.number > 20)
    return error_at(digits.at, "ROUND wants a literal of 0 to 20 digits");
  const Type& from = arguments[0]->type;
  if (from.kind != Kind::kDecimal) return from;
  const auto scale = std::min(static_cast<std::uint32_t>(digits.literal.number), from.scale);
  return decimal_type(std::min(kMaxDigits, from.precision - from.scale + scale + 1), scale);
}

Status check_extract(Expression& call, Position at) {
  call.literal = call.arguments.front()->literal;
  call.arguments.erase(call.arguments.begin());
  static constexpr std::array<std::string_view, 6> kUnits = {"YEAR", "MONTH",  "DAY",
                                                             "HOUR", "MINUTE", "SECOND"};
  if (std::find(kUnits.begin(), kUnits.end(), call.literal.text) == kUnits.end())
    return unsupported_at(at, "EXTRACT of '" + escape(call.literal.text) + "'",
                          "YEAR, MONTH, DAY, HOUR, MINUTE and SECOND are");
  if (!call.arguments[0]->type.is_time())
    return error_at(
        at, "EXTRACT wants a DATE or TIMESTAMP(3), this is " + name_of(call.arguments[0]->type));
  return {};
}

Result<ExpressionPointer> modulo(Position at, Arguments arguments, ExpressionPointer call) {
  const auto type = arithmetic_type(Arithmetic::kModulo, arguments[0]->type, arguments[1]->type);
  if (!type) return error_at(at, "MOD does not take " + name_of(arguments[1]->type));
  call->type = *type;
  for (auto& argument : arguments) {
    const bool stays = type->kind == Kind::kDecimal && argument->type.is_exact();
    call->arguments.push_back(stays ? std::move(argument) : cast_to(std::move(argument), *type));
  }
  return call;
}

Status finish(const Function& function, Expression& call) {
  auto& arguments = call.arguments;
  const Position at = call.at;
  switch (function.operation) {
    case Operation::kAbsolute: call.type = arguments[0]->type; return {};
    case Operation::kFloor:
    case Operation::kCeil: {
      HF_ASSIGN_OR_RETURN(call.type, whole_type(arguments[0]->type));
      return {};
    }
    case Operation::kRound: {
      HF_ASSIGN_OR_RETURN(call.type, rounded_type(arguments, at));
      return {};
    }
    case Operation::kCharLength: call.type = kIntType; return {};
    case Operation::kExtract: call.type = kBigIntType; return check_extract(call, at);
    case Operation::kCast: call.type = kTimestampType; return {};
    case Operation::kTimestampOfMs:
      call.type = kTimestampType;
      if (arguments[1]->operation != Operation::kLiteral || arguments[1]->literal.number != 3)
        return unsupported_at(arguments[1]->at, "TO_TIMESTAMP_LTZ of another precision than 3");
      arguments.pop_back();
      return {};
    case Operation::kSubstring:
      call.type = kStringType;
      for (std::size_t i = 1; i < arguments.size(); ++i) {
        HF_ASSIGN_OR_RETURN(arguments[i],
                            converted(std::move(arguments[i]), kBigIntType, "SUBSTRING"));
      }
      return {};
    case Operation::kConcat: {
      call.type = kStringType;
      HF_ASSIGN_OR_RETURN(arguments[1], converted(std::move(arguments[1]), kStringType, "CONCAT"));
      return {};
    }
    default: call.type = kStringType; return {};
  }
}

}  // namespace

Result<ExpressionPointer> bind_function(const std::string& name, Position at,
                                        std::vector<ExpressionPointer> arguments) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const Function& function) { return function.name == name; });
  if (found == kFunctions.end()) {
    std::vector<std::string_view> names;
    for (const auto& function : kFunctions)
      names.push_back(function.name);
    const auto meant = closest(name, names);
    return unsupported_at(at, "the function " + escape(name),
                          meant.empty() ? "" : "did you mean " + std::string(meant) + "?");
  }
  if (found->operation == Operation::kProcessingTime && arguments.empty()) {
    auto call = std::make_unique<Expression>();
    call->operation = found->operation;
    call->type = kTimestampType;
    call->at = at;
    return call;
  }
  if (arguments.size() < found->least || arguments.size() > found->most) {
    return error_at(at,
                    name + " wants " + std::to_string(found->least) +
                        (found->least == found->most ? "" : " to " + std::to_string(found->most)) +
                        " arguments");
  }
  HF_RETURN_IF_ERROR(check_first(*found, arguments[0]->type, arguments[0]->at));
  auto call = std::make_unique<Expression>();
  call->operation = found->operation;
  call->at = at;
  if (found->operation == Operation::kModulo)
    return modulo(at, std::move(arguments), std::move(call));
  if (arguments[0]->type.kind == Kind::kNull && found->first != Wants::kText)
    arguments[0]->type = kBigIntType;
  call->arguments = std::move(arguments);
  HF_RETURN_IF_ERROR(finish(*found, *call));
  return call;
}

}  // namespace holdfast::sql
