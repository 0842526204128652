#include "expression.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/nested.hpp>
#include <holdfast/sql/nested_functions.hpp>
#include <holdfast/sql/prepared_function.hpp>
#include <holdfast/sql/scalar_functions.hpp>
#include <holdfast/sql/zone.hpp>

namespace holdfast::sql {
namespace {

constexpr std::array<std::string_view, 35> kOperationNames = {
    "column",   "literal", "aggregate", "+",     "-",           "*",         "/",
    "%",        "+",       "-",         "=",     "<>",          "<",         "<=",
    ">",        ">=",      "AND",       "OR",    "NOT",         "IS NULL",   "IS TRUE",
    "IS FALSE", "IN",      "CASE",      "CAST",  "TRY_CAST",    "LIKE",      "||",
    "ABS",      "FLOOR",   "CEIL",      "ROUND", "CHAR_LENGTH", "SUBSTRING", "TRIM"};

std::string_view name_of(Operation operation) {
  if (operation == Operation::kExtract) return "EXTRACT";
  if (operation == Operation::kTimestampOfMs) return "TO_TIMESTAMP_LTZ";
  if (operation == Operation::kOver) return "OVER";
  if (operation == Operation::kProcessingTime) return "PROCTIME";
  if (operation == Operation::kUpper) return "UPPER";
  if (operation == Operation::kLower) return "LOWER";
  if (operation == Operation::kDateFormat) return "DATE_FORMAT";
  if (operation == Operation::kSplitIndex) return "SPLIT_INDEX";
  if (operation == Operation::kScalarQuery) return "QUERY";
  if (operation == Operation::kGrouping) return "GROUPING";
  return kOperationNames[static_cast<std::size_t>(operation)];
}

bool is_infix(const Expression& expression) {
  const auto operation = expression.operation;
  return expression.arguments.size() == 2 &&
         ((operation >= Operation::kAdd && operation <= Operation::kShiftTime) ||
          (operation >= Operation::kEqual && operation <= Operation::kOr) ||
          operation == Operation::kConcat);
}

// "BIGINT ", where neither the literal's text nor what stands around it tells its type.
std::string type_text(const Value& value, const Type& type, bool told) {
  const bool says = type.is_real()    ? type == kDoubleType
                    : type.is_exact() ? type == written_type(value.number, type.scale)
                                      : !type.is_time();
  return told || says ? "" : name_of(type) + " ";
}

// Two instants have one wall clock where a zone sets its clocks back.
std::string instant_text(const Value& value, const Type& type) {
  const auto read = value_of(text_of(value, type), type);
  return read && read->number == value.number ? "" : " of " + text_of(value, kBigIntType) + " ms";
}

// Of what makes an instant or a wall clock: plans of two zones are told apart by their texts.
std::string zone_text(const Expression& expression) {
  const auto operation = expression.operation;
  const bool cast = operation == Operation::kCast || operation == Operation::kTryCast;
  // A cast names the type that it makes.
  const auto* const zone = cast && expression.type.zone == nullptr
                               ? expression.arguments[0]->type.zone
                               : expression.type.zone;
  return zone == nullptr || (cast && expression.type.zone != nullptr) ? "" : " in " + zone->name();
}

void collect_columns(const Expression& expression, std::vector<std::uint32_t>& columns) {
  if (expression.operation == Operation::kColumn) columns.push_back(expression.column);
  for (const auto& argument : expression.arguments)
    collect_columns(*argument, columns);
}

}  // namespace

ExpressionPointer clone(const Expression& expression) {
  auto copy = std::make_unique<Expression>();
  copy->operation = expression.operation;
  copy->type = expression.type;
  copy->at = expression.at;
  copy->literal = expression.literal;
  copy->column = expression.column;
  copy->prepared = expression.prepared;
  for (const auto& argument : expression.arguments)
    copy->arguments.push_back(clone(*argument));
  return copy;
}

ExpressionPointer made(Operation operation, const Type& type, Position at) {
  auto expression = std::make_unique<Expression>();
  expression->operation = operation;
  expression->type = type;
  expression->at = at;
  return expression;
}

ExpressionPointer column_of(std::uint32_t column, const Type& type, Position at) {
  auto expression = made(Operation::kColumn, type, at);
  expression->column = column;
  return expression;
}

ExpressionPointer literal_of(Value value, const Type& type, Position at) {
  auto expression = std::make_unique<Expression>();
  expression->type = type;
  expression->at = at;
  expression->literal = std::move(value);
  return expression;
}

Operation turned(Operation comparison) {
  switch (comparison) {
    case Operation::kLess: return Operation::kGreater;
    case Operation::kLessEqual: return Operation::kGreaterEqual;
    case Operation::kGreater: return Operation::kLess;
    case Operation::kGreaterEqual: return Operation::kLessEqual;
    default: return comparison;
  }
}

ExpressionPointer cast_to(ExpressionPointer operand, const Type& type) {
  if (operand->type == type) return operand;
  if (operand->operation == Operation::kLiteral && operand->literal.null) {
    operand->type = type;
    return operand;
  }
  auto cast = made(Operation::kCast, type, operand->at);
  cast->arguments.push_back(std::move(operand));
  return cast;
}

bool equal(const Expression& left, const Expression& right) {
  if (left.operation != right.operation || left.type != right.type || left.column != right.column ||
      left.arguments.size() != right.arguments.size())
    return false;
  // The unit of EXTRACT is a text, whatever type the expression has.
  if (left.operation == Operation::kExtract && left.literal.text != right.literal.text)
    return false;
  if (left.operation == Operation::kPrepared && left.prepared->text() != right.prepared->text())
    return false;
  if (left.operation == Operation::kLiteral && !same(left.literal, right.literal, left.type))
    return false;
  return std::equal(left.arguments.begin(), left.arguments.end(), right.arguments.begin(),
                    [](const auto& a, const auto& b) { return equal(*a, *b); });
}

std::string quoted_text(std::string_view text) {
  std::string shown = "'";
  for (const char c : escape(text, text.size() * 4 + 1))
    shown += c == '\'' ? "''" : std::string(1, c);
  return shown + "'";
}

std::string literal_text(const Value& value, const Type& type, bool type_is_told) {
  if (value.null)
    return (type_is_told || type.kind == Kind::kNull ? "" : name_of(type) + " ") + "NULL";
  if (type.is_nested()) {
    // With its type: plans are told apart by their texts.
    std::string text = name_of(type) + "[";
    NestedReader reader(value.text, type);
    Value part;
    for (bool first = true; !reader.is_done(); first = false) {
      const Type& part_type = reader.part_type();
      if (!reader.next(part)) break;
      text += (first ? "" : ", ") + literal_text(part, part_type, true);
    }
    return text + "]";
  }
  const std::string text = text_of(value, type);
  const auto of_type = type_text(value, type, type_is_told);
  if (type.zone != nullptr) return of_type + quoted_text(text) + instant_text(value, type);
  if (type.kind == Kind::kString || type.is_time()) return of_type + quoted_text(text);
  // A real is told from a decimal of the same digits.
  if (type.is_real() && text.find('e') == std::string::npos) return of_type + text + "e0";
  return type.kind == Kind::kInterval ? "INTERVAL " + text + " ms" : of_type + text;
}

namespace {

bool is_null(const Expression& expression) {
  return expression.operation == Operation::kLiteral && expression.literal.null;
}

// Whether an argument's type is known by the text of the others. `fits`: which of them have it.
template <class Fits>
bool others_tell(const Expression& expression, std::size_t argument, Fits fits) {
  const bool null = is_null(*expression.arguments[argument]);
  for (std::size_t i = 0; i < expression.arguments.size(); ++i) {
    const auto& other = *expression.arguments[i];
    if (i == argument || !fits(i)) continue;
    if (other.operation != Operation::kLiteral || (null && !other.literal.null)) return true;
  }
  return false;
}

bool tells_scalar_argument(const Expression& call, std::size_t argument, bool told) {
  const auto& function = scalar_functions()[call.column];
  if (function.takes != "*") return function.takes[argument] != 'n';
  return function.type.kind != Kind::kNull || told ||
         others_tell(call, argument, [](std::size_t) { return true; });
}

bool tells_nested_argument(const Expression& call, std::size_t argument) {
  const auto name = nested_functions()[call.column].name;
  if (name == "ROW") return false;
  if (name == "ARRAY") return others_tell(call, argument, [](std::size_t) { return true; });
  if (name == "MAP")
    return others_tell(call, argument, [&](std::size_t i) { return i % 2 == argument % 2; });
  return call.arguments[argument]->operation == Operation::kLiteral;
}

// Whether the type of an argument is known by what is shown around it. `told`: that of the whole.
bool tells_argument(const Expression& expression, std::size_t argument, bool told) {
  const auto any = [](std::size_t) { return true; };
  const bool literal = expression.arguments[argument]->operation == Operation::kLiteral;
  const auto last = expression.arguments.size() - 1;
  switch (expression.operation) {
    case Operation::kAdd:
    case Operation::kSubtract:
    case Operation::kMultiply:
    case Operation::kDivide:
    case Operation::kModulo:
    case Operation::kNegate:
    case Operation::kAbsolute:  // Decimals have their own scales, all others the result's type.
      return expression.type.kind != Kind::kDecimal &&
             (told || (literal && others_tell(expression, argument, any)));
    case Operation::kCase: {
      const auto is_answer = [&](std::size_t i) { return i % 2 == 1 || i == last; };
      return is_answer(argument) &&
             (told || (literal && others_tell(expression, argument, is_answer)));
    }
    case Operation::kRound: return argument == 1;
    case Operation::kCast:
    case Operation::kTryCast:
    case Operation::kFloor:
    case Operation::kCeil:
    case Operation::kIsNull: return false;
    case Operation::kScalarCall: return tells_scalar_argument(expression, argument, told);
    case Operation::kNestedCall: return tells_nested_argument(expression, argument);
    default: return literal;  // Of a type that goes with the operation, or with the other side.
  }
}

}  // namespace

std::string text_of(const Expression& expression, const std::vector<std::string>& names,
                    bool type_is_told) {
  if (expression.operation == Operation::kColumn) {
    return expression.column < names.size() ? names[expression.column]
                                            : "#" + std::to_string(expression.column);
  }
  if (expression.operation == Operation::kLiteral)
    return literal_text(expression.literal, expression.type, type_is_told);
  const auto argument = [&](std::size_t i) {
    return text_of(*expression.arguments[i], names, tells_argument(expression, i, type_is_told));
  };
  const std::string name(
      expression.operation == Operation::kPrepared     ? expression.prepared->text()
      : expression.operation == Operation::kScalarCall ? scalar_functions()[expression.column].name
      : expression.operation == Operation::kNestedCall ? nested_functions()[expression.column].name
                                                       : name_of(expression.operation));
  if (is_infix(expression)) {
    return "(" + argument(0) + " " + name + " " + argument(1) + ")";
  }
  std::string text = name + "(";
  if (expression.operation == Operation::kExtract) text += expression.literal.text + " FROM ";
  for (std::size_t i = 0; i < expression.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + argument(i);
  const bool cast =
      expression.operation == Operation::kCast || expression.operation == Operation::kTryCast;
  if (cast) text += " AS " + name_of(expression.type);
  return text + ")" + zone_text(expression);
}

ExpressionPointer replaced(const Expression& expression,
                           const std::vector<ExpressionPointer>& columns) {
  if (expression.operation == Operation::kColumn) return clone(*columns[expression.column]);
  auto copy = made(expression.operation, expression.type, expression.at);
  copy->literal = expression.literal;
  copy->column = expression.column;
  copy->prepared = expression.prepared;
  for (const auto& argument : expression.arguments)
    copy->arguments.push_back(replaced(*argument, columns));
  return copy;
}

namespace {

void move_columns(Expression& expression, std::int64_t by) {
  if (expression.operation == Operation::kColumn)
    expression.column = static_cast<std::uint32_t>(expression.column + by);
  for (auto& argument : expression.arguments)
    move_columns(*argument, by);
}

void split(ExpressionPointer condition, std::vector<ExpressionPointer>& into) {
  if (condition->operation != Operation::kAnd) return into.push_back(std::move(condition));
  for (auto& argument : condition->arguments)
    split(std::move(argument), into);
}

}  // namespace

ExpressionPointer moved(const Expression& expression, std::int64_t by) {
  auto copy = clone(expression);
  move_columns(*copy, by);
  return copy;
}

std::vector<ExpressionPointer> conjuncts_of(ExpressionPointer condition) {
  std::vector<ExpressionPointer> conditions;
  if (condition != nullptr) split(std::move(condition), conditions);
  return conditions;
}

// In halves: as flat as can be, however many there are.
ExpressionPointer conjunction_of(std::vector<ExpressionPointer> conditions) {
  if (conditions.empty()) return nullptr;
  while (conditions.size() > 1) {
    std::vector<ExpressionPointer> halves;
    for (std::size_t i = 0; i < conditions.size(); i += 2) {
      if (i + 1 == conditions.size()) {
        halves.push_back(std::move(conditions[i]));
        break;
      }
      auto both = made(Operation::kAnd, kBooleanType, conditions[i]->at);
      both->arguments.push_back(std::move(conditions[i]));
      both->arguments.push_back(std::move(conditions[i + 1]));
      halves.push_back(std::move(both));
    }
    conditions = std::move(halves);
  }
  return std::move(conditions.front());
}

std::uint32_t depth_of(const Expression& expression) {
  std::uint32_t depth = 0;
  for (const auto& argument : expression.arguments)
    depth = std::max(depth, depth_of(*argument));
  return depth + 1;
}

std::size_t size_of(const Expression& expression) {
  std::size_t size = 1;
  for (const auto& argument : expression.arguments)
    size += size_of(*argument);
  return size;
}

bool is_varying_call(const Expression& expression) {
  return expression.operation == Operation::kPrepared && !expression.prepared->is_deterministic();
}

const Expression* varying_call(const Expression& expression) {
  if (is_varying_call(expression)) return &expression;
  for (const auto& argument : expression.arguments) {
    if (const auto* found = varying_call(*argument)) return found;
  }
  return nullptr;
}

bool varies(const Expression& expression) {
  if (expression.operation == Operation::kProcessingTime || is_varying_call(expression))
    return true;
  return std::any_of(expression.arguments.begin(), expression.arguments.end(),
                     [](const auto& argument) { return varies(*argument); });
}

std::vector<std::uint32_t> columns_of(const Expression& expression) {
  std::vector<std::uint32_t> columns;
  collect_columns(expression, columns);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace holdfast::sql
