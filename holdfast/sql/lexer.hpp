// lexer.hpp: an SQL text as words, numbers, texts and signs.
//
// Errors  A text that ends nowhere, a character that begins nothing, bytes that are no UTF-8, a
//         text longer than kMaxTextBytes. All name line and column.
// Cost    O(text). The text is not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/position.hpp>

namespace holdfast::sql {

inline constexpr std::size_t kMaxTextBytes = 1 << 20;

enum class TokenKind : std::uint8_t {
  kWord,    // SELECT, price: as written, and in capitals
  kQuoted,  // `order`: never a keyword
  kNumber,  // 12, 0.5, 1e-3
  kText,    // 'it''s', without its quotes
  kSign,    // ( ) , . ; + - * / % = <> != < <= > >= || =>
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::string upper;  // Of a word: in capitals, to compare with keywords.
  Position at;

  bool is(std::string_view keyword) const { return kind == TokenKind::kWord && upper == keyword; }
  bool is_sign(std::string_view sign) const { return kind == TokenKind::kSign && text == sign; }
};

// The last token is kEnd.
Result<std::vector<Token>> tokens_of(std::string_view text);

// A token as a message quotes it.
std::string quoted(const Token& token);

}  // namespace holdfast::sql
