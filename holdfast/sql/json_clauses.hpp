// json_clauses.hpp: what stands behind the path of JSON_VALUE, JSON_QUERY and JSON_EXISTS, parsed.
//
//   JSON_VALUE(text, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON {EMPTY | ERROR}] …)
//   JSON_QUERY(text, path [RETURNING STRING] [{WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL]}
//              [ARRAY] WRAPPER] [{NULL | ERROR | EMPTY ARRAY | EMPTY OBJECT} ON {EMPTY | ERROR}] …)
//   JSON_EXISTS(text, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {

inline constexpr std::array<std::string_view, 3> kJsonFunctions = {"JSON_EXISTS", "JSON_QUERY",
                                                                   "JSON_VALUE"};
inline bool has_json_clauses(std::string_view function) {
  return std::find(kJsonFunctions.begin(), kJsonFunctions.end(), function) != kJsonFunctions.end();
}
// Up to the closing parenthesis, which stays. Sets `json` of the call, and its depth, which counts
// the values of DEFAULT.
Status parse_json_clauses(syntax::Expression& call, TokenReader& tokens);

}  // namespace holdfast::sql
