// text_parts.hpp: characters and parts of texts in UTF-8. A character is a code point.
//
// Compiled queries include it, too (stream/compile/runtime): it includes nothing else of the
// project than letter_cases.hpp.
//
// Threads  Functions of values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <holdfast/sql/letter_cases.hpp>

namespace holdfast::sql {

constexpr bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

inline std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    count += begins_character(c);
  return count;
}

inline std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!begins_character(text[at])) continue;
    if (count == 0) break;
    --count;
  }
  return text.substr(0, at);
}

// As Flink: 0 is the first character, too; what begins before it from the end is empty.
inline std::string_view substring(std::string_view text, std::int64_t from, std::int64_t count) {
  const auto length = static_cast<std::int64_t>(characters_of(text));
  if (from < 0)
    from += length + 1;
  else if (from == 0)
    from = 1;
  if (count <= 0 || from <= 0 || from > length) return {};
  const auto before = first_characters(text, static_cast<std::size_t>(from - 1));
  const auto rest = length - from + 1;
  return first_characters(text.substr(before.size()),
                          static_cast<std::size_t>(count < rest ? count : rest));
}

// At both ends.
inline std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

// Bytes of the white space that a text begins with, as Java sees it; 0: it begins with something
// else.
inline std::size_t white_space_at(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto first = byte(0);
  if (first < 0x80)
    return (first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x20) ? 1 : 0;
  if (first < 0xE1 || first > 0xE3) return 0;
  const auto code = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  const bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A && code != 0x2007) ||
                     code == 0x2028 || code == 0x2029 || code == 0x205F || code == 0x3000;
  return space ? 3 : 0;
}

// Where the first separator is, and its bytes; none: npos. An empty one is any white space.
struct FoundSeparator {
  std::size_t at, bytes;
};
inline FoundSeparator find_separator(std::string_view text, std::string_view separator) {
  if (!separator.empty()) return {text.find(separator), separator.size()};
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const auto bytes = white_space_at(text.substr(at)); bytes != 0) return {at, bytes};
  }
  return {std::string_view::npos, 0};
}

// The part between separators, counted from 0; none: there are fewer, and an empty text has none,
// as in Flink.
inline std::optional<std::string_view> part_of(std::string_view text, std::string_view separator,
                                               std::int64_t number) {
  if (number < 0 || text.empty()) return std::nullopt;
  for (;;) {
    const auto [end, bytes] = find_separator(text, separator);
    if (number-- == 0) return text.substr(0, end);
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + bytes);
  }
}

// LIKE by steps: of kind % any characters, _ one, = this byte. O(text x steps), no recursion.
inline bool is_like(std::string_view text, std::string_view steps, std::string_view kinds) {
  const auto width_at = [&](std::size_t i) {
    std::size_t width = 1;
    while (i + width < text.size() && !begins_character(text[i + width]))
      ++width;
    return width;
  };
  std::size_t at_text = 0, at_step = 0, star = std::string_view::npos, star_text = 0;
  while (at_text < text.size()) {
    const char kind = at_step < kinds.size() ? kinds[at_step] : '\0';
    if (kind == '%') {
      star = at_step++;
      star_text = at_text;
    } else if (kind == '_') {
      at_text += width_at(at_text);
      ++at_step;
    } else if (kind == '=' && steps[at_step] == text[at_text]) {
      ++at_text, ++at_step;
    } else if (star != std::string_view::npos) {
      star_text += width_at(star_text);
      at_text = star_text;
      at_step = star + 1;
    } else {
      return false;
    }
  }
  while (at_step < kinds.size() && kinds[at_step] == '%')
    ++at_step;
  return at_step == kinds.size();
}

// A code point of UTF-8 and its bytes. A byte that begins none is one by itself, as it is.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};
inline Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (bytes == 1 || first > 0xF4 || at + bytes > text.size()) return {first, 1, false};
  std::uint32_t code = first & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const bool valid = code >= (bytes == 3   ? 0x800u
                              : bytes == 4 ? 0x10000u
                                           : 0x80u) &&
                     code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? Character{code, bytes, true} : Character{first, 1, false};
}

// Writes bytes, or counts them where there is no place to write to.
struct TextWriter {
  char* out = nullptr;
  std::size_t size = 0;

  void byte(std::uint32_t value) {
    if (out != nullptr) out[size] = static_cast<char>(value);
    ++size;
  }
  void letter(std::uint32_t code) {
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        byte(0xE0 | code >> 12);
      } else {
        byte(0xF0 | code >> 18);
        byte(0x80 | (code >> 12 & 0x3F));
      }
      byte(0x80 | (code >> 6 & 0x3F));
    }
    byte(0x80 | (code & 0x3F));
  }
};

// What a small sigma looks through when it asks whether its word ends.
constexpr bool joins_words(std::uint32_t code) {
  return code == '\'' || code == '.' || code == ':' || code == '^' || code == '`' || code == 0xAD ||
         code == 0xB7 || code == 0x2019 || (code >= 0x300 && code <= 0x36F);
}
constexpr bool has_case(std::uint32_t code) {
  if (code < 0x80) return (code | 0x20) - 'a' < 26;
  return other_case(code, true) != code || other_case(code, false) != code ||
         several_capitals(code) != nullptr;
}
// A capital sigma at `at` is the last letter of its word; `within`: it is not the first.
inline bool ends_word(std::string_view text, std::size_t at, bool within) {
  if (!within) return false;
  for (at += 2; at < text.size();) {
    const auto next = character_at(text, at);
    if (!next.valid) return true;
    if (!joins_words(next.code)) return !has_case(next.code);
    at += next.bytes;
  }
  return true;
}

inline bool is_ascii(std::string_view text) {
  std::uint32_t all = 0;
  for (const char c : text)
    all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

// All letters in the other case, as Java has them: ß becomes SS, and Σ at the end of a word ς. What
// is not UTF-8 stays. `out` null: nothing is written. Returns how many bytes these are.
inline std::size_t write_in_case(std::string_view text, bool upper, char* out) {
  constexpr std::uint32_t kCapitalSigma = 0x3A3, kLastSigma = 0x3C2, kDottedCapitalI = 0x130;
  const auto first = upper ? 'a' : 'A';
  const auto in_other_case = [&](std::uint32_t letter) {
    return letter ^ (letter - static_cast<std::uint32_t>(first) < 26 ? 0x20 : 0);
  };
  if (out != nullptr && is_ascii(text)) {
    for (std::size_t i = 0; i < text.size(); ++i)
      out[i] = static_cast<char>(in_other_case(static_cast<unsigned char>(text[i])));
    return text.size();
  }
  TextWriter writer{out};
  bool within = false;  // A word: there was a letter, and nothing since that ends it.
  for (std::size_t at = 0; at < text.size();) {
    const auto one = character_at(text, at);
    if (!one.valid) {
      writer.byte(one.code);
    } else if (one.code < 0x80) {
      writer.byte(in_other_case(one.code));
    } else if (const auto* several = upper ? several_capitals(one.code) : nullptr) {
      for (const auto part : several->parts) {
        if (part != 0) writer.letter(part);
      }
    } else if (!upper && one.code == kCapitalSigma && ends_word(text, at, within)) {
      writer.letter(kLastSigma);
    } else {
      writer.letter(!upper && one.code == kDottedCapitalI ? 'i' : other_case(one.code, upper));
      if (!upper && one.code == kDottedCapitalI) writer.letter(0x307);
    }
    if (!upper && !(one.valid && joins_words(one.code))) within = one.valid && has_case(one.code);
    at += one.bytes;
  }
  return writer.size;
}
inline std::size_t size_in_case(std::string_view text, bool upper) {
  return is_ascii(text) ? text.size() : write_in_case(text, upper, nullptr);
}

}  // namespace holdfast::sql
