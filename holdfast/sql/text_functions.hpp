// text_functions.hpp: what LIKE, UPPER, LOWER and DATE_FORMAT do, and their patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/sql/civil.hpp>
#include <holdfast/sql/text_parts.hpp>

namespace holdfast::sql {

std::string in_upper_case(std::string_view text);
std::string in_lower_case(std::string_view text);

// A pattern of DATE_FORMAT: yyyy MM dd HH mm ss SSS, texts in single quotes, and signs.
struct DatePart {
  unsigned digits = 0;  // Of a field; 0: a sign.
  TimeField field = TimeField::kYear;
  char sign = '\0';
};
// none: it has another field.
std::optional<std::vector<DatePart>> date_parts(std::string_view pattern);
std::string formatted_time(std::int64_t ms, std::string_view pattern);

// A pattern of LIKE, as is_like() takes it.
struct LikePattern {
  std::string steps, kinds;
  const char* wrong = nullptr;  // What is wrong with it.
};
// `escape`: 0: there is none.
LikePattern like_pattern(std::string_view pattern, char escape);

}  // namespace holdfast::sql
