// calendar.hpp: dates and timestamps as numbers and as texts, years 1 to 9999, UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sql {

inline constexpr std::int64_t kDayMs = 86'400'000;
inline constexpr std::int64_t kMinTimestampMs = -62'135'596'800'000;  // 0001-01-01 00:00:00.000
inline constexpr std::int64_t kMaxTimestampMs = 253'402'300'799'999;  // 9999-12-31 23:59:59.999

// Whether state may hold such a time, or another number: beyond any calendar by far, and so far
// from the ends of 64 bits that a sum of two does not overflow.
constexpr bool is_summable(std::int64_t number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  return -kMost <= number && number <= kMost;
}

struct CivilDate {
  std::int64_t year = 1970;
  unsigned month = 1, day = 1;
};
std::int64_t days_of(CivilDate date);  // Since 1970-01-01.
CivilDate date_of(std::int64_t days);

// Toward minus infinity; `divisor` is positive.
constexpr std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

std::string timestamp_text(std::int64_t ms);  // 2026-11-23 05:30:00.000
std::string date_text(std::int64_t days);     // 2026-11-23
// "2026-11-23", "2026-11-23 05:30[:00[.123]]", with T for the blank. More than three digits of a
// second are cut off. nullopt: anything else, or a day that does not exist.
std::optional<std::int64_t> timestamp_of(std::string_view text);
std::optional<std::int64_t> date_days_of(std::string_view text);

}  // namespace holdfast::sql
