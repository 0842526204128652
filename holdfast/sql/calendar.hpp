// calendar.hpp: dates and timestamps as texts, years 1 to 9999, UTC. As numbers: civil.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/sql/civil.hpp>

namespace holdfast::sql {

void append_timestamp(std::int64_t ms, std::string& text);  // 2026-11-23 05:30:00.000
void append_date(std::int64_t days, std::string& text);     // 2026-11-23
// "2026-11-23", "2026-11-23 05:30[:00[.123]]", with T for the blank. More than three digits of a
// second are cut off. nullopt: anything else, or a day that does not exist.
std::optional<std::int64_t> timestamp_of(std::string_view text);
std::optional<std::int64_t> date_days_of(std::string_view text);

}  // namespace holdfast::sql
