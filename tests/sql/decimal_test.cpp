// Exact numbers: answers worked out by hand and by Python's decimal.
#include <cstdlib>

#include <gtest/gtest.h>

#include <holdfast/base/random.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/cast.hpp>
#include <holdfast/sql/decimal.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::sql {
namespace {

const Int128 kLargest = power_of_ten(38) - 1;

TEST(Decimal, TextAndBack) {
  EXPECT_EQ(decimal_text(0, 0), "0");
  EXPECT_EQ(decimal_text(5, 2), "0.05");
  EXPECT_EQ(decimal_text(-150, 2), "-1.50");
  EXPECT_EQ(decimal_text(kLargest, 38), "0." + std::string(38, '9'));
  EXPECT_EQ(*decimal_of("-1.505", 2), -151);
  EXPECT_EQ(*decimal_of("1e3", 0), 1000);
  EXPECT_EQ(*decimal_of(std::string(38, '9'), 0), kLargest);
  for (const char* none : {"", "-", ".", "1.2.3", "1e", "1e+-3", "12x", "e5"})
    EXPECT_FALSE(decimal_of(none, 2)) << none;
  EXPECT_FALSE(decimal_of(std::string(39, '9'), 0));
  EXPECT_FALSE(decimal_of("9." + std::string(38, '9'), 37)) << "rounds up to 10, 39 digits";
}

// The quick way and the one through digits meet at 2^53 and 10^22.
TEST(Decimal, AsDoubleIsWhatItsDigitsAre) {
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = 1 + random.below(62);
    auto number = static_cast<std::int64_t>(random.next() >> (64 - bits));
    if (i % 2 != 0) number = -number;
    const auto scale = static_cast<std::uint32_t>(random.below(39));
    const auto text = decimal_text(number, scale);
    EXPECT_EQ(real_of(number, scale), std::strtod(text.c_str(), nullptr)) << text;
  }
  EXPECT_EQ(real_of((Int128{1} << 53) + 1, 0), 9007199254740992.0);
  EXPECT_EQ(real_of(kLargest, 0), 1e38);
  EXPECT_EQ(real_of(1, 38), 1e-38);
}

TEST(Decimal, RoundsHalfAwayFromZero) {
  EXPECT_EQ(*rescaled(25, 1, 0), 3);
  EXPECT_EQ(*rescaled(-25, 1, 0), -3);
  EXPECT_EQ(*rescaled(24, 1, 0), 2);
  EXPECT_EQ(*divided(1, 3, 6), 333333);
  EXPECT_EQ(*divided(-2, 3, 6), -666667);
}

TEST(Decimal, NeverWrapsSilently) {
  EXPECT_FALSE(added(kLargest, 1));
  EXPECT_FALSE(multiplied(kLargest, 10, 0));
  EXPECT_EQ(*multiplied(kLargest, 10, 1), kLargest);
  EXPECT_EQ(*multiplied(kLargest, -kLargest, 38), -kLargest + 1);
  EXPECT_FALSE(rescaled(kLargest, 0, 1));
  EXPECT_FALSE(divided(1, 0, 0));
  EXPECT_EQ(compared(kLargest, 0, 1, 38), 1);
  EXPECT_EQ(compared(1, 38, -kLargest, 0), 1);
  EXPECT_EQ(compared(150, 2, 15, 1), 0);
}

TEST(Calendar, DaysThatExistComeBackAndOthersDoNot) {
  for (const char* day : {"0001-01-01 00:00:00.000", "1969-12-31 23:59:59.999",
                          "2000-02-29 12:00:00.000", "9999-12-31 23:59:59.999"})
    EXPECT_EQ(text_of(Value::of(*timestamp_of(day)), kTimestampType), day);
  EXPECT_EQ(*timestamp_of("1970-01-01T00:00:01"), 1000);
  EXPECT_EQ(*timestamp_of("0001-01-01"), kMinTimestampMs);
  EXPECT_EQ(*timestamp_of("9999-12-31 23:59:59.999999"), kMaxTimestampMs);
  for (const char* none :
       {"1900-02-29", "2026-13-01", "2026-04-31", "2026-1-01", "2026-01-01 24:00",
        "2026-01-01 00:00:00.", "0000-01-01", "", "2026-01-01 00:00:00x"})
    EXPECT_FALSE(timestamp_of(none)) << none;
}

}  // namespace
}  // namespace holdfast::sql
