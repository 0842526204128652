// text_parts.hpp: characters and parts of texts in UTF-8. A character is a code point.
//
// Compiled queries include it, too (stream/compile/runtime): it includes nothing of the project.
//
// Threads  Functions of values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

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

// The part between separators, counted from 0; none: there are fewer. `separator` is not empty.
inline std::optional<std::string_view> part_of(std::string_view text, std::string_view separator,
                                               std::int64_t number) {
  if (number < 0) return std::nullopt;
  for (;;) {
    const auto end = text.find(separator);
    if (number-- == 0) return text.substr(0, end);
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + separator.size());
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

// Ranges of small letters, and how far above its capital each is.
struct SmallLetters {
  std::uint32_t first, last, distance;
};
inline constexpr std::array<SmallLetters, 8> kSmallLetters{{{0x61, 0x7a, 32},      // a-z
                                                            {0xe0, 0xf6, 32},      // à-ö
                                                            {0xf8, 0xfe, 32},      // ø-þ
                                                            {0x3ac, 0x3ac, 38},    // ά
                                                            {0x3b1, 0x3c1, 32},    // α-ρ
                                                            {0x3c3, 0x3cb, 32},    // σ-ϋ
                                                            {0x430, 0x44f, 32},    // а-я
                                                            {0x450, 0x45f, 80}}};  // ѐ-џ

constexpr std::uint32_t other_case(std::uint32_t letter, bool upper) {
  for (const auto& range : kSmallLetters) {
    const std::uint32_t shift = upper ? 0 : range.distance;
    if (letter + shift < range.first || letter + shift > range.last) continue;
    return upper ? letter - range.distance : letter + range.distance;
  }
  return letter;
}

// Letters of ASCII, Latin-1, Greek and Cyrillic in the other case, where that is one letter; all
// else as it is. As many bytes as the text has: these letters are of one or two, in both cases.
inline void write_in_case(std::string_view text, bool upper, char* out) {
  const auto ascii = upper ? 'a' : 'A';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      const bool letter = static_cast<unsigned char>(byte - ascii) < 26;
      out[i] = static_cast<char>(byte ^ (letter ? 0x20 : 0));
    } else if (byte >= 0xC0 && byte < 0xE0 && i + 1 < text.size()) {
      const auto second = static_cast<unsigned char>(text[i + 1]);
      const std::uint32_t letter = other_case((byte & 0x1Fu) << 6 | (second & 0x3Fu), upper);
      out[i] = static_cast<char>(0xC0 | letter >> 6);
      out[++i] = static_cast<char>(0x80 | (letter & 0x3F));
    } else {
      out[i] = text[i];
    }
  }
}

}  // namespace holdfast::sql
