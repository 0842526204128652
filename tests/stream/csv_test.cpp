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
std::string records(const std::string& bytes, std::uint64_t from = 0,
                    const CsvOptions& options = {}) {
  char path[] = "/tmp/holdfast_csv_XXXXXX";
  const int file = ::mkstemp(path);
  ::close(file);
  replace_file(path, bytes).value();
  RecordReader reader(open_file_input(path).value(), Framing::kQuoted, 0, options.quoting);
  ::unlink(path);
  if (from != 0) reader.seek(from, 0).value();
  std::string all;
  CsvFields csv(options);
  for (;;) {
    std::string_view record;
    const auto got = reader.next(record);
    if (!got) return all + "error" + got.error().detail.substr(got.error().detail.rfind(": "));
    if (!*got) return all;
    if (const auto wrong = csv.split(record); !wrong.empty())
      return all + "error: " + std::string(wrong);
    for (const auto& field : csv.fields())
      all += field.null ? "<>" : "[" + std::string(field.text) + "]";
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
    CsvFieldWriter().append(text, line);
    line += ',';
  }
  line += "end\n";
  EXPECT_EQ(records(line), "[plain][a,b][say \"x\"][two\nlines][\\N][][end]\n");
}

CsvOptions quoted_by(char quote, char escape = '\0') {
  CsvOptions options;
  options.quoting.quote = quote;
  options.quoting.escape = escape;
  return options;
}

TEST(Csv, AnotherSignMayBeTheQuote) {
  EXPECT_EQ(records("'a,\nb''c',\"d\"\n'x\n", 0, quoted_by('\'')),
            "[a,\nb'c][\"d\"]\nerror: a quote has no partner");
}

TEST(Csv, WithoutQuotesEachLineIsARecord) {
  EXPECT_EQ(records("\"a,b\n\\N,c\"d\n", 0, quoted_by('\0')), "[\"a][b]\n<>[c\"d]\n");
}

TEST(Csv, TheSignBehindAnEscapeMeansNothing) {
  const auto options = quoted_by('"', '\\');
  EXPECT_EQ(records("a\\,b,\"c\\\"\n\\n\"\nd\n", 0, options), "[a,b][c\"\n\n]\n[d]\n");
  EXPECT_EQ(records("\"a\\\\\"\n\"b\"\n", 0, options), "[a\\]\n[b]\n") << "an escaped escape";
  EXPECT_EQ(records("\\\"a\nb\\,\"c\nd\n", 0, options).substr(0, 5), "[\"a]\n");
  EXPECT_EQ(records("\\N,\\t,x\\\n", 0, options), "<>[\t][x\\]\n") << "NULL is as it stands";
}

TEST(Csv, LinesOfCommentsAreNoRecords) {
  CsvOptions options;
  options.quoting.comments = true;
  EXPECT_EQ(records("\xEF\xBB\xBF# it's \"one\na,#b\n#,\"\n\"#c\nd\"\n# the last", 0, options),
            "[a][#b]\n[#c\nd]\n");
  EXPECT_EQ(records("#a\n"), "[#a]\n") << "unless an option says so";
  // One that is longer than a record may be.
  EXPECT_EQ(
      records("#" + std::string(RecordReader::kMaxRecordBytes + 9, 'x') + "\na\n", 0, options),
      "[a]\n");
}

TEST(Csv, WhatIsWrittenByOtherSignsIsReadBack) {
  const std::string texts[] = {"plain",      "a,b", "say 'x'", "\\'", "\\",
                               "two\nlines", "\\N", "",        "#x"};
  for (auto options : {quoted_by('\''), quoted_by('\'', '\\'), quoted_by('"', '!')}) {
    options.quoting.comments = true;
    std::string line, wanted;
    for (const auto& text : texts) {
      if (!line.empty()) line += ',';
      ASSERT_TRUE(CsvFieldWriter(options).append(text, line));
      wanted += "[" + text + "]";
    }
    EXPECT_EQ(records(line, 0, options), wanted + "\n") << line;
  }
  const CsvFieldWriter without_quotes(quoted_by('\0'));
  std::string line;
  EXPECT_TRUE(without_quotes.append("a\"b", line));
  EXPECT_TRUE(without_quotes.append(std::string_view("\0", 1), line));
  for (const char* text : {"a,b", "a\nb", "\\N"})
    EXPECT_FALSE(without_quotes.append(text, line)) << text;
  EXPECT_EQ(line, std::string("a\"b\0", 4));
}

}  // namespace
}  // namespace holdfast::stream
