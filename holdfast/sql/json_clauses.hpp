// json_clauses.hpp: what stands behind the path of JSON_VALUE, JSON_QUERY and JSON_EXISTS, parsed.
//
//   JSON_VALUE(text, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON {EMPTY | ERROR}] …)
//   JSON_QUERY(text, path [RETURNING STRING] [{WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL]}
//              [ARRAY] WRAPPER] [{NULL | ERROR | EMPTY ARRAY | EMPTY OBJECT} ON {EMPTY | ERROR}] …)
//   JSON_EXISTS(text, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])
#pragma once

#include <memory>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {

bool has_json_clauses(std::string_view function);
// Up to the closing parenthesis, which stays.
Result<std::shared_ptr<const syntax::JsonClauses>> parse_json_clauses(std::string_view function,
                                                                      TokenReader& tokens);

}  // namespace holdfast::sql
