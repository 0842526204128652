#include "text_functions.hpp"

#include <array>

namespace holdfast::sql {
namespace {

std::string in_case(std::string_view text, bool upper) {
  std::string result(size_in_case(text, upper), '\0');
  write_in_case(text, upper, result.data());
  return result;
}

struct PatternField {
  std::string_view name;
  TimeField field;
};
constexpr std::array<PatternField, 7> kPatternFields = {{{"yyyy", TimeField::kYear},
                                                         {"MM", TimeField::kMonth},
                                                         {"dd", TimeField::kDay},
                                                         {"HH", TimeField::kHour},
                                                         {"mm", TimeField::kMinute},
                                                         {"ss", TimeField::kSecond},
                                                         {"SSS", TimeField::kMillisecond}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

DatePart sign(char c) { return {0, TimeField::kYear, c}; }

}  // namespace

std::string in_upper_case(std::string_view text) { return in_case(text, true); }
std::string in_lower_case(std::string_view text) { return in_case(text, false); }

std::optional<std::vector<DatePart>> date_parts(std::string_view pattern) {
  std::vector<DatePart> parts;
  while (!pattern.empty()) {
    const char first = pattern.front();
    if (first == '\'') {
      const auto end = pattern.find('\'', 1);
      if (end == std::string_view::npos) return std::nullopt;
      if (end == 1) parts.push_back(sign('\''));
      for (const char c : pattern.substr(1, end - 1))
        parts.push_back(sign(c));
      pattern.remove_prefix(end + 1);
      continue;
    }
    if (!is_letter(first)) {
      parts.push_back(sign(first));
      pattern.remove_prefix(1);
      continue;
    }
    const auto other = pattern.find_first_not_of(first);
    const auto name = pattern.substr(0, other);
    bool known = false;
    for (const auto& field : kPatternFields) {
      if (field.name != name) continue;
      parts.push_back({static_cast<unsigned>(name.size()), field.field});
      known = true;
    }
    if (!known) return std::nullopt;
    pattern.remove_prefix(name.size());
  }
  return parts;
}

std::string formatted_time(std::int64_t ms, std::string_view pattern) {
  std::string result;
  const auto parts = date_parts(pattern);
  if (!parts) return result;
  for (const auto& part : *parts) {
    if (part.digits == 0) {
      result += part.sign;
      continue;
    }
    char digits[kMostSigns];
    result.append(digits, write_padded(extracted(part.field, ms), part.digits, digits));
  }
  return result;
}

LikePattern like_pattern(std::string_view pattern, char escape) {
  LikePattern made;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    const bool escaped = escape != '\0' && c == escape;
    if (escaped) {
      if (i + 1 == pattern.size()) return {{}, {}, "the pattern ends with its escape character"};
      c = pattern[++i];
      if (c != '%' && c != '_' && c != escape)
        return {{}, {}, "the pattern's escape character stands before neither % nor _"};
    }
    made.steps += c;
    made.kinds += !escaped && (c == '%' || c == '_') ? c : '=';
  }
  return made;
}

}  // namespace holdfast::sql
