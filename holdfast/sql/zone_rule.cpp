#include "zone_rule.hpp"

#include <algorithm>

#include <holdfast/sql/civil.hpp>

namespace holdfast::sql {
namespace {

class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  bool accept(char wanted) {
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(1);
    return true;
  }
  // CET, <+0530>
  bool name() {
    if (accept('<')) {
      const auto end = text_.find('>');
      if (end == std::string_view::npos) return false;
      text_.remove_prefix(end + 1);
      return true;
    }
    std::size_t letters = 0;
    while (letters < text_.size() && is_letter(text_[letters]))
      ++letters;
    text_.remove_prefix(letters);
    return letters >= 3;
  }
  std::optional<std::int64_t> number(std::int64_t most) {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < text_.size() && digits < 3 && is_digit(text_[digits]); ++digits)
      value = value * 10 + (text_[digits] - '0');
    text_.remove_prefix(digits);
    return digits == 0 || value > most ? std::nullopt : std::optional(value);
  }
  // [+-]hh[:mm[:ss]]
  std::optional<std::int64_t> time() {
    const bool negative = accept('-');
    if (!negative) accept('+');
    std::int64_t ms = 0, unit = 3'600'000;
    for (int part = 0; part < 3; ++part, unit /= 60) {
      if (part != 0 && !accept(':')) break;
      const auto value = number(part == 0 ? 167 : 59);
      if (!value) return std::nullopt;
      ms += *value * unit;
    }
    return negative ? -ms : ms;
  }
  // ,M3.5.0/2 or ,J60 or ,59
  std::optional<ZoneRule::Day> day() {
    using Form = ZoneRule::Day::Form;
    ZoneRule::Day day;
    if (!accept(',')) return std::nullopt;
    if (accept('M')) {
      const auto month = number(12);
      const auto week = month && accept('.') ? number(5) : std::nullopt;
      const auto weekday = week && accept('.') ? number(6) : std::nullopt;
      if (!weekday || *month < 1 || *week < 1) return std::nullopt;
      day.month = static_cast<unsigned>(*month);
      day.week = static_cast<unsigned>(*week);
      day.weekday = static_cast<unsigned>(*weekday);
    } else {
      day.form = accept('J') ? Form::kWithoutLeapDay : Form::kWithLeapDay;
      const auto number_of_day = number(365);
      if (!number_of_day || (day.form == Form::kWithoutLeapDay && *number_of_day < 1))
        return std::nullopt;
      day.day = *number_of_day;
    }
    const auto ms = accept('/') ? time() : std::optional<std::int64_t>(2 * 3'600'000);
    if (!ms) return std::nullopt;
    day.time_ms = *ms;
    return day;
  }

 private:
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::string_view text_;
};

// The wall clock of the change, before it.
std::int64_t wall_of_day(const ZoneRule::Day& day, std::int64_t year) {
  using Form = ZoneRule::Day::Form;
  const auto first_of_year = days_of({year, 1, 1});
  if (day.form == Form::kWithLeapDay) return (first_of_year + day.day) * kDayMs + day.time_ms;
  if (day.form == Form::kWithoutLeapDay) {
    const bool leap = days_of({year + 1, 1, 1}) - first_of_year == 366;
    constexpr std::int64_t kLastOfFebruary = 59;
    const auto behind = day.day - 1 + (leap && day.day > kLastOfFebruary ? 1 : 0);
    return (first_of_year + behind) * kDayMs + day.time_ms;
  }
  const auto first = days_of({year, day.month, 1});
  const auto next = day.month == 12 ? days_of({year + 1, 1, 1}) : days_of({year, day.month + 1, 1});
  const auto weekday = (first + 4) - floor_divide(first + 4, 7) * 7;  // Sunday is 0.
  auto days = first + (day.weekday + 7 - weekday) % 7 + 7 * (std::int64_t{day.week} - 1);
  if (days >= next) days -= 7;
  return days * kDayMs + day.time_ms;
}

}  // namespace

std::optional<ZoneRule> zone_rule_of(std::string_view text) {
  RuleReader reader(text);
  ZoneRule rule;
  // To the west is positive there.
  const auto standard = reader.name() ? reader.time() : std::nullopt;
  if (!standard) return std::nullopt;
  rule.standard_ms = -*standard;
  if (reader.at_end()) return rule;
  rule.has_summer = true;
  rule.summer_ms = rule.standard_ms + 3'600'000;
  if (!reader.name()) return std::nullopt;
  const auto begins = [&](char sign) {
    RuleReader ahead = reader;
    return ahead.accept(sign);
  };
  if (!begins(',')) {
    const auto summer = reader.time();
    if (!summer) return std::nullopt;
    rule.summer_ms = -*summer;
  }
  const auto begin = reader.day();
  const auto end = begin ? reader.day() : std::nullopt;
  if (!end || !reader.at_end()) return std::nullopt;
  rule.begin = *begin;
  rule.end = *end;
  return rule;
}

std::array<std::pair<std::int64_t, std::int64_t>, 2> changes_of(const ZoneRule& rule,
                                                                std::int64_t year) {
  std::array<std::pair<std::int64_t, std::int64_t>, 2> changes = {
      {{wall_of_day(rule.begin, year) - rule.standard_ms, rule.summer_ms},
       {wall_of_day(rule.end, year) - rule.summer_ms, rule.standard_ms}}};
  std::sort(changes.begin(), changes.end());
  return changes;
}

}  // namespace holdfast::sql
