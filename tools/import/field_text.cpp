#include "field_text.hpp"

#include <fmt/format.h>

#include "../text_encoding.hpp"

namespace holdfast::tools {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error wrong(std::size_t column, std::string_view what) {
  return Error{Errc::kInvalidOption, at_column(column, what)};
}

// The byte that two hex digits at `at` are.
Result<char> hex_byte(std::string_view text, std::size_t at, std::size_t column) {
  int byte = 0;
  for (std::size_t i = at; i < at + 2; ++i) {
    if (i >= text.size()) return wrong(column + i, "the end; here follow two hex digits");
    const int digit = digit_of(text[i]);
    if (digit < 0) {
      return wrong(column + i, fmt::format("'{}'; allowed are hex digits, two for each byte",
                                           visible(text.substr(i, 1))));
    }
    byte = byte * 16 + digit;
  }
  return static_cast<char>(byte);
}

}  // namespace

std::string at_column(std::size_t column, std::string_view what) {
  return fmt::format("column {}: {}", column, what);
}

Result<std::string> hex_field(std::string_view digits, std::size_t column) {
  std::string bytes;
  bytes.reserve(digits.size() / 2 + 1);
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    HF_ASSIGN_OR_RETURN(const char byte, hex_byte(digits, at, column));
    bytes += byte;
  }
  return bytes;
}

Result<std::string> escaped_field(std::string_view text, std::size_t column) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    const char kind = at + 1 < text.size() ? text[at + 1] : ' ';
    switch (kind) {
      case '\\': bytes += '\\'; break;
      case 't': bytes += '\t'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case '0': bytes += '\0'; break;
      case 'x': {
        HF_ASSIGN_OR_RETURN(const char byte, hex_byte(text, at + 2, column));
        bytes += byte;
        at += 2;
        break;
      }
      default:
        return wrong(column + at, fmt::format("'{}'; allowed are \\\\ \\t \\n \\r \\0 and \\xNN",
                                              visible(text.substr(at, 2))));
    }
    ++at;
  }
  return bytes;
}

Result<std::string> printed_field(std::string_view text, std::size_t column) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
    } else if (text.substr(at, 2) == "\\\\") {
      bytes += '\\';
      ++at;
    } else {
      HF_ASSIGN_OR_RETURN(const char byte, hex_byte(text, at + 1, column));
      bytes += byte;
      at += 2;
    }
  }
  return bytes;
}

}  // namespace holdfast::tools
