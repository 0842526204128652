// zone.hpp: time zones: what the clocks on the walls of a place show at an instant, and back.
// docs/time_zones.md
//
// Instants are milliseconds since 1970 in UTC. A wall clock is the date and time that it shows, as
// milliseconds since 1970 of a clock without a zone.
//
// Threads  Any number. A zone is read once, and kept while the process lives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::sql {

// Times of one distance to UTC.
struct ZoneSpan {
  std::int64_t from, until;  // The first, and the first behind them.
  std::int64_t shift_ms;     // From an instant to its wall clock; of wall clocks, back.
  std::int64_t least_wall;   // Of instants: behind them no earlier wall clock is shown.
};

class Zone {
 public:
  // Of a name of the system's tz database, or a distance: "+05:30", "GMT-3:00". Null: it is UTC at
  // all times. Equal names have one zone.
  // Errors: kInvalidOption (there is no such zone; the text says what is allowed), kCorrupt.
  static Result<const Zone*> named(std::string_view name);
  // Of the bytes of a file of the tz database (RFC 8536).
  static Result<Zone> of_file(std::string name, std::string_view bytes);
  static Zone fixed(std::string name, std::int64_t offset_ms);

  const std::string& name() const { return name_; }
  std::int64_t wall_of(std::int64_t instant) const { return instant + span_at(instant).shift_ms; }
  // Of a wall clock that comes twice the first one. One that is missing is moved on by what is
  // missing.
  std::int64_t instant_of(std::int64_t wall) const { return wall + span_of_wall(wall).shift_ms; }
  // The latest wall clock before which none is shown from this instant on. It never goes back.
  std::int64_t settled_wall_of(std::int64_t instant) const {
    const auto span = span_at(instant);
    return std::min(instant + span.shift_ms, span.least_wall);
  }
  // Around an instant, or a wall clock, those with the same distance to UTC.
  ZoneSpan span_at(std::int64_t instant) const;
  ZoneSpan span_of_wall(std::int64_t wall) const;
  bool is_utc() const { return changes_.empty() && first_ms_ == 0; }

 private:
  struct Change {  // Of the distance to UTC.
    std::int64_t at, before_ms, after_ms;
    std::int64_t wall_until;  // Wall clocks below are before it.
    std::int64_t least_wall;  // None below is shown from it on.
  };
  Zone(std::string name, std::int64_t first_ms) : name_(std::move(name)), first_ms_(first_ms) {}
  void add(std::int64_t at, std::int64_t after_ms);
  void finish();

  std::string name_;
  std::int64_t first_ms_;  // Distance to UTC before the first change.
  std::vector<Change> changes_;
};

}  // namespace holdfast::sql
