// calendar.hpp: the days of the date table, 1992-01-01 to 1998-12-31.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/olap/star.hpp>

namespace holdfast::olap::ssb {

inline constexpr std::uint32_t kDays = 2'557;
inline constexpr std::uint32_t kOrderDays = 2'406;  // Orders come on the first of them only.

struct Day {
  unsigned year, month, day;  // 1992.., 1..12, 1..31.
  unsigned in_year;           // 1..366.
  unsigned weekday;           // 1: Sunday.
  bool last_in_month;

  std::uint32_t key() const { return year * 10'000 + month * 100 + day; }
  unsigned week() const { return in_year / 7 + 1; }
  bool holiday() const;
};

Day day_of(std::uint32_t index);             // 0: 1992-01-01. index < kDays.
std::uint32_t day_key(std::uint32_t index);  // The same day's key, from a table.
DimensionRow date_row(std::uint32_t index);
void append_date(std::uint32_t index, std::string& text);  // A line of date.tbl.

}  // namespace holdfast::olap::ssb
