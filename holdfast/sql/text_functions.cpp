#include "text_functions.hpp"

#include <array>
#include <cstdio>

#include <holdfast/sql/calendar.hpp>

namespace holdfast::sql {
namespace {

// Ranges of small letters, and how far above its capital each is.
struct Letters {
  std::uint32_t first, last, distance;
};
constexpr std::array<Letters, 8> kSmall{{{0x61, 0x7a, 32},      // a-z
                                         {0xe0, 0xf6, 32},      // à-ö
                                         {0xf8, 0xfe, 32},      // ø-þ
                                         {0x3ac, 0x3ac, 38},    // ά
                                         {0x3b1, 0x3c1, 32},    // α-ρ
                                         {0x3c3, 0x3cb, 32},    // σ-ϋ
                                         {0x430, 0x44f, 32},    // а-я
                                         {0x450, 0x45f, 80}}};  // ѐ-џ

std::uint32_t other_case(std::uint32_t letter, bool upper) {
  for (const auto& range : kSmall) {
    const std::uint32_t shift = upper ? 0 : range.distance;
    if (letter + shift < range.first || letter + shift > range.last) continue;
    return upper ? letter - range.distance : letter + range.distance;
  }
  return letter;
}

// Letters that have another case are of one or two bytes, and so is that.
std::string in_case(std::string_view text, bool upper) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool pair = byte >= 0xC0 && byte < 0xE0 && i + 1 < text.size();
    if (byte < 0x80) {
      result += static_cast<char>(other_case(byte, upper));
    } else if (pair) {
      const auto second = static_cast<unsigned char>(text[++i]);
      const std::uint32_t letter = other_case((byte & 0x1Fu) << 6 | (second & 0x3Fu), upper);
      result += static_cast<char>(0xC0 | letter >> 6);
      result += static_cast<char>(0x80 | (letter & 0x3F));
    } else {
      result += text[i];
    }
  }
  return result;
}

constexpr std::array<std::string_view, 7> kFields = {"yyyy", "MM", "dd", "HH", "mm", "ss", "SSS"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The parts of a pattern: field(number of kFields), text(c). False: a field is unknown.
template <class Field, class Text>
bool walk(std::string_view pattern, Field field, Text text) {
  while (!pattern.empty()) {
    if (pattern.front() == '\'') {
      const auto end = pattern.find('\'', 1);
      if (end == std::string_view::npos) return false;
      if (end == 1) text('\'');
      for (const char c : pattern.substr(1, end - 1))
        text(c);
      pattern.remove_prefix(end + 1);
      continue;
    }
    if (!is_letter(pattern.front())) {
      text(pattern.front());
      pattern.remove_prefix(1);
      continue;
    }
    std::size_t length = 1;
    while (length < pattern.size() && pattern[length] == pattern.front())
      ++length;
    std::size_t found = kFields.size();
    for (std::size_t i = 0; i < kFields.size(); ++i) {
      if (kFields[i] == pattern.substr(0, length)) found = i;
    }
    if (found == kFields.size()) return false;
    field(found);
    pattern.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string in_upper_case(std::string_view text) { return in_case(text, true); }
std::string in_lower_case(std::string_view text) { return in_case(text, false); }

bool is_date_pattern(std::string_view pattern) {
  return walk(pattern, [](std::size_t) {}, [](char) {});
}

std::string formatted_time(std::int64_t ms, std::string_view pattern) {
  const std::int64_t days = floor_divide(ms, kDayMs);
  const std::int64_t rest = ms - days * kDayMs;
  const CivilDate date = date_of(days);
  const std::array<std::int64_t, 7> values = {
      date.year,          date.month,       date.day,   rest / 3'600'000,
      rest / 60'000 % 60, rest / 1000 % 60, rest % 1000};
  std::string result;
  walk(
      pattern,
      [&](std::size_t field) {
        std::string digits = std::to_string(values[field]);
        while (digits.size() < kFields[field].size())
          digits.insert(0, 1, '0');
        result += digits;
      },
      [&](char c) { result += c; });
  return result;
}

std::optional<std::string_view> part_of(std::string_view text, std::string_view separator,
                                        std::int64_t number) {
  if (number < 0) return std::nullopt;
  for (;;) {
    const auto end = text.find(separator);
    if (number-- == 0) return text.substr(0, end);
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace holdfast::sql
