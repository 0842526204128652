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
#include <holdfast/sql/scope.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

Result<ExpressionPointer> bind(const syntax::Expression& expression, const Scope& scope);
// The same, of a condition: a BOOLEAN.
Result<ExpressionPointer> bind_condition(const syntax::Expression& expression, const Scope& scope);
// one = other, of what can be compared.
Result<ExpressionPointer> equal_of(ExpressionPointer one, ExpressionPointer other, Position at);
// Checks that values of the type have an order; those of arrays, rows and maps have none.
Status check_order(const Type& type, Position at);
// `operand` in `type`, for a place that wants it: widens without a word, refuses the rest.
Result<ExpressionPointer> converted(ExpressionPointer operand, const Type& type,
                                    std::string_view place);

// TUMBLE: [size, offset]; HOP, CUMULATE: [slide, size, offset]; SESSION: [gap], as the size.
Result<Window> bind_window(std::string_view function, Position at, std::uint32_t time_column,
                           const std::vector<const syntax::Expression*>& sizes);
// TUMBLE_START(ts, INTERVAL …) and so on: a column of the group's window.
Result<ExpressionPointer> window_property(const syntax::Expression& e, const Scope& scope);
// literals.cpp: a number, of INT, BIGINT, DECIMAL or DOUBLE; DATE '…' and TIMESTAMP '…'.
Result<ExpressionPointer> number_literal(const syntax::Expression& e);
Result<ExpressionPointer> time_literal(const syntax::Expression& e, const Type& type);
// aggregate_parameter.cpp: the second argument of PERCENTILE, LISTAGG and LAG, a literal. MEDIAN is
// PERCENTILE(…, 0.5).
Status bind_parameter(const syntax::Expression& e, Aggregate& aggregate);
// There too: an aggregate's filter, and that the value is not NULL.
ExpressionPointer with_value(const Expression& value, ExpressionPointer filter);
// functions.cpp: a call of a function of one row, with its arguments bound.
Result<ExpressionPointer> bind_function(const std::string& name, Position at,
                                        std::vector<ExpressionPointer> arguments,
                                        const UserFunctions* users = nullptr);
// Whether SQL has a function of this name, in capitals, or an aggregate.
bool is_built_in(const std::string& name);

}  // namespace holdfast::sql
