// The functions of one row, by name.
#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/json_clauses.hpp>
#include <holdfast/sql/nested_functions.hpp>
#include <holdfast/sql/pattern_functions.hpp>
#include <holdfast/sql/scalar_functions.hpp>
#include <holdfast/sql/text_functions.hpp>
#include <holdfast/sql/user_functions.hpp>
#include <holdfast/sql/zone_functions.hpp>

namespace holdfast::sql {
namespace {

enum class Wants : std::uint8_t { kNumber, kText, kTime, kInteger };

struct Function {
  std::string_view name;
  Operation operation;
  std::size_t least, most;
  Wants first;
};

constexpr std::array<Function, 32> kFunctions = {{
    {"ABS", Operation::kAbsolute, 1, 1, Wants::kNumber},
    {"CEIL", Operation::kCeil, 1, 1, Wants::kNumber},
    {"CEILING", Operation::kCeil, 1, 1, Wants::kNumber},
    {"CHARACTER_LENGTH", Operation::kCharLength, 1, 1, Wants::kText},
    {"CHAR_LENGTH", Operation::kCharLength, 1, 1, Wants::kText},
    {"DATE_FORMAT", Operation::kDateFormat, 2, 2, Wants::kTime},
    {"DAYOFMONTH", Operation::kExtract, 1, 1, Wants::kTime},
    {"DAYOFWEEK", Operation::kExtract, 1, 1, Wants::kTime},
    {"DAYOFYEAR", Operation::kExtract, 1, 1, Wants::kTime},
    {"EXTRACT", Operation::kExtract, 2, 2, Wants::kText},
    {"FLOOR", Operation::kFloor, 1, 1, Wants::kNumber},
    {"HOUR", Operation::kExtract, 1, 1, Wants::kTime},
    {"LCASE", Operation::kLower, 1, 1, Wants::kText},
    {"LOWER", Operation::kLower, 1, 1, Wants::kText},
    {"MINUTE", Operation::kExtract, 1, 1, Wants::kTime},
    {"MOD", Operation::kModulo, 2, 2, Wants::kNumber},
    {"MONTH", Operation::kExtract, 1, 1, Wants::kTime},
    {"NOW", Operation::kProcessingTime, 0, 0, Wants::kTime},
    {"PROCTIME", Operation::kProcessingTime, 0, 0, Wants::kTime},
    {"QUARTER", Operation::kExtract, 1, 1, Wants::kTime},
    {"ROUND", Operation::kRound, 1, 2, Wants::kNumber},
    {"SECOND", Operation::kExtract, 1, 1, Wants::kTime},
    {"SPLIT_INDEX", Operation::kSplitIndex, 3, 3, Wants::kText},
    {"SUBSTR", Operation::kSubstring, 2, 3, Wants::kText},
    {"SUBSTRING", Operation::kSubstring, 2, 3, Wants::kText},
    {"TO_TIMESTAMP", Operation::kTryCast, 1, 1, Wants::kText},
    {"TO_TIMESTAMP_LTZ", Operation::kTimestampOfMs, 2, 2, Wants::kInteger},
    {"TRIM", Operation::kTrim, 1, 1, Wants::kText},
    {"UCASE", Operation::kUpper, 1, 1, Wants::kText},
    {"UPPER", Operation::kUpper, 1, 1, Wants::kText},
    {"WEEK", Operation::kExtract, 1, 1, Wants::kTime},
    {"YEAR", Operation::kExtract, 1, 1, Wants::kTime},
}};

using Arguments = std::vector<ExpressionPointer>;

Status check_first(const Function& function, const Type& type, Position at) {
  const bool right = type.kind == Kind::kNull ||
                     (function.first == Wants::kNumber && type.is_numeric()) ||
                     (function.first == Wants::kText && type.kind == Kind::kString) ||
                     (function.first == Wants::kTime && type.is_time()) ||
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
  if (!time_field(call.literal.text))
    return unsupported_at(at, "EXTRACT of '" + escape(call.literal.text) + "'",
                          "YEAR, QUARTER, MONTH, WEEK, DAY, DOY, DOW, HOUR, MINUTE, SECOND, "
                          "MILLISECOND and EPOCH are");
  if (!call.arguments[0]->type.is_time())
    return error_at(
        at, "EXTRACT wants a DATE or TIMESTAMP(3), this is " + name_of(call.arguments[0]->type));
  call.arguments[0] = at_wall_clock(std::move(call.arguments[0]));
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

Status check_pattern(const Expression& pattern) {
  if (pattern.operation == Operation::kLiteral && pattern.type.kind == Kind::kString &&
      !pattern.literal.null && date_parts(pattern.literal.text))
    return {};
  return unsupported_at(pattern.at, "this pattern of DATE_FORMAT",
                        "a literal of yyyy, MM, dd, HH, mm, ss, SSS and signs is");
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
    case Operation::kTryCast: call.type = kTimestampType; return {};
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
    case Operation::kDateFormat:
      call.type = kStringType;
      arguments[0] = at_wall_clock(std::move(arguments[0]));
      return check_pattern(*arguments[1]);
    case Operation::kSplitIndex: {
      call.type = kStringType;
      HF_ASSIGN_OR_RETURN(arguments[1],
                          converted(std::move(arguments[1]), kStringType, "SPLIT_INDEX"));
      HF_ASSIGN_OR_RETURN(arguments[2],
                          converted(std::move(arguments[2]), kBigIntType, "SPLIT_INDEX"));
      return {};
    }
    default: call.type = kStringType; return {};
  }
}

// ---- Of scalar_functions() ----
Result<ExpressionPointer> scalar_argument(char takes, ExpressionPointer argument,
                                          const std::string& name) {
  const Type from = argument->type;
  switch (takes) {
    case 'd': return converted(std::move(argument), kDoubleType, name);
    case 'i': return converted(std::move(argument), kBigIntType, name);
    case 's': return converted(std::move(argument), kStringType, name);
    case 'u':
      if (argument->operation != Operation::kLiteral || !is_time_unit(argument->literal.text))
        return error_at(argument->at, name + " wants a unit of time",
                        "SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR");
      return argument;
    case 't':
      if (!from.is_time() && from.kind != Kind::kNull)
        return error_at(argument->at, name + " does not take " + name_of(from));
      return from.kind == Kind::kTimestamp ? std::move(argument)
                                           : cast_to(std::move(argument), kTimestampType);
    default:
      if (!from.is_numeric() && from.kind != Kind::kNull)
        return error_at(argument->at, name + " does not take " + name_of(from));
      return argument;
  }
}

// GREATEST, LEAST: what all arguments have in common.
Result<Type> type_of_all(const Arguments& arguments, const std::string& name) {
  Type all;
  for (const auto& argument : arguments) {
    const auto type = common_type(all, argument->type);
    if (!type || argument->type.kind == Kind::kInterval || argument->type.is_nested())
      return error_at(argument->at,
                      name + " of " + name_of(all) + " and " + name_of(argument->type),
                      "write a CAST");
    all = *type;
  }
  if (all.kind == Kind::kNull) all = kStringType;
  return all;
}

// As in Flink, a date stays one where FLOOR or CEIL cut it, or TIMESTAMPADD adds whole days.
bool keeps_date(const ScalarFunction& function, const Arguments& arguments) {
  if (function.type != kTimestampType || arguments.size() != function.takes.size()) return false;
  const auto& unit = arguments[function.takes.find('u')]->literal.text;
  return arguments[function.takes.find('t')]->type.kind == Kind::kDate &&
         (function.name != "TIMESTAMPADD" ||
          (unit != "HOUR" && unit != "MINUTE" && unit != "SECOND"));
}

// A time that is made of an instant is one, too.
Status follow_zone(const ScalarFunction& function, Expression& call, const Arguments& arguments) {
  const Zone* zone = nullptr;
  bool other = false;
  for (std::size_t i = 0; i < arguments.size() && i < function.takes.size(); ++i) {
    if (function.takes[i] != 't') continue;
    const auto* const own = arguments[i]->type.zone;
    other = other || own == nullptr;
    if (own != nullptr) zone = own;
  }
  if (zone != nullptr && other)
    return error_at(call.at, std::string(function.name) + " of TIMESTAMP_LTZ(3) and TIMESTAMP(3)",
                    "write a CAST");
  if (function.type.kind == Kind::kTimestamp) call.type.zone = zone;
  return {};
}

Result<ExpressionPointer> bind_scalar(std::uint32_t number, Position at, Arguments arguments) {
  const auto& function = scalar_functions()[number];
  const std::string name(function.name);
  const bool any = function.takes == "*";
  const auto most = any ? kMaxColumns : function.takes.size();
  if (arguments.size() < function.least || arguments.size() > most)
    return error_at(at, name + " wants " + std::to_string(function.least) +
                            (any                      ? " or more"
                             : function.least == most ? ""
                                                      : " to " + std::to_string(most)) +
                            " arguments");
  const bool to_date = keeps_date(function, arguments);
  auto call = made(Operation::kScalarCall, Type{}, at);
  call->column = number;
  call->type = function.type;
  if (any && call->type.kind == Kind::kNull) {
    HF_ASSIGN_OR_RETURN(call->type, type_of_all(arguments, name));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& argument = arguments[i];
    if (any && function.type.kind == Kind::kNull) {
      argument = cast_to(std::move(argument), call->type);
    } else {
      HF_ASSIGN_OR_RETURN(
          argument, scalar_argument(any ? 's' : function.takes[i], std::move(argument), name));
    }
  }
  if (!any && call->type.kind == Kind::kNull) {
    call->type = arguments[0]->type;
    if (call->type.kind == Kind::kNull) call->type = arguments[0]->type = kIntType;
  }
  HF_RETURN_IF_ERROR(follow_zone(function, *call, arguments));
  call->arguments = std::move(arguments);
  return to_date ? cast_to(std::move(call), {Kind::kDate}) : std::move(call);
}

// Those that are called by name. Some have signs of their own, too.
std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const auto& function : kFunctions)
    names.push_back(function.name);
  for (const auto& function : scalar_functions())
    names.push_back(function.name);
  for (const auto& function : nested_functions())
    names.push_back(function.name);
  for (const auto name_of_pattern : pattern_functions())
    names.push_back(name_of_pattern);
  names.insert(names.end(), kJsonFunctions.begin(), kJsonFunctions.end());
  return names;
}

// What other dialects call a function, and how it is written here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kOtherDialects = {{
    {"DATEDIFF", "TIMESTAMPDIFF(DAY, a, b)"},
    {"DATE_TRUNC", "FLOOR(day TO MONTH)"},
    {"IIF", "IF"},
    {"LEN", "CHAR_LENGTH"},
    {"LENGTH", "CHAR_LENGTH"},
    {"NVL", "IFNULL"},
    {"POW", "POWER"},
    {"STRFTIME", "DATE_FORMAT"},
    {"STRPOS", "INSTR"},
    {"TO_CHAR", "DATE_FORMAT"},
    {"TRUNC", "FLOOR"},
}};

std::string_view nearest_function(const std::string& name, const UserFunctions* users) {
  for (const auto& [other, here] : kOtherDialects) {
    if (name == other) return here;
  }
  auto names = function_names();
  const auto of_users = users == nullptr ? std::vector<std::string_view>() : users->names();
  names.insert(names.end(), of_users.begin(), of_users.end());
  return closest(name, names);
}

}  // namespace

bool is_built_in(const std::string& name) {
  // Those of the binder and of the parser.
  static constexpr std::string_view kOthers =
      " CAST CEIL COALESCE CUBE CUMULATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DENSE_RANK"
      " DESCRIPTOR EXISTS GROUPING GROUPING_ID HOP HOP_END HOP_PROCTIME HOP_ROWS HOP_ROWTIME"
      " HOP_START IF IFNULL LOCALTIME LOCALTIMESTAMP NULLIF RANK ROLLUP ROW_NUMBER SESSION"
      " SESSION_END SESSION_PROCTIME SESSION_ROWTIME SESSION_START TRY_CAST TUMBLE TUMBLE_END"
      " TUMBLE_PROCTIME TUMBLE_ROWS TUMBLE_ROWTIME TUMBLE_START UNNEST ";
  const auto names = function_names();
  return aggregate_named(name) || std::find(names.begin(), names.end(), name) != names.end() ||
         kOthers.find(" " + name + " ") != std::string_view::npos;
}

Result<ExpressionPointer> bind_function(const std::string& name, Position at,
                                        std::vector<ExpressionPointer> arguments,
                                        const UserFunctions* users) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const Function& function) { return function.name == name; });
  if (found == kFunctions.end()) {
    const auto patterns = pattern_functions();
    if (std::find(patterns.begin(), patterns.end(), name) != patterns.end())
      return bind_pattern_function(name, at, std::move(arguments));
    if (const auto number = scalar_function_named(name); number != scalar_functions().size())
      return bind_scalar(number, at, std::move(arguments));
    // Those that have signs of their own are not called by name.
    const bool by_sign = name == "ARRAY" || name == "MAP" || name == "ITEM" || name == "FIELD";
    if (!by_sign && nested_function_named(name) != nested_functions().size())
      return bind_nested(name, at, std::move(arguments));
    const auto meant = nearest_function(name, users);
    return unsupported_at(at, "the function " + escape(name),
                          meant.empty() ? "" : "did you mean " + std::string(meant) + "?");
  }
  if (found->operation == Operation::kProcessingTime && arguments.empty()) {
    return made(found->operation, kTimestampType, at);
  }
  if (arguments.size() < found->least || arguments.size() > found->most) {
    return error_at(at,
                    name + " wants " + std::to_string(found->least) +
                        (found->least == found->most ? "" : " to " + std::to_string(found->most)) +
                        " arguments");
  }
  // HOUR(time) is EXTRACT(HOUR FROM time).
  if (found->operation == Operation::kExtract && found->first == Wants::kTime) {
    HF_RETURN_IF_ERROR(check_first(*found, arguments[0]->type, arguments[0]->at));
    const std::string unit = name == "DAYOFMONTH"  ? "DAY"
                             : name == "DAYOFWEEK" ? "DOW"
                             : name == "DAYOFYEAR" ? "DOY"
                                                   : name;
    arguments.insert(arguments.begin(), literal_of(Value::of_text(unit), kStringType, at));
    return bind_function("EXTRACT", at, std::move(arguments));
  }
  HF_RETURN_IF_ERROR(check_first(*found, arguments[0]->type, arguments[0]->at));
  auto call = made(found->operation, Type{}, at);
  if (found->operation == Operation::kModulo)
    return modulo(at, std::move(arguments), std::move(call));
  if (arguments[0]->type.kind == Kind::kNull && found->first != Wants::kText)
    arguments[0]->type = found->first == Wants::kTime ? kTimestampType : kBigIntType;
  call->arguments = std::move(arguments);
  HF_RETURN_IF_ERROR(finish(*found, *call));
  return call;
}

}  // namespace holdfast::sql
