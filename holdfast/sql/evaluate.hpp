// evaluate.hpp: the interpreter of expressions.
//
// Errors   kInvalidOption, with line and column of the expression: a division by zero, a decimal
//          of more than 38 digits, a text that is no number, a time beyond the years 1 to 9999.
//          Never a wrong value. Integers wrap as in Flink.
// Threads  Any; the expression is only read.
#pragma once

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::sql {

Status evaluate(const Expression& expression, const Row& row, Value& out);

// For literal operands: the expression as a literal. One whose value is an error stays as it is,
// so that the error comes if a row needs it.
ExpressionPointer folded(ExpressionPointer expression);
// The same, by another way to evaluate.
ExpressionPointer folded(ExpressionPointer expression,
                         FunctionRef<Result<Value>(const Expression&)> evaluated);

}  // namespace holdfast::sql
