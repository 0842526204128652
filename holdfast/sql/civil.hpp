// civil.hpp: dates of the calendar and fields of a time, as numbers. Years 1 to 9999, UTC.
//
// Compiled queries include it, too (stream/compile/runtime): it includes nothing of the project.
//
// Threads  Functions of values.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Toward minus infinity; `divisor` is positive.
constexpr std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

struct CivilDate {
  std::int64_t year = 1970;
  unsigned month = 1, day = 1;
};

// Since 1970-01-01. Days of a year that begins in March, in eras of 400 years.
constexpr std::int64_t days_of(CivilDate date) {
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t era = floor_divide(year, 400);
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t month = (date.month + 9) % 12;
  const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719'468;
}
constexpr CivilDate date_of(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = floor_divide(days, 146'097);
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  const unsigned civil_month = static_cast<unsigned>(month < 10 ? month + 3 : month - 9);
  return {year_of_era + era * 400 + (civil_month <= 2 ? 1 : 0), civil_month,
          static_cast<unsigned>(day_of_year - (153 * month + 2) / 5 + 1)};
}

// What EXTRACT takes out of a time.
enum class TimeField : std::uint8_t {
  kYear,
  kQuarter,
  kMonth,
  kWeek,  // Of ISO 8601: the first has the year's first Thursday.
  kDay,
  kDayOfYear,
  kDayOfWeek,  // Sunday is 1.
  kHour,
  kMinute,
  kSecond,
  kMillisecond,
  kEpoch,  // Seconds since 1970.
};

constexpr std::int64_t week_of(std::int64_t days) {
  const auto weekday = (days + 3) - floor_divide(days + 3, 7) * 7;  // Monday is 0.
  const auto thursday = days - weekday + 3;
  return (thursday - days_of({date_of(thursday).year, 1, 1})) / 7 + 1;
}

// `ms` since 1970.
constexpr std::int64_t extracted(TimeField field, std::int64_t ms) {
  const auto days = floor_divide(ms, kDayMs);
  const auto rest = ms - days * kDayMs;
  switch (field) {
    case TimeField::kYear: return date_of(days).year;
    case TimeField::kQuarter: return (date_of(days).month + 2) / 3;
    case TimeField::kMonth: return date_of(days).month;
    case TimeField::kWeek: return week_of(days);
    case TimeField::kDay: return date_of(days).day;
    case TimeField::kDayOfYear: return days - days_of({date_of(days).year, 1, 1}) + 1;
    case TimeField::kDayOfWeek: return (days + 4) - floor_divide(days + 4, 7) * 7 + 1;
    case TimeField::kHour: return rest / 3'600'000;
    case TimeField::kMinute: return rest / 60'000 % 60;
    case TimeField::kSecond: return rest / 1000 % 60;
    case TimeField::kMillisecond: return rest % 1000;
    default: return floor_divide(ms, 1000);
  }
}

// A number with zeros in front, at least so many signs of them, and no more than kMostSigns in all.
// Returns the end.
inline constexpr std::size_t kMostSigns = 24;
inline char* write_padded(std::int64_t number, std::size_t width, char* out) {
  char digits[kMostSigns];
  char* first = digits + kMostSigns;
  auto rest =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  do {
    *--first = static_cast<char>('0' + rest % 10);
  } while ((rest /= 10) != 0);
  if (number < 0) *out++ = '-';
  const auto size = static_cast<std::size_t>(digits + kMostSigns - first) + (number < 0 ? 1 : 0);
  for (auto i = size; i < width; ++i)
    *out++ = '0';
  while (first != digits + kMostSigns)
    *out++ = *first++;
  return out;
}

}  // namespace holdfast::sql
