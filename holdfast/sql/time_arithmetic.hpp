// time_arithmetic.hpp: INTERVAL, and what it moves: time + INTERVAL, INTERVAL + time and
// time - INTERVAL.
//
// Errors  kInvalidOption, kUnsupported: with line and column.
#pragma once

#include <functional>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

// An interval of DAY to SECOND: its milliseconds. One of MONTH or YEAR is no value of its own.
Result<ExpressionPointer> bind_interval(const syntax::Expression& e);

// `left` sign `right`, one a DATE or TIMESTAMP and the other an interval. As in Flink, a DATE moves
// by whole days, what is beyond them does not count. Null: it is no such thing, and both are left.
Result<ExpressionPointer> moved_time(char sign, Position at, ExpressionPointer& left,
                                     ExpressionPointer& right);

// The same with INTERVAL … MONTH or YEAR. As in Flink, of a day that the month does not have the
// last one that it has is taken. Null: neither side of `e` is such an interval.
using BindOperand = std::function<Result<ExpressionPointer>(const syntax::Expression&)>;
Result<ExpressionPointer> moved_by_months(const syntax::Expression& e, const BindOperand& bind);

}  // namespace holdfast::sql
