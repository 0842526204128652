// binder.hpp: names become columns, operations get their types.
//
// Errors  kInvalidOption, kUnsupported: with line, column, and the nearest name where one is
//         unknown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

// What names mean.
struct Scope {
  std::vector<Column> columns;
  std::string qualifier;  // Of all columns: the table's name or alias.
  // Aggregates are gathered here. Null: they are not allowed.
  std::vector<Aggregate>* aggregates = nullptr;
  // GROUP BY TUMBLE(…) or HOP(…): what TUMBLE_START(…) and so on must name, and the first of the
  // three columns of `columns` that it is. Null: there is none.
  const Window* group_window = nullptr;
  std::uint32_t window_column = 0;
  std::int64_t time_column = -1;  // -1: no column is a time attribute.
};

Result<ExpressionPointer> bind(const syntax::Expression& expression, const Scope& scope);
// The same, of a condition: a BOOLEAN.
Result<ExpressionPointer> bind_condition(const syntax::Expression& expression, const Scope& scope);
// `operand` in `type`, for a place that wants it: widens without a word, refuses the rest.
Result<ExpressionPointer> converted(ExpressionPointer operand, const Type& type,
                                    std::string_view place);

// TUMBLE: [size, offset]; HOP: [slide, size, offset].
Result<Window> bind_window(std::string_view function, Position at, std::uint32_t time_column,
                           const std::vector<const syntax::Expression*>& sizes);
Result<std::uint32_t> find_column(const Scope& scope, const std::string& name, Position at);

// functions.cpp: a call of a function of one row, with its arguments bound.
Result<ExpressionPointer> bind_function(const std::string& name, Position at,
                                        std::vector<ExpressionPointer> arguments);

}  // namespace holdfast::sql
