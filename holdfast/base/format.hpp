// format.hpp: numbers and foreign bytes as people read them, and back. For messages and tools;
// cold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast {

// Three significant digits, binary units: "512 B", "3.40 GiB", "64.0 MiB"; whole numbers of a unit
// stay whole: "64 MiB".
std::string format_bytes(std::uint64_t bytes);
// Three significant digits, decimal units: "950", "1.20 k", "12.3 M".
std::string format_count(double count);
// The same per second: "1.20 M/s".
std::string format_rate(double per_second);
// "104 ns", "4.30 µs", "2.00 s".
std::string format_nanoseconds(double nanoseconds);

// "64M", "1.5GiB", "4096": bytes, with K, M, G, T for powers of 1024 (KiB and KB mean the same).
// Errors: kInvalidOption, naming `what` and the text seen.
Result<std::uint64_t> parse_bytes(std::string_view text, std::string_view what);
// "10M", "2k", "1000000": a number, with k, M, G for powers of 1000. Errors: as parse_bytes.
Result<std::uint64_t> parse_count(std::string_view text, std::string_view what);

// The candidate nearest to `word` by edit distance, or empty where none is near enough to be meant.
std::string_view closest(std::string_view word, std::span<const std::string_view> candidates);

// Bytes of the character that `text`, which is not empty, begins with; 0: that is no valid UTF-8.
// Overlong forms, surrogates and code points beyond U+10FFFF are not (Unicode 15, table 3-7).
std::size_t utf8_sequence(std::string_view text);
bool is_valid_utf8(std::string_view text);
// What some programs write before UTF-8; no part of the text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Printable on a terminal and unambiguous: control characters, invalid UTF-8 and the backslash as
// \n, \t, \xNN, \\; cut to `max_bytes` of input, with "…" where it was.
std::string escape(std::string_view text, std::size_t max_bytes = 256);
// Characters a terminal shows for valid UTF-8 of single-width characters.
std::size_t display_width(std::string_view text);
std::string pad_left(std::string text, std::size_t width);   // For numbers.
std::string pad_right(std::string text, std::size_t width);  // For words.

}  // namespace holdfast
