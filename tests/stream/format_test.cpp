// From records to rows and back: what is no value, in the words of each format.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/stream/format.hpp>

namespace holdfast::stream {
namespace {

// A table of these columns and options, and what reads and writes its records.
struct FormatOfTable {
  FormatOfTable(const std::string& columns, const std::string& format,
                const std::string& zone = "UTC") {
    const auto statements =
        sql::parse("SET 'table.local-time-zone' = '" + zone + "';CREATE TABLE t (" + columns +
                   ") WITH ('connector' = 'none', " + format + ")")
            .value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.back())).value();
    table = catalog.find("t", {}).value();
    const auto scope = all_physical(*table, Carrier::kFile);
    TableOptions of_reading(*table), of_writing(*table);
    reads = read_format_of(*table, scope, of_reading).value();
    writer = std::move(write_format_of(table->columns, scope, of_writing)->writer);
  }
  // What is wrong with it; empty: nothing.
  std::string wrong_with(std::string_view record) {
    row.assign(table->columns.size(), {});
    std::string wrong;
    reads.reader->read(record, row, wrong);
    return wrong;
  }

  sql::Catalog catalog;
  const sql::Table* table = nullptr;
  ReadFormat reads;
  std::unique_ptr<RowWriter> writer;
  sql::Row row;
};

template <class T>
std::string bytes_of_number(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// They were written with a blank, and then were malformed.
TEST(JsonFormat, ATimeThatIsTheKeyOfAMapIsWrittenAsOtherTimesAre) {
  for (const auto& [standard, time] :
       {std::pair{"SQL", "2026-01-02 03:04:05.678"}, {"ISO-8601", "2026-01-02T03:04:05.678"}}) {
    FormatOfTable format(
        "p MAP<TIMESTAMP(3), TIMESTAMP(3)>",
        "'format' = 'json', 'json.timestamp-format.standard' = '" + std::string(standard) + "'");
    const auto record = "{\"p\":{\"" + std::string(time) + "\":\"" + time + "\"}}";
    ASSERT_EQ(format.wrong_with(record), "");
    std::string written;
    format.writer->append(format.row, written).value();
    EXPECT_EQ(written, record);
  }
}

TEST(JsonFormat, AnInstantIsReadByTheWallClockOfTheZoneOrInUtc) {
  FormatOfTable format("w TIMESTAMP(3), i TIMESTAMP_LTZ(3)", "'format' = 'json'", "Europe/Berlin");
  for (const char* instant : {"2024-07-01 12:00:00.000", "2024-07-01 10:00:00.000Z"}) {
    const auto record =
        "{\"w\":\"2024-07-01 12:00:00.000Z\",\"i\":\"" + std::string(instant) + "\"}";
    ASSERT_EQ(format.wrong_with(record), "");
    EXPECT_EQ(format.row[0].number, sql::timestamp_of("2024-07-01 12:00").value());
    EXPECT_EQ(format.row[1].number, sql::timestamp_of("2024-07-01 10:00").value());
    std::string written;
    format.writer->append(format.row, written).value();
    EXPECT_EQ(written, "{\"w\":\"2024-07-01 12:00:00.000\",\"i\":\"2024-07-01 12:00:00.000\"}");
  }
}

// NULL in the first column of the first record was read as a text.
TEST(CsvFormat, ANullLiteralThatBeginsAsAFileMayIsRefused) {
  sql::Catalog catalog;
  const auto statements = sql::parse(
                              "CREATE TABLE t (s STRING) WITH ('format' = 'csv', "
                              "'csv.null-literal' = '\xEF\xBB\xBFnull')")
                              .value();
  catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
  const auto* const table = catalog.find("t", {}).value();
  TableOptions options(*table);
  const auto read = read_format_of(*table, all_physical(*table, Carrier::kFile), options);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().detail.find("a byte order mark at its beginning"), std::string::npos);
}

// They became a part of the state, which could not be read again.
TEST(BinaryFormat, ATimeThatNoCalendarHasIsNoValue) {
  FormatOfTable times("t TIMESTAMP(3)", "'format' = 'binary'");
  for (const auto ms : {sql::kMinTimestampMs, sql::kMaxTimestampMs})
    EXPECT_EQ(times.wrong_with(bytes_of_number(ms)), "");
  for (const auto ms : {sql::kMinTimestampMs - 1, sql::kMaxTimestampMs + 1, INT64_MIN, INT64_MAX}) {
    EXPECT_NE(times.wrong_with(bytes_of_number(ms)).find("is no TIMESTAMP(3) for column t"),
              std::string::npos)
        << ms;
    EXPECT_TRUE(times.row[0].null);
  }
  FormatOfTable days("d DATE", "'format' = 'raw', 'raw.endianness' = 'little-endian'");
  const auto last = static_cast<std::int32_t>(sql::kMaxTimestampMs / sql::kDayMs);
  EXPECT_EQ(days.wrong_with(bytes_of_number(last)), "");
  for (const auto day : {last + 1, INT32_MIN, INT32_MAX}) {
    EXPECT_NE(days.wrong_with(bytes_of_number(day)).find("is no DATE for column d"),
              std::string::npos)
        << day;
  }
}

// A record of 16 MiB could take more than a gigabyte while it was read.
TEST(JsonFormat, ARecordHasAMillionPartsAtMost) {
  FormatOfTable format("s STRING, a ARRAY<TINYINT>, o STRING", "'format' = 'json'");
  const auto zeros = [](std::size_t count) {
    std::string text = "[0";
    for (std::size_t i = 1; i < count; ++i)
      text += ",0";
    return text + "]";
  };
  const std::string wrong = "its arrays and objects have more than 1000000 values";
  // The array is one of them. What no column takes is not kept.
  EXPECT_EQ(format.wrong_with("{\"x\":" + zeros(1'100'000) + ",\"s\":" + zeros(999'999) + "}"), "");
  EXPECT_EQ(format.row[0].text, zeros(999'999));
  EXPECT_EQ(format.wrong_with("{\"s\":" + zeros(1'000'000) + "}"), wrong);
  EXPECT_EQ(format.wrong_with("{\"a\":" + zeros(1'000'000) + "}"), wrong);
  EXPECT_EQ(format.wrong_with("{\"s\":" + zeros(500'000) + ",\"a\":" + zeros(500'000) + "}"),
            wrong);
  EXPECT_EQ(format.wrong_with("{\"o\":{\"m\":" + zeros(999'999) + "}}"), wrong);
  EXPECT_EQ(format.wrong_with("{\"s\":" + zeros(500'000) + "}"), "");
}

}  // namespace
}  // namespace holdfast::stream
