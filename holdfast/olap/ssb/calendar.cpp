#include <holdfast/olap/ssb/calendar.hpp>

#include <array>
#include <string_view>

#include <holdfast/olap/ssb/text.hpp>
#include <holdfast/olap/ssb/words.hpp>

namespace holdfast::olap::ssb {
namespace {

constexpr bool leap(unsigned year) { return year % 4 == 0; }  // Of the years 1992 to 1998.
constexpr unsigned days_of(unsigned month, unsigned year) {
  constexpr unsigned kOf[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kOf[month - 1] + (month == 2 && leap(year) ? 1 : 0);
}

std::array<std::uint32_t, kDays> make_keys() {
  std::array<std::uint32_t, kDays> keys{};
  for (std::uint32_t i = 0; i < kDays; ++i)
    keys[i] = day_of(i).key();
  return keys;
}

std::string short_month(const Day& day) {
  return std::string(kMonths[day.month - 1].substr(0, 3)) + std::to_string(day.year);
}

}  // namespace

bool Day::holiday() const {
  if (day == 1) return month == 1;
  if (day == 24) return month == 12;
  return day == 20 && (month == 2 || month == 4 || month == 5 || (month >= 7 && month <= 11));
}

Day day_of(std::uint32_t index) {
  constexpr unsigned kWednesday = 3;  // 1992-01-01; Sunday is 0.
  Day day{1992, 1, 1, 1, (index + kWednesday) % 7 + 1, false};
  for (unsigned length; index >= (length = leap(day.year) ? 366 : 365); ++day.year)
    index -= length;
  day.in_year = index + 1;
  for (unsigned length; index >= (length = days_of(day.month, day.year)); ++day.month)
    index -= length;
  day.day = index + 1;
  day.last_in_month = day.day == days_of(day.month, day.year);
  return day;
}

std::uint32_t day_key(std::uint32_t index) {
  static const auto keys = make_keys();
  return keys[index];
}

DimensionRow date_row(std::uint32_t index) {
  const Day day = day_of(index);
  return {day.key(),
          {std::to_string(day.year), std::to_string(day.year * 100 + day.month), short_month(day),
           std::to_string(day.week())}};
}

void append_date(std::uint32_t index, std::string& text) {
  const Day day = day_of(index);
  const auto flag = [](bool value) { return value ? 1u : 0u; };
  add(text, day.key());
  text.append(kMonths[day.month - 1]).append(" ").append(std::to_string(day.day)).append(", ");
  add(text, day.year);
  add(text, kWeekdays[day.weekday - 1]);
  add(text, kMonths[day.month - 1]);
  add(text, day.year);
  add(text, day.year * 100 + day.month);
  add(text, short_month(day));
  for (const unsigned number : {day.weekday, day.day, day.in_year, day.month, day.week()})
    add(text, number);
  add(text, kSeasons[day.month - 1]);
  for (const bool value :
       {day.weekday == 7, day.last_in_month, day.holiday(), day.weekday >= 2 && day.weekday <= 6})
    add(text, flag(value));
  text += '\n';
}

}  // namespace holdfast::olap::ssb
