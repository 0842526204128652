// zone_rule.hpp: the rule of a zone for all years to come, as POSIX writes it in TZ:
// "CET-1CEST,M3.5.0,M10.5.0/3". RFC 8536 has it at the end of a zone's file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::sql {

struct ZoneRule {
  struct Day {
    enum class Form : std::uint8_t { kWeekday, kWithoutLeapDay, kWithLeapDay };
    Form form = Form::kWeekday;
    unsigned month = 1, week = 1, weekday = 0;  // Week 5 is the last one; Sunday is 0.
    std::int64_t day = 0;                       // Of the year: from 1, or from 0 with leap days.
    std::int64_t time_ms = 0;                   // Of the wall clock before the change.
  };
  std::int64_t standard_ms = 0, summer_ms = 0;  // Distances to UTC, positive to the east.
  bool has_summer = false;
  Day begin, end;  // Of summer time.
};

// nullopt: it is no such rule.
std::optional<ZoneRule> zone_rule_of(std::string_view text);
// The changes of a year, the earlier one first: when, and the distance to UTC behind it.
std::array<std::pair<std::int64_t, std::int64_t>, 2> changes_of(const ZoneRule& rule,
                                                                std::int64_t year);

}  // namespace holdfast::sql
