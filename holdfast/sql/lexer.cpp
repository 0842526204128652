#include "lexer.hpp"

#include <array>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::sql {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool in_word(char c) { return begins_word(c) || is_digit(c) || c == '$'; }

std::string in_capitals(std::string_view word) {
  std::string upper(word);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

// Flink's hints, and what to do without them.
constexpr std::string_view kRemoveIt = "remove it: the answer is the same without it";
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kHints = {{
    {"OPTIONS", "write the options behind WITH of CREATE TABLE"},
    {"STATE_TTL", "SET 'table.exec.state.ttl' = '…' holds for the whole query"},
    {"LOOKUP", kRemoveIt},
    {"BROADCAST", kRemoveIt},
    {"SHUFFLE_HASH", kRemoveIt},
    {"SHUFFLE_MERGE", kRemoveIt},
    {"NEST_LOOP", kRemoveIt},
    {"MULTI_JOIN", kRemoveIt},
}};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    for (;;) {
      HF_RETURN_IF_ERROR(skip_blanks());
      HF_ASSIGN_OR_RETURN(Token token, next());
      tokens.push_back(std::move(token));
      if (tokens.back().kind == TokenKind::kEnd) return tokens;
    }
  }

 private:
  bool done() const { return at_ == text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void step() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++position_.line;
      position_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++position_.column;
    }
  }
  void step(std::size_t count) {
    for (; count > 0; --count)
      step();
  }

  Status skip_blanks() {
    for (;;) {
      const char c = peek();
      if (!done() && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
        step();
      } else if (c == '-' && peek(1) == '-') {
        while (!done() && peek() != '\n')
          step();
      } else if (c == '/' && peek(1) == '*' && peek(2) == '+') {
        return refused_hint();
      } else if (c == '/' && peek(1) == '*') {
        const Position begun = position_;
        const auto end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return error_at(begun, "this comment has no end", "*/");
        step(end + 2 - at_);
      } else {
        return {};
      }
    }
  }

  // At /*+, where a comment of Flink's means something: it is never taken for an ordinary one.
  Error refused_hint() {
    step(3);
    while (!done() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r'))
      step();
    const std::size_t begun = at_;
    std::size_t end = begun;
    while (end < text_.size() && in_word(text_[end]))
      ++end;
    const auto name = text_.substr(begun, end - begun);
    if (name.empty())
      return error_at(position_, "a hint has no name", "an ordinary comment begins with /* alone");
    const std::string upper = in_capitals(name);
    for (const auto& [known, advice] : kHints) {
      if (upper == known) return unsupported_at(position_, "the hint " + upper, advice);
    }
    return error_at(position_, "there is no hint " + escape(name, 40),
                    "hints are not supported; an ordinary comment begins with /* alone");
  }

  Result<Token> next() {
    Token token;
    token.at = position_;
    if (done()) return token;
    const char c = peek();
    const std::size_t begun = at_;
    if (begins_word(c)) {
      while (!done() && in_word(peek()))
        step();
      token.kind = TokenKind::kWord;
      token.text = text_.substr(begun, at_ - begun);
      token.upper = in_capitals(token.text);
      return token;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number(std::move(token));
    if (c == '\'') return quoted_until('\'', TokenKind::kText, std::move(token));
    if (c == '`') return quoted_until('`', TokenKind::kQuoted, std::move(token));
    if (c == '"')
      return error_at(position_, "\" begins nothing", "names stand in `…`, texts in '…'");
    return sign(std::move(token));
  }

  Result<Token> number(Token token) {
    const std::size_t begun = at_;
    const auto digits = [&] {
      while (is_digit(peek()))
        step();
    };
    digits();
    if (peek() == '.') step(), digits();
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign_bytes = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign_bytes))) step(1 + sign_bytes), digits();
    }
    if (!done() && in_word(peek()))
      return error_at(position_, "a number goes on with a letter", "a name begins with a letter");
    token.kind = TokenKind::kNumber;
    token.text = text_.substr(begun, at_ - begun);
    return token;
  }

  Result<Token> quoted_until(char quote, TokenKind kind, Token token) {
    step();
    for (;;) {
      if (done())
        return error_at(token.at, std::string("this ") + quote + " has no partner",
                        "a quote within is written twice");
      if (peek() == quote) {
        step();
        if (peek() != quote) break;
      }
      token.text += peek();
      step();
    }
    token.kind = kind;
    if (kind == TokenKind::kQuoted && token.text.empty())
      return error_at(token.at, "a name is empty");
    return token;
  }

  Result<Token> sign(Token token) {
    static constexpr std::array<std::string_view, 6> kLong = {"<>", "!=", "<=", ">=", "||", "=>"};
    static constexpr std::string_view kShort = "(),.;+-*/%=<>[]:";
    token.kind = TokenKind::kSign;
    for (const auto candidate : kLong) {
      if (text_.substr(at_, 2) != candidate) continue;
      token.text = candidate == "!=" ? "<>" : candidate;
      step(2);
      return token;
    }
    if (kShort.find(peek()) == std::string_view::npos) {
      return error_at(position_,
                      "'" + escape(text_.substr(at_, 1)) + "' begins nothing that is known");
    }
    token.text = peek();
    step();
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Position position_;
};

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return error_at({}, "the text has " + std::to_string(text.size()) + " bytes; " +
                            std::to_string(kMaxTextBytes) + " are allowed");
  }
  if (!is_valid_utf8(text)) return error_at({}, "the text is not UTF-8");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Lexer(text).run();
}

std::string quoted(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd: return "the end of the text";
    case TokenKind::kText: return "the text '" + escape(token.text, 40) + "'";
    case TokenKind::kQuoted: return "`" + escape(token.text, 40) + "`";
    default: return "'" + escape(token.text, 40) + "'";
  }
}

}  // namespace holdfast::sql
