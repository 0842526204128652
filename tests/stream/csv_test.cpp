// RFC 4180, and what is none.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <holdfast/stream/csv.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/record_reader.hpp>

namespace holdfast::stream {
namespace {

// Records as "[a][b]" lines, NULL as <>, or the error behind them.
std::string records(const std::string& bytes, std::uint64_t from = 0) {
  char path[] = "/tmp/holdfast_csv_XXXXXX";
  const int file = ::mkstemp(path);
  ::close(file);
  replace_file(path, bytes).value();
  RecordReader reader(open_file_input(path).value(), Framing::kQuoted);
  ::unlink(path);
  if (from != 0) reader.seek(from, 0).value();
  std::string all;
  CsvFields csv({});
  for (;;) {
    std::string_view record;
    const auto got = reader.next(record);
    if (!got) return all + "error" + got.error().detail.substr(got.error().detail.rfind(": "));
    if (!*got) return all;
    if (const auto wrong = csv.split(record); !wrong.empty())
      return all + "error: " + std::string(wrong);
    for (const auto& field : csv.fields())
      all += csv.is_null(field) ? "<>" : "[" + std::string(field.text) + "]";
    all += "\n";
  }
}

TEST(Csv, Records) {
  EXPECT_EQ(records(""), "");
  EXPECT_EQ(records("a,b\r\nc,d"), "[a][b]\n[c][d]\n");
  EXPECT_EQ(records("\n,\n"), "[]\n[][]\n");
  EXPECT_EQ(records("\"a,\"\"b\"\"\nc\",\\N,\"\\N\"\n"), "[a,\"b\"\nc]<>[\\N]\n");
  EXPECT_EQ(records("a\nb\nc\n", 2), "[b]\n[c]\n");
  EXPECT_EQ(records("\"a\"x\nb\n"), "error: something stands behind a closing quote");
  EXPECT_EQ(records("a\n\"b\n"), "[a]\nerror: a quote has no partner");
}

TEST(Csv, ARecordLongerThanTheBuffer) {
  const std::string field(700'000, 'x');
  EXPECT_EQ(records("a," + field + "\nb\n"), "[a][" + field + "]\n[b]\n");
}

TEST(Csv, WhatIsWrittenIsReadBack) {
  std::string line;
  for (const char* text : {"plain", "a,b", "say \"x\"", "two\nlines", "\\N", ""}) {
    append_csv_field(text, {}, line);
    line += ',';
  }
  line += "end\n";
  EXPECT_EQ(records(line), "[plain][a,b][say \"x\"][two\nlines][\\N][][end]\n");
}

}  // namespace
}  // namespace holdfast::stream
