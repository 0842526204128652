// Texts that compiled code makes: they stay until the rows that point to them have gone out, and
// then their memory is used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/sql/text_functions.hpp>
#include <holdfast/stream/compile/runtime/texts.hpp>

#include "no_host.hpp"

namespace holdfast::query {
namespace {

constexpr std::uint32_t kTooLong = 5;

// Reads the texts of the rows when they go out, and counts.
class ReadingHost final : public NoHost {
 public:
  bool write(const Change*, const std::byte* records, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      Text text;
      std::memcpy(&text, records + i * RecordOf<Text>::kBytes + RecordOf<Text>::kOffsets[0],
                  sizeof text);
      rows.emplace_back(view_of(text));
    }
    ++calls;
    return true;
  }
  bool evaluate(std::uint32_t, const Slot*, Slot& out) override {
    out.text = text_of(*interpreted_texts.emplace_back(std::make_unique<std::string>(60, 'i')));
    out.null = false;
    return true;
  }
  void forget_texts() override { interpreted_texts.clear(); }
  void fail(std::uint32_t failure) override { failures.push_back(failure); }

  std::vector<std::string> rows;
  std::vector<std::unique_ptr<std::string>> interpreted_texts;
  std::vector<std::uint32_t> failures;
  std::size_t calls = 0;
};

std::string shown(const Maybe<Text>& text) {
  return text.known ? std::string(view_of(text.value)) : "NULL";
}

TEST(RuntimeTexts, AreReadBeforeTheyGo) {
  ReadingHost host;
  Output output;
  query::Run run{host, output};
  constexpr std::int64_t kRows = 100'000;
  for (std::int64_t i = 0; i < kRows; ++i) {
    write<Text>(run, Change::kInsert, number_text(run, some(i * 7919)));
    run.forget_texts();
  }
  run.flush();
  ASSERT_EQ(host.rows.size(), kRows);
  for (std::int64_t i = 0; i < kRows; ++i)
    ASSERT_EQ(host.rows[static_cast<std::size_t>(i)], std::to_string(i * 7919));
  EXPECT_LT(host.calls, kRows / 100);  // Rows go out together.
}

TEST(RuntimeTexts, OfTheInterpreterGoWithThem) {
  ReadingHost host;
  Output output;
  query::Run run{host, output};
  std::size_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    write<Text>(run, Change::kInsert, interpreted<Text>(run, 0));
    most = std::max(most, host.interpreted_texts.size());
    run.forget_texts();
  }
  EXPECT_LT(most, 1000u);
  EXPECT_GT(most, 10u);
  EXPECT_EQ(host.rows.front(), std::string(60, 'i'));
}

TEST(RuntimeTexts, ThatAreTooLongFail) {
  ReadingHost host;
  Output output;
  query::Run run{host, output};
  const auto text = some(Text{"abc", 3});
  EXPECT_EQ(shown(concatenated<6>(run, kTooLong, text, text)), "abcabc");
  EXPECT_FALSE(run.failed);
  EXPECT_EQ(shown(concatenated<5>(run, kTooLong, text, text)), "NULL");
  EXPECT_TRUE(run.failed);
  EXPECT_EQ(host.failures, std::vector{kTooLong});
}

TEST(RuntimeTexts, OfNullAreNull) {
  ReadingHost host;
  Output output;
  query::Run run{host, output};
  const Maybe<Text> null, text = some(Text{"a b", 3});
  const Maybe<std::int64_t> no_number, one = some<std::int64_t>(1);
  EXPECT_FALSE(trimmed(null).known || in_case<true>(run, null).known || characters(null).known);
  EXPECT_FALSE(substring(null, one).known || substring(text, no_number).known);
  EXPECT_FALSE(substring(text, one, no_number).known || number_text(run, no_number).known);
  EXPECT_FALSE(split_index(null, text, one).known || split_index(text, null, one).known);
  EXPECT_FALSE(split_index(text, some(Text{"", 0}), no_number).known);
  EXPECT_FALSE(concatenated<9>(run, kTooLong, null, text).known);
  EXPECT_FALSE(concatenated<9>(run, kTooLong, text, null).known);
  EXPECT_FALSE(like(null, some(Text{"a", 1}), some(Text{"=", 1})).known);
  EXPECT_FALSE(date_format<DatePart::kYear>(run, no_number).known);
  EXPECT_FALSE(extract<TimeField::kWeek>(no_number).known);
  EXPECT_FALSE(run.failed);
}

TEST(RuntimeTexts, OfTimesHaveAllDigits) {
  ReadingHost host;
  Output output;
  query::Run run{host, output};
  const auto text = [&](std::int64_t ms) {
    return shown(date_format<DatePart::kYear, '-', DatePart::kMonth, '-', DatePart::kDay, 'T',
                             DatePart::kHour, ':', DatePart::kMinute, ':', DatePart::kSecond, '.',
                             DatePart::kMillisecond>(run, some(ms)));
  };
  EXPECT_EQ(text(0), "1970-01-01T00:00:00.000");
  EXPECT_EQ(text(-1), "1969-12-31T23:59:59.999");
  EXPECT_EQ(text(sql::kMinTimestampMs), "0001-01-01T00:00:00.000");
  EXPECT_EQ(text(sql::kMaxTimestampMs), "9999-12-31T23:59:59.999");
  EXPECT_EQ(shown(date_format<>(run, some<std::int64_t>(5))), "");
  // They had four digits of the year. Of windows only: there is no such time in a table.
  for (const auto ms :
       {sql::kMaxTimestampMs + 1, sql::kMinTimestampMs - 1,
        sql::kMinTimestampMs - 400 * sql::kDayMs, std::int64_t{1} << 60, -(std::int64_t{1} << 60)})
    EXPECT_EQ(text(ms), sql::formatted_time(ms, "yyyy-MM-dd'T'HH:mm:ss.SSS")) << ms;
  EXPECT_EQ(text(sql::kMaxTimestampMs + 1), "10000-01-01T00:00:00.000");
  EXPECT_EQ(text(sql::kMinTimestampMs - 400 * sql::kDayMs), "-001-11-28T00:00:00.000");
}

}  // namespace
}  // namespace holdfast::query
