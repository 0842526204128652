// token_reader.hpp: a place in a list of tokens, and the errors of what is not there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/lexer.hpp>

namespace holdfast::sql {

class Zone;

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // How deep the rule that reads is nested in others.
  std::uint32_t depth = 0;
  const Zone* zone = nullptr;  // Of the session; null: UTC.
  // Tokens that were read more than once.
  std::size_t read_again = 0;

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  // For reading a part of the text again.
  std::size_t place() const { return at_; }
  void go_to(std::size_t place) { at_ = place; }
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

  bool is(std::string_view keyword, std::size_t ahead = 0) const { return peek(ahead).is(keyword); }
  bool is_sign(std::string_view sign, std::size_t ahead = 0) const {
    return peek(ahead).is_sign(sign);
  }
  // Takes the token if it is this one.
  bool accept(std::string_view keyword) { return is(keyword) && (take(), true); }
  bool accept_sign(std::string_view sign) { return is_sign(sign) && (take(), true); }

  Status expect(std::string_view keyword) {
    if (accept(keyword)) return {};
    return wrong(keyword);
  }
  Status expect_sign(std::string_view sign) {
    if (accept_sign(sign)) return {};
    return wrong("'" + std::string(sign) + "'");
  }
  Result<std::string> expect_text(std::string_view what) {
    if (peek().kind != TokenKind::kText) return wrong(what);
    return take().text;
  }
  Error wrong(std::string_view expected) const {
    return error_at(peek().at, "expected " + std::string(expected) + ", found " + quoted(peek()));
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// A name: quoted, or a word that is no reserved one.
Result<std::string> take_name(TokenReader& tokens, std::string_view what);
// The name of a table or view. One with its catalog or database is refused.
Result<std::string> take_table_name(TokenReader& tokens, std::string_view what);
// (name, name, …)
Result<std::vector<std::string>> take_names(TokenReader& tokens, std::string_view what);
// A name may stand here: the one of AS, or a word that begins nothing else. Else an empty text.
Result<std::string> take_alias(TokenReader& tokens);
bool is_reserved(std::string_view upper);

}  // namespace holdfast::sql
