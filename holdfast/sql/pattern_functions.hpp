// pattern_functions.hpp: REGEXP, REGEXP_COUNT, REGEXP_EXTRACT, REGEXP_INSTR, REGEXP_REPLACE,
// REGEXP_SUBSTR, and SIMILAR TO. Their patterns are literals, which are compiled once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::sql {

std::span<const std::string_view> pattern_functions();
// One of them, with its arguments: the text, the pattern, and what else it takes.
Result<ExpressionPointer> bind_pattern_function(std::string_view name, Position at,
                                                std::vector<ExpressionPointer> arguments);

}  // namespace holdfast::sql
