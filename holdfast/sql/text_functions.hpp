// text_functions.hpp: what UPPER, LOWER, DATE_FORMAT and SPLIT_INDEX do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sql {

// Letters of ASCII, Latin-1, Greek and Cyrillic in the other case, where that is one letter; all
// else as it is. `text` is UTF-8.
std::string in_upper_case(std::string_view text);
std::string in_lower_case(std::string_view text);

// Whether a pattern is made of yyyy MM dd HH mm ss SSS, texts in single quotes, and signs.
bool is_date_pattern(std::string_view pattern);
std::string formatted_time(std::int64_t ms, std::string_view pattern);

// The part between separators, counted from 0; none: there are fewer. `separator` is not empty.
std::optional<std::string_view> part_of(std::string_view text, std::string_view separator,
                                        std::int64_t number);

}  // namespace holdfast::sql
