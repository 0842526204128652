// position.hpp: where in an SQL text something stands, and errors that say so.
#pragma once

#include <cstdint>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::sql {

// Counted from 1. Columns are characters (code points).
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  bool operator==(const Position&) const = default;
};

// "line 3, column 14: …; hint". The text is wrong: kInvalidOption.
Error error_at(Position at, std::string_view what, std::string_view hint = {});

// "line 3, column 14: MATCH_RECOGNIZE is not supported; hint". The text may be right SQL:
// kUnsupported.
Error unsupported_at(Position at, std::string_view what, std::string_view hint = {});

}  // namespace holdfast::sql
