// zone_functions.hpp: what asks the session's time zone: the clock, and functions that make an
// instant, or a text of one. docs/time_zones.md
//
// Errors  kInvalidOption, kUnsupported: with line and column.
#pragma once

#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

// An instant as what the clocks of its zone show; any other value as it is.
ExpressionPointer at_wall_clock(ExpressionPointer value);
// CURRENT_TIMESTAMP, LOCALTIMESTAMP, CURRENT_DATE.
ExpressionPointer clock_word(std::string_view word, const syntax::Expression& e);
// bind_function() where the call stands: an instant that it makes is of the session's zone.
Result<ExpressionPointer> bind_in_zone(const syntax::Expression& call,
                                       std::vector<ExpressionPointer> arguments,
                                       const UserFunctions* users);

}  // namespace holdfast::sql
