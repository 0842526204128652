// json_clauses.hpp: what stands behind the path of JSON_VALUE, JSON_QUERY and JSON_EXISTS, parsed.
//
//   JSON_VALUE(text, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON {EMPTY | ERROR}] …)
//   JSON_QUERY(text, path [RETURNING STRING] [{WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL]}
//              [ARRAY] WRAPPER] [{NULL | ERROR | EMPTY ARRAY | EMPTY OBJECT} ON {EMPTY | ERROR}] …)
//   JSON_EXISTS(text, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])
#pragma once

#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {

bool has_json_clauses(std::string_view function);
// Up to the closing parenthesis, which stays. Sets `json` of the call, and its depth, which counts
// the values of DEFAULT.
Status parse_json_clauses(syntax::Expression& call, TokenReader& tokens);

}  // namespace holdfast::sql
