#include "calendar.hpp"

#include <charconv>

namespace holdfast::sql {
namespace {

// Exactly `count` digits at the head of `text`, which it takes off.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_char(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || *year < 1 || !take_char(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || *month < 1 || *month > 12 || !take_char(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || *day < 1) return std::nullopt;
  const CivilDate date{*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day)};
  const std::int64_t days = days_of(date);
  if (date_of(days).day != date.day) return std::nullopt;  // 31 April.
  return days;
}

std::optional<std::int64_t> take_time(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::int64_t ms = (*hour * 60 + *minute) * 60'000;
  if (!take_char(text, ':')) return ms;
  const auto second = take_digits(text, 2);
  if (!second || *second > 59) return std::nullopt;
  ms += *second * 1000;
  if (!take_char(text, '.')) return ms;
  if (text.empty()) return std::nullopt;
  std::int64_t unit = 100;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    ms += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return ms;
}

void append_padded(std::int64_t number, std::size_t width, std::string& text) {
  char signs[kMostSigns];
  text.append(signs, write_padded(number, width, signs));
}

}  // namespace

void append_date(std::int64_t days, std::string& text) {
  const CivilDate date = date_of(days);
  append_padded(date.year, 4, text);
  text += '-';
  append_padded(date.month, 2, text);
  text += '-';
  append_padded(date.day, 2, text);
}

void append_timestamp(std::int64_t ms, std::string& text) {
  const std::int64_t days = floor_divide(ms, kDayMs);
  const std::int64_t rest = ms - days * kDayMs;
  append_date(days, text);
  text += ' ';
  append_padded(rest / 3'600'000, 2, text);
  text += ':';
  append_padded(rest / 60'000 % 60, 2, text);
  text += ':';
  append_padded(rest / 1000 % 60, 2, text);
  text += '.';
  append_padded(rest % 1000, 3, text);
}

std::optional<std::int64_t> timestamp_of(std::string_view text) {
  const auto days = take_date(text);
  if (!days) return std::nullopt;
  if (text.empty()) return *days * kDayMs;
  if (!take_char(text, ' ') && !take_char(text, 'T')) return std::nullopt;
  const auto time = take_time(text);
  if (!time || !text.empty()) return std::nullopt;
  return *days * kDayMs + *time;
}

std::optional<std::int64_t> date_days_of(std::string_view text) {
  const auto days = take_date(text);
  return days && text.empty() ? days : std::nullopt;
}

}  // namespace holdfast::sql
