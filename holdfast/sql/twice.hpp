// twice.hpp: an expression that stands at two places of the one that it is part of.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::sql {

// `value` for a second place. One within the other, such expressions double in size with each
// level. Errors: one that is too large, or whose two places would have different values.
Result<ExpressionPointer> again(const Expression& value);
// The error of the latter.
Error read_twice(Position at);

}  // namespace holdfast::sql
