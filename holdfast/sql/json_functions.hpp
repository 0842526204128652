// json_functions.hpp: JSON_VALUE, JSON_QUERY, JSON_EXISTS and IS JSON, bound.
//
// Each parses its text anew: it is a text, not a type. The path is a literal, read when the call is
// bound.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/scope.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

// Errors: kInvalidOption, kUnsupported, with line and column.
Result<ExpressionPointer> bind_json(const syntax::Expression& e, const Scope& scope);

}  // namespace holdfast::sql
