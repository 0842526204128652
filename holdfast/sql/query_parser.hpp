// query_parser.hpp: a query, and what stands behind OVER, out of tokens.
#pragma once

#include <memory>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {

// Whether SELECT, WITH, VALUES or a parenthesis before one of these comes next.
bool begins_query(const TokenReader& tokens);
// WITH … SELECT … UNION ALL … ORDER BY … LIMIT …
Result<std::shared_ptr<const syntax::Query>> parse_query(TokenReader& tokens);
// The word OVER comes next.
Result<std::shared_ptr<const syntax::Over>> parse_over(TokenReader& tokens);

}  // namespace holdfast::sql
