// position.hpp: where in an SQL text something stands, and errors that say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::sql {

// Counted from 1. Columns are characters (code points).
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

// "line 3, column 14: …; hint". The text is wrong: kInvalidOption.
inline Error error_at(Position at, std::string_view what, std::string_view hint = {}) {
  std::string text = "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                     ": " + std::string(what);
  if (!hint.empty()) text += "; " + std::string(hint);
  return Error{Errc::kInvalidOption, std::move(text)};
}

// "line 3, column 14: MATCH_RECOGNIZE is not supported; hint". The text may be right SQL:
// kUnsupported.
inline Error unsupported_at(Position at, std::string_view what, std::string_view hint = {}) {
  Error error = error_at(at, std::string(what) + " is not supported", hint);
  error.code = Errc::kUnsupported;
  return error;
}

}  // namespace holdfast::sql
