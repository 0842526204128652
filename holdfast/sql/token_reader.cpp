#include "token_reader.hpp"

#include <algorithm>
#include <array>

#include <holdfast/base/format.hpp>

namespace holdfast::sql {

bool is_reserved(std::string_view upper) {
  static constexpr std::array<std::string_view, 52> kReserved = {
      "AND",      "AS",        "BETWEEN",  "BY",     "CASE",   "CAST",   "CREATE", "CROSS",
      "DISTINCT", "ELSE",      "END",      "ESCAPE", "EXCEPT", "EXISTS", "FALSE",  "FETCH",
      "FILTER",   "FOR",       "FROM",     "FULL",   "GROUP",  "HAVING", "IN",     "INNER",
      "INSERT",   "INTERSECT", "INTERVAL", "INTO",   "IS",     "JOIN",   "LEFT",   "LIKE",
      "LIMIT",    "NATURAL",   "NOT",      "NULL",   "OFFSET", "ON",     "OR",     "ORDER",
      "OUTER",    "OVER",      "RIGHT",    "SELECT", "TRUE",   "UNION",  "USING",  "VALUES",
      "WHEN",     "WHERE",     "WINDOW",   "WITH"};
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

Result<std::string> take_table_name(TokenReader& tokens, std::string_view what) {
  const Position at = tokens.peek().at;
  HF_ASSIGN_OR_RETURN(auto name, take_name(tokens, what));
  std::string all = name;
  while (tokens.accept_sign(".")) {
    HF_ASSIGN_OR_RETURN(name, take_name(tokens, what));
    all += '.' + name;
  }
  if (all == name) return name;
  return unsupported_at(at, "the catalog or database of " + escape(all),
                        "all tables are in one: write " + escape(name) + " alone");
}

Result<std::vector<std::string>> take_names(TokenReader& tokens, std::string_view what) {
  std::vector<std::string> names;
  HF_RETURN_IF_ERROR(tokens.expect_sign("("));
  do {
    HF_ASSIGN_OR_RETURN(auto name, take_name(tokens, what));
    names.push_back(std::move(name));
  } while (tokens.accept_sign(","));
  HF_RETURN_IF_ERROR(tokens.expect_sign(")"));
  return names;
}

Result<std::string> take_alias(TokenReader& tokens) {
  const bool named = tokens.accept("AS");
  const Token& next = tokens.peek();
  static constexpr std::array<std::string_view, 2> kNoAlias = {"QUALIFY", "MATCH_RECOGNIZE"};
  const bool word = next.kind == TokenKind::kWord && !is_reserved(next.upper) &&
                    std::find(kNoAlias.begin(), kNoAlias.end(), next.upper) == kNoAlias.end();
  if (named || word || next.kind == TokenKind::kQuoted) return take_name(tokens, "a name");
  return std::string();
}

}  // namespace holdfast::sql
