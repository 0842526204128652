// parser.hpp: an SQL text as a list of statements.
//
// Errors  kInvalidOption: no SQL of this dialect. kUnsupported: known, and not built yet. Both name
//         line, column and what was expected.
// Bounds  lexer.hpp's of the text, kMaxDepth and kMaxColumns: no text overflows the stack.
#pragma once

#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

Result<std::vector<syntax::Statement>> parse(std::string_view text);

}  // namespace holdfast::sql
