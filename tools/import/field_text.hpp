// field_text.hpp: pieces of a line as bytes, and where in it something is wrong.
//
// Reasons say "column N: what was seen; what is allowed". Columns are counted in bytes, from 1.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::tools {

// "column N: `what`"
std::string at_column(std::size_t column, std::string_view what);

// The bytes of hex digits that begin at `column`.
Result<std::string> hex_field(std::string_view digits, std::size_t column);
// The bytes of a text in which \\ \t \n \r \0 and \xNN stand for what visible() writes so.
Result<std::string> escaped_field(std::string_view text, std::size_t column);
// The bytes of a text in which \\ and \NN, two hex digits, stand for bytes: mdb_dump's own.
Result<std::string> printed_field(std::string_view text, std::size_t column);

}  // namespace holdfast::tools
