// expression_parser.hpp: an expression, a type and an interval out of tokens.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {

// Precedence, the loosest first: OR, AND, NOT, comparisons (= IS IN BETWEEN LIKE), + - ||, * / %,
// signs.
Result<syntax::ExpressionPointer> parse_expression(TokenReader& tokens);
// An operand without comparisons and logic: what stands before PRECEDING or in BETWEEN.
Result<syntax::ExpressionPointer> parse_bound(TokenReader& tokens);
Result<Type> parse_type(TokenReader& tokens);

}  // namespace holdfast::sql
