// zone.hpp: what clocks show, and back. All zones against Python: tests/stream/time_zones_test.py.
#include <gtest/gtest.h>

#include <string>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/value.hpp>
#include <holdfast/sql/zone.hpp>
#include <holdfast/sql/zone_rule.hpp>

namespace holdfast::sql {
namespace {

std::int64_t ms(std::string_view text) { return timestamp_of(text).value(); }

// A file of the tz database: one type before all changes, then those of `rule`.
std::string zone_file(const std::string& rule, unsigned char leaps = 0) {
  const std::string head = std::string("TZif2") + std::string(15, '\0');
  const auto numbers = [&](char leap_seconds, char types, char letters) {
    std::string bytes(24, '\0');
    bytes[11] = leap_seconds;
    bytes[19] = types;
    bytes[23] = letters;
    return bytes;
  };
  const std::string type = std::string("\0\0\x0e\x10\0\0", 6);  // An hour to the east.
  const std::string body = type + std::string("CET\0", 4);
  const std::string leap(12, '\0');
  return head + numbers(0, 1, 4) + body + head + numbers(static_cast<char>(leaps), 1, 4) + body +
         (leaps != 0 ? leap : "") + "\n" + rule + "\n";
}

Zone berlin() { return Zone::of_file("Berlin", zone_file("CET-1CEST,M3.5.0,M10.5.0/3")).value(); }

TEST(Zone, ClocksOfSummerAndWinter) {
  const auto zone = berlin();
  EXPECT_EQ(zone.wall_of(ms("2024-01-01 00:00")), ms("2024-01-01 01:00"));
  EXPECT_EQ(zone.wall_of(ms("2024-07-01 00:00")), ms("2024-07-01 02:00"));
  EXPECT_EQ(zone.wall_of(ms("2024-03-31 00:59:59.999")), ms("2024-03-31 01:59:59.999"));
  EXPECT_EQ(zone.wall_of(ms("2024-03-31 01:00")), ms("2024-03-31 03:00"));
  EXPECT_EQ(zone.wall_of(ms("9999-07-01 00:00")), ms("9999-07-01 02:00"));
}

TEST(Zone, AMissingWallClockIsMovedOnByWhatIsMissing) {
  const auto zone = berlin();
  EXPECT_EQ(zone.instant_of(ms("2024-03-31 01:59:59.999")), ms("2024-03-31 00:59:59.999"));
  EXPECT_EQ(zone.instant_of(ms("2024-03-31 02:00")), ms("2024-03-31 01:00"));
  EXPECT_EQ(zone.instant_of(ms("2024-03-31 02:30")), ms("2024-03-31 01:30"));
  EXPECT_EQ(zone.instant_of(ms("2024-03-31 03:00")), ms("2024-03-31 01:00"));
}

TEST(Zone, AWallClockThatComesTwiceIsTheFirst) {
  const auto zone = berlin();
  EXPECT_EQ(zone.instant_of(ms("2024-10-27 01:59:59.999")), ms("2024-10-26 23:59:59.999"));
  EXPECT_EQ(zone.instant_of(ms("2024-10-27 02:00")), ms("2024-10-27 00:00"));
  EXPECT_EQ(zone.instant_of(ms("2024-10-27 02:59:59.999")), ms("2024-10-27 00:59:59.999"));
  EXPECT_EQ(zone.instant_of(ms("2024-10-27 03:00")), ms("2024-10-27 02:00"));
}

TEST(Zone, AWallClockIsSettledWhenItDoesNotComeAgain) {
  const auto zone = berlin();
  EXPECT_EQ(zone.settled_wall_of(ms("2024-10-26 23:59")), ms("2024-10-27 01:59"));
  EXPECT_EQ(zone.settled_wall_of(ms("2024-10-27 00:00")), ms("2024-10-27 02:00"));
  EXPECT_EQ(zone.settled_wall_of(ms("2024-10-27 00:59:59.999")), ms("2024-10-27 02:00"));
  EXPECT_EQ(zone.settled_wall_of(ms("2024-10-27 01:00")), ms("2024-10-27 02:00"));
  EXPECT_EQ(zone.settled_wall_of(ms("2024-10-27 01:30")), ms("2024-10-27 02:30"));
  EXPECT_EQ(zone.settled_wall_of(ms("2024-03-31 00:59")), ms("2024-03-31 01:59"));
  EXPECT_EQ(zone.settled_wall_of(ms("2024-03-31 01:00")), ms("2024-03-31 03:00"));
  auto before = zone.settled_wall_of(ms("2024-01-01"));
  for (auto at = ms("2024-01-01"); at < ms("2025-01-01"); at += 1'000'000) {
    const auto settled = zone.settled_wall_of(at);
    EXPECT_GE(settled, before);
    EXPECT_LE(settled, zone.wall_of(at));
    before = settled;
  }
}

TEST(Zone, RulesOfOtherForms) {
  const auto shown = [](const std::string& rule, std::string_view instant) {
    return text_of(Value::of(Zone::of_file("z", zone_file(rule)).value().wall_of(ms(instant))),
                   kTimestampType);
  };
  // A name in brackets, half an hour, the south, hours before and behind the day.
  EXPECT_EQ(shown("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2024-01-01"), "2024-01-01 11:00:00.000");
  EXPECT_EQ(shown("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2024-07-01"), "2024-07-01 10:30:00.000");
  EXPECT_EQ(shown("IST-1GMT0,M10.5.0,M3.5.0/1", "2024-01-01"), "2024-01-01 00:00:00.000");
  EXPECT_EQ(shown("IST-1GMT0,M10.5.0,M3.5.0/1", "2024-07-01"), "2024-07-01 01:00:00.000");
  EXPECT_EQ(shown("IST-2IDT,M3.4.4/26,M10.5.0", "2024-03-28 23:59:59"), "2024-03-29 01:59:59.000");
  EXPECT_EQ(shown("IST-2IDT,M3.4.4/26,M10.5.0", "2024-03-29 00:00"), "2024-03-29 03:00:00.000");
  EXPECT_EQ(shown("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31 00:59"),
            "2024-03-30 22:59:00.000");
  EXPECT_EQ(shown("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31 01:00"),
            "2024-03-31 00:00:00.000");
  // Days of the year, without and with that of a leap year.
  EXPECT_EQ(shown("ABC0DEF,J60/0,J300/0", "2024-02-29 23:59"), "2024-02-29 23:59:00.000");
  EXPECT_EQ(shown("ABC0DEF,J60/0,J300/0", "2024-03-01 00:00"), "2024-03-01 01:00:00.000");
  EXPECT_EQ(shown("ABC0DEF,59/0,300/0", "2024-02-29 00:00"), "2024-02-29 01:00:00.000");
}

TEST(Zone, NoRules) {
  for (const char* text :
       {"", "CET", "C-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1,M3.5.0,M10.5.0x",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J9", "<+01-1", "CET-200"})
    EXPECT_FALSE(zone_rule_of(text)) << text;
}

TEST(Zone, ADamagedFileIsRefused) {
  const auto sound = zone_file("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_TRUE(Zone::of_file("z", sound));
  for (std::size_t length = 0; length < sound.size(); ++length)
    EXPECT_FALSE(Zone::of_file("z", sound.substr(0, length))) << length;
  EXPECT_FALSE(Zone::of_file("z", zone_file("nonsense,")));
  EXPECT_FALSE(Zone::of_file("z", zone_file("CET-1", 1)));  // Leap seconds.
}

TEST(Zone, Names) {
  const auto shown = [](std::string_view name) -> std::string {
    const auto zone = Zone::named(name);
    if (!zone) return "error";
    return *zone == nullptr
               ? "UTC"
               : (*zone)->name() + " " + text_of(Value::of((*zone)->wall_of(0)), kTimestampType);
  };
  EXPECT_EQ(shown("UTC"), "UTC");
  EXPECT_EQ(shown("+00:00"), "UTC");
  EXPECT_EQ(shown("+05:30"), "+05:30 1970-01-01 05:30:00.000");
  EXPECT_EQ(shown("GMT+5:30"), "+05:30 1970-01-01 05:30:00.000");
  EXPECT_EQ(shown("UTC-3"), "-03:00 1969-12-31 21:00:00.000");
  EXPECT_EQ(Zone::named("+05:30").value(), Zone::named("GMT+05:30").value());
  for (const char* name :
       {"", "+", "+5:3", "+19:00", "+18:01", "+5:60", "+005", "5", "Nowhere/At", "../zoneinfo/UTC",
        "/etc/localtime", "Europe", "tzdata.zi", "europe/berlin "})
    EXPECT_EQ(shown(name), "error") << name;
}

}  // namespace
}  // namespace holdfast::sql
