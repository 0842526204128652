#include <holdfast/base/format.hpp>

#include <gtest/gtest.h>

#include <holdfast/base/units.hpp>

namespace holdfast {
namespace {

TEST(Format, BytesKeepThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(64 * MiB), "64 MiB");
  EXPECT_EQ(format_bytes(3 * GiB + 400 * MiB), "3.39 GiB");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16 EiB");
}

TEST(Format, CountsRatesAndTimes) {
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(1234), "1.23 k");
  EXPECT_EQ(format_count(12'345'678), "12.3 M");
  EXPECT_EQ(format_rate(1'200'000), "1.20 M/s");
  EXPECT_EQ(format_rate(0), "0 /s");
  EXPECT_EQ(format_nanoseconds(104), "104 ns");
  EXPECT_EQ(format_nanoseconds(4'300), "4.30 µs");
  EXPECT_EQ(format_nanoseconds(123'456'789'000.0), "123 s");
}

TEST(Format, ParsesWhatPeopleType) {
  EXPECT_EQ(parse_bytes("4096", "size").value(), 4096u);
  EXPECT_EQ(parse_bytes("64M", "size").value(), 64 * MiB);
  EXPECT_EQ(parse_bytes("1.5GiB", "size").value(), 1536 * MiB);
  EXPECT_EQ(parse_bytes("2 kB", "size").value(), 2048u);
  EXPECT_EQ(parse_bytes("7B", "size").value(), 7u);
  EXPECT_EQ(parse_bytes("9007199254740993", "size").value(), 9007199254740993u);  // Above 2^53.
  EXPECT_EQ(parse_count("10M", "records").value(), 10'000'000u);
  EXPECT_EQ(parse_count("2.5k", "records").value(), 2'500u);
  EXPECT_EQ(parse_count("0", "records").value(), 0u);
}

TEST(Format, RefusesWhatIsNoNumberAndNamesIt) {
  for (const char* text : {"", "M", "-1", "1.5", "64X", "64MM", "1e3", "nan", "inf", "99999999999T",
                           "18446744073709551616", "0x10", "1 2"}) {
    const auto result = parse_bytes(text, "--size");
    ASSERT_EQ(result.code(), Errc::kInvalidOption) << text;
    EXPECT_EQ(result.error().detail.find("--size=\"" + std::string(text) + "\""), 0u)
        << result.error().detail;
  }
  EXPECT_EQ(parse_count("10MiB", "records").code(), Errc::kInvalidOption);
  EXPECT_EQ(parse_count("10B", "records").code(), Errc::kInvalidOption);
}

TEST(Format, KnowsValidUtf8) {
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8("plain \n"));
  EXPECT_TRUE(is_valid_utf8("ü € 𝄞 \xf4\x8f\xbf\xbf"));
  for (const char* edge :
       {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80"})
    EXPECT_TRUE(is_valid_utf8(edge)) << escape(edge);
  EXPECT_TRUE(is_valid_utf8(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_valid_utf8("\x80"));              // Continuation without a lead.
  EXPECT_FALSE(is_valid_utf8("\xc3"));              // Cut off.
  EXPECT_FALSE(is_valid_utf8("\xc0\xaf"));          // Overlong.
  EXPECT_FALSE(is_valid_utf8("\xe0\x9f\xbf"));      // Overlong.
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));      // A surrogate.
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));  // Beyond U+10FFFF.
  EXPECT_FALSE(is_valid_utf8("\xf0\x9d\x84"));      // Cut off.
  EXPECT_FALSE(is_valid_utf8("a\xc3z"));            // Cut off by another character.
  EXPECT_FALSE(is_valid_utf8("\xc1\xbf"));          // Overlong.
  EXPECT_FALSE(is_valid_utf8("\xf0\x8f\xbf\xbf"));  // Overlong.
  EXPECT_FALSE(is_valid_utf8("\xf5\x80\x80\x80"));  // Beyond U+10FFFF.
  EXPECT_FALSE(is_valid_utf8("\xff"));
}

TEST(Format, EscapesWhatATerminalWouldAct) {
  EXPECT_EQ(escape("key"), "key");
  EXPECT_EQ(escape(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape("\x1b[31m\n\\"), "\\x1b[31m\\n\\\\");
  EXPECT_EQ(escape("ü\xff"), "ü\\xff");
  EXPECT_EQ(escape("abcdef", 3), "abc…");
  EXPECT_EQ(escape("aü", 2), "a…");  // Never half of a character.
}

TEST(Format, PadsByWhatIsSeen) {
  EXPECT_EQ(pad_left("4 µs", 6), "  4 µs");
  EXPECT_EQ(pad_right("4 µs", 6), "4 µs  ");
  EXPECT_EQ(pad_right("toolong", 3), "toolong");
}

}  // namespace
}  // namespace holdfast
