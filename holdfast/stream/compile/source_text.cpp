#include "source_text.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

namespace holdfast::stream::compile {
namespace {

constexpr std::size_t kColumns = 100;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Three octal digits end an escape, whatever follows it.
std::string text_literal(std::string_view text) {
  std::string bytes;
  for (const char c : text) {
    if (is_plain(c) || std::string_view(" _-.,:;=+").find(c) != std::string_view::npos) {
      bytes += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\%03o",
                  static_cast<unsigned>(static_cast<std::uint8_t>(c)));
    bytes += escape;
  }
  return "some(Text{\"" + bytes + "\", " + std::to_string(text.size()) + "})";
}

std::string real_literal(double value) {
  if (std::isnan(value)) return "some(__builtin_nan(\"\"))";
  if (std::isinf(value)) return value < 0 ? "some(-__builtin_inf())" : "some(__builtin_inf())";
  char digits[64];
  std::snprintf(digits, sizeof digits, "%a", value);
  return "some(" + std::string(digits) + ")";
}

std::string integer_literal(sql::Int128 value, std::string_view type) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const std::string head = "some<" + std::string(type) + ">(";
  if (value > kLeast && value <= std::numeric_limits<std::int64_t>::max())
    return head + std::to_string(static_cast<std::int64_t>(value)) + ")";
  const auto bits = static_cast<sql::Uint128>(value);
  return head + "static_cast<" + std::string(type) + ">(Uint128{" +
         std::to_string(static_cast<std::uint64_t>(bits >> 64)) + "u} << 64 | " +
         std::to_string(static_cast<std::uint64_t>(bits)) + "u))";
}

// Where the bracket that is open at `at` closes; npos: it does not.
std::size_t closing(std::string_view line, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"') quoted = !quoted;  // Quotes within are octal.
    if (quoted) continue;
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (depth == 0) return at;
  }
  return std::string_view::npos;
}

// At the commas of `text` that stand in no bracket.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '{' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == '}' || c == ']' || c == '>') --depth;
    if (c != ',' || depth != 0) continue;
    parts.push_back(text.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// The bracket behind the first name that is called; npos: nothing is.
std::size_t first_call(std::string_view line) {
  for (std::size_t at = line.find('('); at != std::string_view::npos; at = line.find('(', at + 1)) {
    if (at > 0 && (is_plain(line[at - 1]) || line[at - 1] == '_' || line[at - 1] == '>')) return at;
  }
  return std::string_view::npos;
}

void append_line(std::string_view line, std::string& out) {
  const auto indent = line.find_first_not_of(' ');
  const auto open = first_call(line);
  const bool is_comment = indent != std::string_view::npos && line.substr(indent).starts_with("//");
  const auto close = open == std::string_view::npos ? std::string_view::npos : closing(line, open);
  if (line.size() <= kColumns || is_comment || close == std::string_view::npos ||
      close == open + 1) {
    out += line;
    out += '\n';
    return;
  }
  out += line.substr(0, open + 1);
  out += '\n';
  const auto parts = parts_of(line.substr(open + 1, close - open - 1));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto from = parts[i].find_first_not_of(' ');
    std::string part(indent + 4, ' ');
    part += from == std::string_view::npos ? "" : parts[i].substr(from);
    if (i + 1 == parts.size()) part += line.substr(close);
    append_line(part, out);
  }
}

}  // namespace

std::string_view cpp_type(const sql::Type& type) {
  switch (type.kind) {
    case sql::Kind::kBoolean: return "bool";
    case sql::Kind::kTinyInt: return "std::int8_t";
    case sql::Kind::kSmallInt: return "std::int16_t";
    case sql::Kind::kInt:
    case sql::Kind::kDate: return "std::int32_t";
    case sql::Kind::kDecimal: return "Int128";
    case sql::Kind::kFloat:
    case sql::Kind::kDouble: return "double";
    case sql::Kind::kString:
    case sql::Kind::kArray:
    case sql::Kind::kRow:
    case sql::Kind::kMap: return "Text";
    default: return "std::int64_t";
  }
}

std::string literal(const sql::Value& value, const sql::Type& type) {
  if (value.null) return "Maybe<" + std::string(cpp_type(type)) + ">{}";
  if (type.is_bytes()) return text_literal(value.text);
  if (type.is_real()) return real_literal(value.real);
  if (type.kind == sql::Kind::kBoolean) return value.number != 0 ? "some(true)" : "some(false)";
  return integer_literal(value.number, cpp_type(type));
}

std::string identifier(char kind, std::size_t number, std::string_view name) {
  constexpr std::size_t kCharacters = 40;
  std::string text = kind + std::to_string(number);
  std::string tail;
  for (const char c : name.substr(0, kCharacters))
    tail += is_plain(c) ? c : '_';
  // Two underscores in a row are not for programs.
  for (const char c : "_" + tail) {
    if (c != '_' || text.back() != '_') text += c;
  }
  return text;
}

std::string comment(std::string_view text) {
  std::string lines = "// ";
  for (const char c : text) {
    if (c == '\n')
      lines += "\n// ";
    else
      lines += c < ' ' || c > '~' || c == '\\' || c == '?' ? '.' : c;
  }
  return lines + "\n";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

std::string call(std::string_view name, const std::vector<std::string>& arguments) {
  return std::string(name) + "(" + joined(arguments) + ")";
}

std::string with_short_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    append_line(text.substr(0, end), out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace holdfast::stream::compile
