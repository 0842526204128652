// text_encoding.hpp: bytes as text and back, for arguments, JSON and terminals. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::tools {

enum class Encoding : std::uint8_t { kText, kHex, kBase64 };

// Valid UTF-8 without control characters other than tab and newline: fit for a terminal.
bool is_printable(std::string_view bytes);

std::string to_hex(std::string_view bytes);     // Lower case.
std::string to_base64(std::string_view bytes);  // RFC 4648, with padding.
// Upper or lower case, an even number of digits. kInvalidOption, naming the position.
Result<std::string> from_hex(std::string_view text);
// Padding required, nothing after it, unused bits zero: so that every value has one spelling.
Result<std::string> from_base64(std::string_view text);

std::string encode(std::string_view bytes, Encoding encoding);
Result<std::string> decode(std::string_view text, Encoding encoding);
// The same of an option's value; the error names the option.
Result<std::string> option_bytes(std::string_view option, std::string_view text, Encoding encoding);

// `text`, which is valid UTF-8, as a JSON string with its quotes.
void append_json_string(std::string& out, std::string_view text);
// "key":"…" where `bytes` are valid UTF-8, else "key64":"…" (base64).
void append_json_member(std::string& out, std::string_view name, std::string_view bytes);

// One line of visible text: backslash, tab, newline, return and NUL as \\ \t \n \r \0, other
// control characters and broken UTF-8 as \xNN. So is U+FEFF at the beginning: there it is no
// character but a byte order mark, which is not seen and which a reader of TSV drops.
std::string visible(std::string_view bytes);

}  // namespace holdfast::tools
