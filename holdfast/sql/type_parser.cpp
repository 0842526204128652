// Types out of tokens.
#include <algorithm>
#include <array>
#include <charconv>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/expression_parser.hpp>

namespace holdfast::sql {
namespace {

// (n) or (n, m), if they are there.
Result<std::vector<std::uint32_t>> type_arguments(TokenReader& tokens) {
  std::vector<std::uint32_t> numbers;
  if (!tokens.accept_sign("(")) return numbers;
  do {
    const Token token = tokens.peek();
    std::uint32_t number = 0;
    const auto end = token.text.data() + token.text.size();
    const auto [stop, code] = std::from_chars(token.text.data(), end, number);
    if (token.kind != TokenKind::kNumber || code != std::errc() || stop != end)
      return tokens.wrong("a whole number");
    tokens.take();
    numbers.push_back(number);
  } while (tokens.accept_sign(","));
  HF_RETURN_IF_ERROR(tokens.expect_sign(")"));
  return numbers;
}

// ARRAY<T>, ROW<name T, …> or ROW(name T, …), MAP<K, V>.
Result<Type> nested_type_from(TokenReader& tokens) {
  const Token word = tokens.take();
  const bool round = word.is("ROW") && tokens.is_sign("(");
  const std::string_view close = round ? ")" : ">";
  if (round)
    tokens.take();
  else
    HF_RETURN_IF_ERROR(tokens.expect_sign("<"));
  std::vector<TypeField> fields;
  do {
    TypeField field;
    if (word.is("ROW")) {
      const Position at = tokens.peek().at;
      HF_ASSIGN_OR_RETURN(field.name, take_name(tokens, "a field"));
      const bool twice = std::any_of(fields.begin(), fields.end(),
                                     [&](const auto& one) { return one.name == field.name; });
      if (twice) return error_at(at, "there are two fields " + escape(field.name));
    }
    HF_ASSIGN_OR_RETURN(field.type, parse_type(tokens));
    if (tokens.is("NOT")) return unsupported_at(tokens.peek().at, "NOT NULL", "leave it away");
    fields.push_back(std::move(field));
    if (fields.size() > kMaxTypeParts) break;
  } while (tokens.accept_sign(","));
  const std::size_t wanted = word.is("ARRAY") ? 1 : word.is("MAP") ? 2 : fields.size();
  if (fields.size() != wanted)
    return error_at(word.at, word.upper + " wants " + std::to_string(wanted) + " types",
                    word.is("MAP") ? "MAP<STRING, INT>" : "ARRAY<INT>");
  const Kind kind = word.is("ARRAY") ? Kind::kArray : word.is("ROW") ? Kind::kRow : Kind::kMap;
  const auto type = nested_type(kind, std::move(fields));
  if (!type) return error_at(word.at, why_no_nested_type());
  HF_RETURN_IF_ERROR(tokens.expect_sign(close));
  return *type;
}

// Each nesting passes here: the stack holds what kMaxDepth allows.
Result<Type> parse_nested_type(TokenReader& tokens) {
  if (tokens.depth >= kMaxDepth)
    return error_at(tokens.peek().at, "types are nested deeper than " + std::to_string(kMaxDepth));
  ++tokens.depth;
  auto type = nested_type_from(tokens);
  --tokens.depth;
  return type;
}

Result<Type> decimal_from(Position at, const std::vector<std::uint32_t>& numbers) {
  const std::uint32_t precision = numbers.empty() ? 10 : numbers[0];
  const std::uint32_t scale = numbers.size() < 2 ? 0 : numbers[1];
  if (precision < 1 || precision > kMaxDigits || scale > precision || numbers.size() > 2)
    return error_at(at, "DECIMAL(p, s) wants 1 <= p <= 38 and s <= p");
  return decimal_type(precision, scale);
}

}  // namespace

Result<Type> parse_type(TokenReader& tokens) {
  const Token word = tokens.peek();
  if (word.kind != TokenKind::kWord) return tokens.wrong("a type");
  struct Plain {
    std::string_view name;
    Kind kind;
  };
  if (word.is("ARRAY") || word.is("ROW") || word.is("MAP")) return parse_nested_type(tokens);
  static constexpr std::array<Plain, 12> kPlain = {{{"BOOLEAN", Kind::kBoolean},
                                                    {"TINYINT", Kind::kTinyInt},
                                                    {"SMALLINT", Kind::kSmallInt},
                                                    {"INT", Kind::kInt},
                                                    {"INTEGER", Kind::kInt},
                                                    {"BIGINT", Kind::kBigInt},
                                                    {"FLOAT", Kind::kFloat},
                                                    {"DOUBLE", Kind::kDouble},
                                                    {"STRING", Kind::kString},
                                                    {"DATE", Kind::kDate},
                                                    {"TIMESTAMP", Kind::kTimestamp},
                                                    {"TIMESTAMP_LTZ", Kind::kTimestamp}}};
  tokens.take();
  HF_ASSIGN_OR_RETURN(const auto numbers, type_arguments(tokens));
  if (word.is("DECIMAL") || word.is("NUMERIC") || word.is("DEC"))
    return decimal_from(word.at, numbers);
  if (word.is("VARCHAR")) {
    if (numbers.size() != 1 || numbers[0] == 0)
      return error_at(word.at, "VARCHAR wants a length from 1", "VARCHAR(20), or STRING");
    return Type{Kind::kString, numbers[0] == 2147483647 ? 0 : numbers[0]};
  }
  const auto found = std::find_if(kPlain.begin(), kPlain.end(),
                                  [&](const Plain& plain) { return plain.name == word.upper; });
  if (found == kPlain.end()) {
    return unsupported_at(
        word.at, "the type " + quoted(word),
        "there are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DECIMAL(p, s), FLOAT, "
        "DOUBLE, STRING, VARCHAR(n), DATE, TIMESTAMP(3), TIMESTAMP_LTZ(3), ARRAY<…>, ROW<…>, "
        "MAP<…>");
  }
  if (found->kind == Kind::kTimestamp) {
    if (numbers.size() != 1 || numbers[0] != 3)
      return unsupported_at(word.at, "a timestamp of another precision than 3",
                            "write TIMESTAMP(3)");
    return word.is("TIMESTAMP") ? kTimestampType : instant_type(tokens.zone);
  }
  if (found->kind == Kind::kDouble) tokens.accept("PRECISION");
  if (!numbers.empty()) return error_at(word.at, word.upper + " takes no number in parentheses");
  return Type{found->kind};
}

}  // namespace holdfast::sql
