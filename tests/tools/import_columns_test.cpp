// CSV, TSV and the dumps of other stores as functions of a text; which text is which; gzip.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../../tools/import/format_guess.hpp"
#include "../../tools/import/gzip.hpp"
#include "../../tools/import/record_parser.hpp"

namespace holdfast::tools {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

// Writes what it is given as "LINE:KEY=VALUE;" or "LINE!REASON;".
class Transcript final : public RecordSink {
 public:
  std::string text;
  bool record(std::string_view key, std::string_view value, std::uint64_t line) override {
    text.append(std::to_string(line)).append(":").append(key).append("=").append(value).append(";");
    return true;
  }
  bool skip(std::uint64_t line, std::string_view reason) override {
    text.append(std::to_string(line)).append("!").append(reason).append(";");
    return true;
  }
};

std::string parse(const ParserOptions& options, std::string_view text) {
  std::string first;
  for (const std::size_t chunk : {text.size() + 1, std::size_t{1}, std::size_t{3}}) {
    Transcript transcript;
    const auto parser = make_parser(options);
    for (std::size_t at = 0; at < text.size(); at += chunk)
      EXPECT_TRUE(parser->feed(text.substr(at, chunk), transcript));
    EXPECT_TRUE(parser->finish(transcript));
    if (first.empty()) first = transcript.text;
    EXPECT_EQ(transcript.text, first) << "cut into pieces of " << chunk;
  }
  return first;
}
std::string parse(RecordFormat format, std::string_view text) {
  ParserOptions options;
  options.format = format;
  return parse(options, text);
}
std::string csv(std::string_view text) { return parse(RecordFormat::kCsv, text); }
std::string tsv(std::string_view text) { return parse(RecordFormat::kTsv, text); }
std::string mdb(std::string_view text) { return parse(RecordFormat::kMdbDump, text); }
std::string ldb(std::string_view text) { return parse(RecordFormat::kLdbDump, text); }

TEST(Csv, RecordsWithAndWithoutQuotes) {
  EXPECT_EQ(csv("ada,lovelace\nalan,turing"), "1:ada=lovelace;2:alan=turing;");
  EXPECT_EQ(csv("\"a,b\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",x\r\nz,\r\n,\n"),
            "1:a,b=say \"hi\";2:two\nlines=x;4:z=;5:=;");
  EXPECT_EQ(csv("\n\n a , b \n\n"), "3: a = b ;");
  EXPECT_EQ(csv("\"\",\"\"\n"), "1:=;");
}

TEST(Csv, AByteOrderMarkBelongsToTheFileUnlessItIsQuoted) {
  EXPECT_EQ(csv("\xEF\xBB\xBFk,v\n"), "1:k=v;");
  EXPECT_EQ(csv("\xEF\xBB\xBF\"k\",v\n"), "1:k=v;");
  EXPECT_EQ(csv("\"\xEF\xBB\xBFk\",v\n"), "1:\xEF\xBB\xBFk=v;");
  EXPECT_EQ(csv("\xEF\xBB,v"), "1:\xEF\xBB=v;");
  EXPECT_EQ(csv("\xEF"), "1!column 2: the end of the line; a record is KEY,VALUE;");
}

TEST(Csv, BytesAsHexDigits) {
  EXPECT_EQ(csv("\\x00fF,\"\\x41\"\n"), "1:\0\xff=A;"s);
  EXPECT_EQ(csv("\\x,v"), "1:=v;");
  EXPECT_EQ(csv("k,\\x4g"),
            "1!the field at column 3 is bytes in hex, and at its column 4: 'g'; "
            "allowed are hex digits, two for each byte;");
}

TEST(Csv, BadLinesAreNamedWithTheirColumnAndTheRestGoesOn) {
  EXPECT_EQ(csv("one\na,b\n"), "1!column 4: the end of the line; a record is KEY,VALUE;2:a=b;");
  EXPECT_EQ(csv("a,b,c\nd,e\n"), "1!column 4: a third field; a record is KEY,VALUE;2:d=e;");
  EXPECT_EQ(csv("a,b,\"c\nd\"\ne,f"), "1!column 4: a third field; a record is KEY,VALUE;3:e=f;");
  EXPECT_EQ(csv("a,b,\"c\nd"), "1!column 4: a third field; a record is KEY,VALUE;");
  EXPECT_EQ(csv("a,b,c,d,\""), "1!column 4: a third field; a record is KEY,VALUE;");
  EXPECT_EQ(csv("a\"b,c\nd,e\n"),
            "1!column 2: a quote in a field that does not begin with one; put "
            "the field in quotes and double it;2:d=e;");
  EXPECT_EQ(csv("\"a\"x,c\nd,e\n"),
            "1!column 4: 'x' behind a closing quote; allowed are a comma, a "
            "second quote and the end of the line;2:d=e;");
  EXPECT_EQ(csv("a\rb,c\nd,e\n"),
            "1!column 2: a carriage return without a newline; in a field it "
            "needs quotes;2:d=e;");
  EXPECT_EQ(csv("a,b\nc,\"d\ne\n"), "1:a=b;2!the quote at column 3 is not closed before the end;");
  EXPECT_EQ(
      csv("\"a\nb\",\"c\"d\ne,f"),
      "1!line 2, column 7: 'd' behind a closing quote; allowed are a comma, a second quote and "
      "the end of the line;3:e=f;");
}

TEST(Csv, ALineThatIsTooLongIsSkippedUnread) {
  ParserOptions options;
  options.format = RecordFormat::kCsv;
  options.limits.record_bytes = 64;
  EXPECT_EQ(parse(options, "k," + std::string(63, 'x') + "\nk," + std::string(64, 'x') + "\na,b\n"),
            "1:k=" + std::string(63, 'x') +
                ";2!a record of more than 64 bytes; raise --max-record;3:a=b;");
}

TEST(Columns, TheHeaderIsNoRecord) {
  ParserOptions options;
  options.header = true;
  options.format = RecordFormat::kCsv;
  EXPECT_EQ(parse(options, "\nkey,value\na,b\n"), "3:a=b;");
  options.format = RecordFormat::kTsv;
  EXPECT_EQ(parse(options, "key\tvalue\na\tb\n"), "2:a=b;");
  std::string text;
  append_header(text, options);
  EXPECT_EQ(text, "key\tvalue\n");
  options.format = RecordFormat::kJsonLines;
  EXPECT_EQ(options.validate().code(), Errc::kInvalidOption);
}

// A header with other columns was skipped, and the first record dropped in its place.
TEST(Columns, AHeaderOfOtherColumnsTakesNoRecordWithIt) {
  ParserOptions options;
  options.header = true;
  options.format = RecordFormat::kCsv;
  EXPECT_EQ(parse(options, "id,name,age\na,b\nc,d\n"), "2:a=b;3:c=d;");
  EXPECT_EQ(parse(options, "id\na,b\n"), "2:a=b;");
  EXPECT_EQ(parse(options, "\\xzz,v\na,b\n"), "2:a=b;");
  EXPECT_EQ(parse(options, "\"i\"d,v\na,b\n"),
            "1!column 4: 'd' behind a closing quote; allowed are a comma, a second quote and the "
            "end of the line;2:a=b;");
  options.format = RecordFormat::kTsv;
  EXPECT_EQ(parse(options, "id\tname\tage\na\tb\n"), "2:a=b;");
  EXPECT_EQ(parse(options, "\nid\na\tb\n"), "3:a=b;");
  options.limits.record_bytes = 8;
  EXPECT_EQ(parse(options, "much longer\tthan that\na\tb\n"), "2:a=b;");
  options.format = RecordFormat::kCsv;
  EXPECT_EQ(parse(options, "much longer,than that\na,b\n"), "2:a=b;");
}

TEST(Tsv, EscapesStandForBytes) {
  EXPECT_EQ(tsv("ada\tlovelace\r\n\n\xEF\xBB\xBF\t\\t\\n\\r\\\\\\0\\xff"),
            "1:ada=lovelace;3:\xEF\xBB\xBF=\t\n\r\\\0\xff;"s);
  EXPECT_EQ(tsv("\xEF\xBB\xBFk\tv"), "1:k=v;");
  EXPECT_EQ(tsv("\t"), "1:=;");
}

TEST(Tsv, BadLinesAreNamedWithTheirColumn) {
  EXPECT_EQ(tsv("one\na\tb"),
            "1!column 4: the end of the line; a record is KEY, a tab, VALUE;2:a=b;");
  EXPECT_EQ(tsv("a\tb\tc"), "1!column 4: a second tab; in a value it is written \\t;");
  EXPECT_EQ(tsv("a\t\\N"), "1!column 3: '\\\\N'; allowed are \\\\ \\t \\n \\r \\0 and \\xNN;");
  EXPECT_EQ(tsv("a\\"), "1!column 3: the end of the line; a record is KEY, a tab, VALUE;");
  EXPECT_EQ(tsv("a\\\tb"), "1!column 2: '\\\\'; allowed are \\\\ \\t \\n \\r \\0 and \\xNN;");
  EXPECT_EQ(tsv("a\t\\x1"), "1!column 6: the end; here follow two hex digits;");
  EXPECT_EQ(tsv("a\t\\xg1"), "1!column 5: 'g'; allowed are hex digits, two for each byte;");
}

// Whatever the bytes: what is written comes back as itself, in one line or as one CSV record.
TEST(Columns, EveryRecordComesBack) {
  std::vector<std::string> pieces = {"",     "a",   "\"",       ",",      "\n",           "\r",
                                     "\t",   "\\",  "\\x",      "\\x41",  "\xEF\xBB\xBF", "\xff",
                                     "\0"s,  " a ", "a\r\n",    "é😀",    "\r\r",         "\x7f",
                                     "=1+1", "\\N", "\xEF\xBB", "a,b\"c", "\x1f\x8b"};
  for (const auto format : {RecordFormat::kCsv, RecordFormat::kTsv}) {
    for (const bool as_bytes : {false, true}) {
      ParserOptions options;
      options.format = format;
      options.as_bytes = as_bytes;
      for (const auto& key : pieces) {
        for (const auto& value : pieces) {
          std::string text;
          ASSERT_TRUE(append_record(text, options, key, value));
          EXPECT_EQ(parse(options, text), "1:" + key + "=" + value + ";") << text;
        }
      }
    }
  }
}

TEST(MdbDump, BothFormatsAreRead) {
  constexpr auto head = "VERSION=3\nformat=bytevalue\ntype=btree\nmapsize=1048576\nHEADER=END\n"sv;
  EXPECT_EQ(mdb(std::string{head} + " 61\n 00fF\n \n \nDATA=END\n"), "6:a=\0\xff;8:=;"s);
  EXPECT_EQ(mdb("VERSION=3\nformat=print\ndatabase=users\ntype=btree\nHEADER=END\n ada\n "
                "a\\0a\\\\b \nDATA=END\n"),
            "6:ada=a\n\\b ;");
}

TEST(MdbDump, WhatIsWrongIsNamed) {
  EXPECT_EQ(mdb("VERSION=3\nformat=bytevalue\nHEADER=END\n 6g\n 61\n 61\n 6\n62\n 63\n 64\n "
                "65\nDATA=END\n"),
            "4!column 3: 'g'; allowed are hex digits, two for each byte;"
            "6!line 7, column 3: the end; here follow two hex digits;"
            "8!column 1: '6'; allowed are a blank and DATA=END;"
            "10:d=e;");
  EXPECT_EQ(
      mdb("VERSION=3\nHEADER=END\n 61\n 62\n 63\n"),
      "3:a=b;5!a key without a value;6!the end; DATA=END is missing, so the dump is cut short;");
  EXPECT_EQ(mdb("VERSION=3\n"), "2!the end; HEADER=END is missing, so the dump is cut short;");
  EXPECT_EQ(mdb("VERSION=3\nHEADER=END\n 61\nDATA=END\n"), "3!a key without a value;");
  EXPECT_EQ(mdb("VERSION=4\nHEADER=END\n 61\n 62\nDATA=END\n"),
            "1!column 1: 'VERSION=4'; allowed is VERSION=3; nothing of it is imported;");
  EXPECT_EQ(mdb("VERSION=3\nduplicates=1\nHEADER=END\n 61\n 62\nDATA=END\n"),
            "2!column 1: 'duplicates=1'; allowed is one value for each key, which is what a store "
            "keeps; nothing of it is imported;");
  EXPECT_EQ(
      mdb("VERSION=3\nHEADER=END\n 61\n 62\nDATA=END\nVERSION=3\nHEADER=END\n 61\n 63\nDATA=END\n"),
      "3:a=b;6!a second database; its keys would be among those of the first: dump each by "
      "itself, with mdb_dump -s NAME;");
  EXPECT_EQ(mdb(""), "");
}

TEST(LdbDump, RecordsAndTheirNumber) {
  EXPECT_EQ(ldb("0x61 ==> 0x00FF\n0x ==> 0x\nKeys in range: 2\n"), "1:a=\0\xff;2:=;"s);
  EXPECT_EQ(ldb("Keys in range: 0\n"), "");
}

TEST(LdbDump, WhatIsWrongIsNamed) {
  EXPECT_EQ(
      ldb("a ==> b\n0x61 : 0x62\n0x61 ==> b\n0x6 ==> 0x\n0x61 ==> 0x6g\n0x61 ==> 0x62\nKeys in "
          "range: 7\n"),
      "1!column 1: 'a ==> b'; allowed is 0x and hex digits (ldb dump --hex);"
      "2!column 12: the end of the line; a record is 0xKEY ==> 0xVALUE;"
      "3!column 10: 'b'; allowed is 0x and hex digits (ldb dump --hex);"
      "4!column 4: the end; here follow two hex digits;"
      "5!column 13: 'g'; allowed are hex digits, two for each byte;"
      "6:a=b;"
      "7!column 16: '7', but 6 lines with keys came before it;");
  EXPECT_EQ(ldb("0x61 ==> 0x62\n"),
            "1:a=b;2!the end; 'Keys in range: 1' is missing, so the dump may be cut short;");
}

TEST(Formats, AreToldByTheNameOfTheFile) {
  EXPECT_EQ(format_of_name("a.csv"), RecordFormat::kCsv);
  EXPECT_EQ(format_of_name("a.tsv.gz"), RecordFormat::kTsv);
  EXPECT_EQ(format_of_name("a.jsonl"), RecordFormat::kJsonLines);
  EXPECT_EQ(format_of_name("a.gz"), std::nullopt);
  EXPECT_EQ(format_of_name("-"), std::nullopt);
  EXPECT_TRUE(is_gzip_name("a.gz"));
}

TEST(Formats, AreToldByHowTheTextBegins) {
  for (const auto& [text, format] :
       {std::pair{"\n \xEF\xBB\xBF{\"key\""sv, RecordFormat::kJsonLines},
        std::pair{"VERSION=3\n"sv, RecordFormat::kMdbDump},
        std::pair{"Version: 3\n"sv, RecordFormat::kControl},
        std::pair{"VERSION: 3\n"sv, RecordFormat::kControl},
        std::pair{"0x61 ==> "sv, RecordFormat::kLdbDump},
        std::pair{"\nKeys in range: 0"sv, RecordFormat::kLdbDump},
        std::pair{"0 x"sv, RecordFormat::kControl}}) {
    for (const std::size_t chunk : {text.size(), std::size_t{1}}) {
      FormatGuess guess;
      std::optional<RecordFormat> told;
      std::size_t at = 0;
      for (; !told && at < text.size(); at += chunk)
        told = guess.look(text.substr(at, chunk));
      EXPECT_EQ(told, format) << text << " in pieces of " << chunk;
    }
  }
  FormatGuess nothing, little;
  EXPECT_EQ(nothing.look(" \n"), std::nullopt);
  EXPECT_EQ(nothing.end(), std::nullopt);
  EXPECT_EQ(little.look("VERS"), std::nullopt);
  EXPECT_EQ(little.end(), RecordFormat::kControl);
}

std::string gzip(std::string_view text) {
  GzipWriter writer;
  std::string bytes;
  writer.append(text, bytes);
  writer.finish(bytes);
  return bytes;
}

// What comes out, or "ERROR: …".
std::string gunzip(std::string_view bytes, std::size_t chunk) {
  GzipReader reader;
  std::string text;
  const auto take = [&](std::string_view piece) {
    text += piece;
    return true;
  };
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    if (const auto fed = reader.feed(bytes.substr(at, chunk), take); !fed)
      return "ERROR: " + fed.error().detail;
  }
  if (const auto done = reader.finish(take); !done) return "ERROR: " + done.error().detail;
  return text;
}

TEST(Gzip, WhatWasCompressedComesBackHoweverItIsCut) {
  std::string large;
  for (unsigned i = 0; i < 100'000; ++i)
    large += std::to_string(i * 2654435761u);
  for (const auto& text : {""s, "a"s, "\x1f"s, large}) {
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{2}, std::size_t{1} << 20}) {
      EXPECT_EQ(gunzip(gzip(text), chunk), text);
      EXPECT_EQ(gunzip(gzip(text) + gzip("b") + std::string(512, '\0'), chunk), text + "b");
      EXPECT_EQ(gunzip(text, chunk), text) << "what is no gzip passes through";
    }
  }
}

TEST(Gzip, DamageIsNamedWithItsPlace) {
  const auto bytes = gzip(std::string(1000, 'x'));
  for (std::size_t size = 2; size < bytes.size(); ++size) {
    EXPECT_EQ(gunzip(std::string_view{bytes}.substr(0, size), 7),
              "ERROR: not intact gzip: it is cut short after byte " + std::to_string(size));
  }
  auto damaged = bytes;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // The sum.
  EXPECT_NE(
      gunzip(damaged, 1 << 20).find("incorrect data check; text before it may be damaged, too"),
      std::string::npos);
  EXPECT_NE(gunzip(bytes + "tail", 1 << 20).find("follows what is none"), std::string::npos);
}

TEST(Gzip, ATakerThatSaysStopIsHeard) {
  GzipReader reader;
  const auto fed = reader.feed(gzip("text"), [](std::string_view) { return false; });
  ASSERT_TRUE(fed);
  EXPECT_FALSE(*fed);
}

}  // namespace
}  // namespace holdfast::tools
