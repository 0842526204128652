#include "token_reader.hpp"

#include <algorithm>
#include <array>

namespace holdfast::sql {

bool is_reserved(std::string_view upper) {
  static constexpr std::array<std::string_view, 45> kReserved = {
      "AND",      "AS",   "BETWEEN", "BY",     "CASE",   "CAST",  "CREATE", "CROSS",
      "DISTINCT", "ELSE", "END",     "ESCAPE", "EXCEPT", "FALSE", "FETCH",  "FILTER",
      "FROM",     "FULL", "GROUP",   "HAVING", "IN",     "INNER", "INSERT", "INTERSECT",
      "INTERVAL", "INTO", "IS",      "JOIN",   "LEFT",   "LIKE",  "LIMIT",  "NATURAL",
      "NOT",      "NULL", "ON",      "OR",     "ORDER",  "OUTER", "OVER",   "RIGHT",
      "SELECT",   "TRUE", "UNION",   "WHEN",   "WHERE"};
  return std::find(kReserved.begin(), kReserved.end(), upper) != kReserved.end();
}

Result<std::string> take_name(TokenReader& tokens, std::string_view what) {
  const Token& token = tokens.peek();
  const bool word = token.kind == TokenKind::kWord && !is_reserved(token.upper);
  if (!word && token.kind != TokenKind::kQuoted) {
    Error error = tokens.wrong(what);
    if (token.kind == TokenKind::kWord) error.detail += "; a name that is a keyword stands in `…`";
    return error;
  }
  return tokens.take().text;
}

}  // namespace holdfast::sql
