// expression.hpp: an expression whose names and types are known.
//
// Threads  Plain values, read by any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/sql/position.hpp>
#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {

enum class Operation : std::uint8_t {
  kColumn,     // number `column` of the row
  kLiteral,    // `literal`
  kAggregate,  // Number `column` of the aggregates; only until planner.cpp has placed them.
  // Of two numbers. Integers and reals are of the result's type, decimals of their own scales.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kShiftTime,  // timestamp + interval
  kNegate,
  // Of two values of one type; decimals of their own scales. Three-valued.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kNot,
  // Never NULL.
  kIsNull,
  kIsTrue,
  kIsFalse,
  kIn,       // value, then members of its type
  kCase,     // pairs of condition and answer, then the answer if none holds
  kCast,     // A value that has no place in the type is an error;
  kTryCast,  // NULL.
  kLike,     // value, pattern, escape; NULL where there is no escape
  kConcat,
  kAbsolute,
  kFloor,
  kCeil,
  kRound,  // value, literal digits
  kCharLength,
  kSubstring,  // text, from, optional count
  kTrim,       // blanks, both sides
  kExtract,    // `literal`: the unit
  kTimestampOfMs,
  kOver,            // Number `column` of the functions with OVER; only until they are placed.
  kProcessingTime,  // Now, of the machine's clock.
  kUpper,
  kLower,
  kDateFormat,   // time, literal pattern
  kSplitIndex,   // text, separator, number from 0
  kScalarCall,   // Number `column` of scalar_functions().
  kScalarQuery,  // Number `column` of the queries that are values; only until they are placed.
  kNestedCall,   // Number `column` of nested_functions().
  // GROUPING(key, …): a bit for each key, 1 where the row's grouping set does not have it; without
  // a key, the number of the set. Only until they are placed.
  kGrouping,
  kPrepared,  // What `prepared` computes of the arguments.
};

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

class PreparedFunction;

struct Expression {
  Operation operation = Operation::kLiteral;
  Type type;
  Position at;
  std::vector<ExpressionPointer> arguments;
  Value literal;
  std::uint32_t column = 0;
  std::shared_ptr<const PreparedFunction> prepared;
};

ExpressionPointer clone(const Expression& expression);
ExpressionPointer column_of(std::uint32_t column, const Type& type, Position at);
ExpressionPointer literal_of(Value value, const Type& type, Position at);
// An operation of these operands.
ExpressionPointer made(Operation operation, const Type& type, Position at);
template <class... Operands>
ExpressionPointer made(Operation operation, const Type& type, Position at, ExpressionPointer first,
                       Operands... rest) {
  auto expression = made(operation, type, at);
  expression->arguments.push_back(std::move(first));
  (expression->arguments.push_back(std::move(rest)), ...);
  return expression;
}
// The comparison after its sides change places: a < b is b > a.
Operation turned(Operation comparison);
// `operand` as `type`; itself if it is of it.
ExpressionPointer cast_to(ExpressionPointer operand, const Type& type);
// The same computation on the same columns.
bool equal(const Expression& left, const Expression& right);
// A literal of a text: different texts are shown differently, whatever their length, since plans
// are told apart by it.
std::string quoted_text(std::string_view text);
// Different values of a type are shown differently, and so are those of other types unless what
// stands around it has told the type.
std::string literal_text(const Value& value, const Type& type, bool type_is_told);
// For people and fingerprints: "(price * 2)", with columns by these names. A literal is shown with
// its type where neither its text nor the rest tells it: "(price / DECIMAL(1, 0) 3)".
std::string text_of(const Expression& expression, const std::vector<std::string>& names,
                    bool type_is_told = false);
// The same, with expression i of `columns` in the place of column i.
ExpressionPointer replaced(const Expression& expression,
                           const std::vector<ExpressionPointer>& columns);
// The same of a row in which column i is column i + `by`.
ExpressionPointer moved(const Expression& expression, std::int64_t by);
// The conditions that AND joins.
std::vector<ExpressionPointer> conjuncts_of(ExpressionPointer condition);
ExpressionPointer conjunction_of(std::vector<ExpressionPointer> conditions);  // Null of none.
std::uint32_t depth_of(const Expression& expression);
std::size_t size_of(const Expression& expression);  // Operations and operands in all.
// A call of a function that is not deterministic.
bool is_varying_call(const Expression& expression);
// The first one in it. Null: there is none.
const Expression* varying_call(const Expression& expression);
// Computed again of the same row it may be another value: it reads the clock, or calls a function
// that is not deterministic.
bool varies(const Expression& expression);
// Columns it reads, once each, in order.
std::vector<std::uint32_t> columns_of(const Expression& expression);

}  // namespace holdfast::sql
