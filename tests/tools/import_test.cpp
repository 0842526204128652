// The importers as functions of a text: what becomes a record, what is skipped and why.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../../tools/import/record_parser.hpp"

namespace holdfast::tools {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

struct Piece {
  std::uint64_t line;
  std::string key, value;   // Of a record.
  std::string reason = {};  // Of something skipped.
};

class Collector final : public RecordSink {
 public:
  std::vector<Piece> pieces;
  std::size_t stop_after = SIZE_MAX;
  bool record(std::string_view key, std::string_view value, std::uint64_t line) override {
    pieces.push_back({line, std::string{key}, std::string{value}});
    return pieces.size() < stop_after;
  }
  bool skip(std::uint64_t line, std::string_view reason) override {
    pieces.push_back({line, {}, {}, std::string{reason}});
    return pieces.size() < stop_after;
  }
};

std::vector<Piece> parse(const ParserOptions& options, std::string_view text,
                         std::size_t chunk_bytes = SIZE_MAX) {
  Collector collector;
  const auto parser = make_parser(options);
  for (std::size_t at = 0; at < text.size(); at += std::min(chunk_bytes, text.size() - at)) {
    if (!parser->feed(text.substr(at, chunk_bytes), collector)) return collector.pieces;
  }
  (void)parser->finish(collector);
  return collector.pieces;
}

ParserOptions json(std::string key = {}) {
  ParserOptions options;
  if (!key.empty()) options.key_fields = {std::move(key)};
  return options;
}

ParserOptions control(std::vector<std::string> fields = {"Package"}) {
  ParserOptions options;
  options.format = RecordFormat::kControl;
  options.key_fields = std::move(fields);
  return options;
}

void expect_record(const std::vector<Piece>& pieces, std::string_view key, std::string_view value) {
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].reason, "");
  EXPECT_EQ(pieces[0].key, key);
  EXPECT_EQ(pieces[0].value, value);
}

void expect_skipped(const std::vector<Piece>& pieces, std::string_view reason_part) {
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_NE(pieces[0].reason.find(reason_part), std::string::npos) << pieces[0].reason;
}

TEST(JsonLines, PairOfStringsIsARecord) {
  expect_record(parse(json(), R"({"key":"ada","value":"lovelace"})"), "ada", "lovelace");
}

TEST(JsonLines, EscapesNulAndSurrogatePairsAreDecoded) {
  expect_record(parse(json(), R"({"key":"a\u0000b","value":"\n\ud83d\ude00"})"), "a\0b"sv,
                "\n\xF0\x9F\x98\x80");
}

TEST(JsonLines, Base64MembersAreBytes) {
  expect_record(parse(json(), R"({"key64":"AP8=","value64":"AAECAw=="})"), "\x00\xFF"sv,
                "\x00\x01\x02\x03"sv);
}

TEST(JsonLines, KeyOfLengthZeroIsAKey) {
  expect_record(parse(json(), R"({"key":"","value":"x"})"), "", "x");
}

TEST(JsonLines, OtherMembersAreIgnoredHoweverDeep) {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  expect_record(parse(json(), R"({"x":)" + deep + R"(,"key":"a","y":{"key":"no"},"value":"b"})"),
                "a", "b");
}

TEST(JsonLines, CarriageReturnsBlankLinesByteOrderMarkAndAMissingLastNewlineAreNoMatter) {
  const auto pieces = parse(
      json(),
      "\xEF\xBB\xBF{\"key\":\"a\",\"value\":\"1\"}\r\n\r\n  \n{\"key\":\"b\",\"value\":\"2\"}");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].key + pieces[0].value, "a1");
  EXPECT_EQ(pieces[1].key + pieces[1].value, "b2");
  EXPECT_EQ(pieces[1].line, 4u);
}

TEST(JsonLines, WhatIsNoRecordIsSkippedWithItsReason) {
  expect_skipped(parse(json(), R"({"key":"a"})"), "no member \"value\"");
  expect_skipped(parse(json(), R"({"value":"a"})"), "no member \"key\"");
  expect_skipped(parse(json(), R"({"key":"a","value":7})"),
                 "\"value\" is a number; it must be a string");
  expect_skipped(parse(json(), R"({"key":null,"value":"b"})"), "\"key\" is null");
  expect_skipped(parse(json(), R"({"key":"a","value":{"b":"c"}})"), "\"value\" is an object");
  expect_skipped(parse(json(), R"({"key":"a","key":"b","value":"c"})"), "\"key\" twice");
  expect_skipped(parse(json(), R"({"key":"a","key64":"AA==","value":"c"})"),
                 "both \"key\" and \"key64\"");
  expect_skipped(parse(json(), R"({"key64":"A","value":"c"})"), "multiple of 4");
  expect_skipped(parse(json(), R"({"key64":"A?==","value":"c"})"), "position 2 is not base64");
  expect_skipped(parse(json(), R"(["key","value"])"), "the line is an array");
  expect_skipped(parse(json(), R"("key")"), "the line is a string");
  expect_skipped(parse(json(), R"({"key":"a","value":"b"} x)"), "not JSON at byte");
  expect_skipped(parse(json(), R"({"key":"a","value":"b)"), "not JSON at byte");
  expect_skipped(parse(json(), "{\"key\":\"\xFF\",\"value\":\"b\"}"), "invalid UTF-8 at byte 9");
  expect_skipped(parse(json(), "{\"key\":\"a\0\",\"value\":\"b\"}"sv), "not JSON at byte");
  expect_skipped(parse(json(), R"({"key":"\ud800","value":"b"})"), "not JSON at byte");
}

// The JSON library takes a NUL for the end of the text: what came behind it was dropped in silence,
// or became a part of the value.
TEST(JsonLines, WhatFollowsANulIsNotDroppedInSilence) {
  const std::string text = R"({"id":"a","key":"k","value":"v"})" + "\0{"s;
  expect_skipped(parse(json(), text), "not JSON at byte 33: a NUL");
  expect_skipped(parse(json("id"), text), "not JSON at byte 33: a NUL");
  expect_skipped(parse(json(), "\0\0\0"sv),
                 "not JSON at byte 1: a NUL");  // The end of a torn file.
}

TEST(JsonLines, TextThatMentionsUtf8IsNotCalledInvalidUtf8) {
  expect_skipped(parse(json(), R"({"key":"UTF-8)"), "missing closing quote");
}

TEST(JsonLines, NumbersBeyondFloatingPointAreSaidToBeThatAndOthersOfAnyLengthAreKeys) {
  expect_skipped(parse(json(), R"({"key":"a","value":"b","n":1e999})"),
                 "a number beyond 64-bit floating point at byte");
  const std::string digits = std::string(300, '9');
  expect_record(parse(json("id"), "{\"id\":" + digits + "}"), digits, "{\"id\":" + digits + "}");
}

TEST(JsonLines, WholeObjectIsTheValueUnderItsMember) {
  expect_record(parse(json("id"), " {\"id\": \"x\", \"n\": [1, 2]} \n"), "x",
                R"({"id": "x", "n": [1, 2]})");
  expect_record(parse(json("id"), R"({"id":17})"), "17", R"({"id":17})");
  expect_record(parse(json("id"), R"({"id":1.50})"), "1.50", R"({"id":1.50})");
  expect_skipped(parse(json("id"), R"({"ID":17})"), "no member \"id\"");
  expect_skipped(parse(json("id"), R"({"id":[17]})"), "\"id\", the key, is an array");
  expect_skipped(parse(json("id"), R"({"id":true})"), "\"id\", the key, is a boolean");
  expect_skipped(parse(json("id"), R"({"id":1,"id":2})"), "\"id\" twice");
}

TEST(JsonLines, ByteOrderMarksBeforeAnObjectAreNoPartOfIt) {
  const auto pieces = parse(json("id"),
                            "{\"id\":1}\n\xEF\xBB\xBF{\"id\":2}\n \xEF\xBB\xBF "
                            "\xEF\xBB\xBF\t{\"id\":3} \n\xEF\xBB\xBF\n{\"id\":4}");
  ASSERT_EQ(pieces.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i + 1);
    EXPECT_EQ(pieces[i].key, number) << pieces[i].reason;
    EXPECT_EQ(pieces[i].value, "{\"id\":" + number + "}");
  }
}

TEST(ControlStanzas, StanzaIsTheValueAndItsFieldsTheKey) {
  const auto text =
      "Package: bash\nVersion: 5.2-2\nDescription: shell\n more\n .\n\n\nPackage: dash\nVersion: "
      "0.5\n";
  const auto pieces = parse(control({"Package", "Version"}), text);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].key, "bash_5.2-2");
  EXPECT_EQ(pieces[0].value, "Package: bash\nVersion: 5.2-2\nDescription: shell\n more\n .\n");
  EXPECT_EQ(pieces[1].key, "dash_0.5");
  EXPECT_EQ(pieces[1].line, 8u);
}

TEST(ControlStanzas, NamesOfFieldsAreCaseInsensitiveAndCommentsAreKept) {
  expect_record(parse(control(), "# note\npackage:   bash  \n"), "bash",
                "# note\npackage:   bash  \n");
}

TEST(ControlStanzas, CarriageReturnsEndLinesAndALastNewlineMayBeMissing) {
  expect_record(parse(control(), "Package: a\r\nX: y\r\n\r\n"), "a", "Package: a\nX: y\n");
  expect_record(parse(control(), "Package: a\nX: y"), "a", "Package: a\nX: y\n");
}

TEST(ControlStanzas, EveryCarriageReturnBeforeANewlineBelongsToIt) {
  const std::string text = "Package: a\r\r\nX: y\rz\r\r\r\n\r\r\nPackage: b\r\r";
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
    const auto pieces = parse(control(), text, chunk);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].value, "Package: a\nX: y\rz\n");
    EXPECT_EQ(pieces[1].value, "Package: b\n");
    EXPECT_EQ(pieces[1].key, "b");
    for (const Piece& piece : pieces) {
      std::string written;
      ASSERT_TRUE(append_record(written, control(), piece.key, piece.value));
      expect_record(parse(control(), written), piece.key, piece.value);
    }
  }
}

TEST(ControlStanzas, ByteOrderMarksBeforeAStanzaAreNoPartOfIt) {
  const auto pieces = parse(
      control(), "\xEF\xBB\xBF\xEF\xBB\xBFX: y\nPackage: a\n\n\xEF\xBB\xBFX: z\nPackage: b\n");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].value, "X: y\nPackage: a\n");
  EXPECT_EQ(pieces[1].value, "X: z\nPackage: b\n");
}

TEST(ControlStanzas, NulAndBrokenUtf8AreBytesLikeOthers) {
  expect_record(parse(control(), "Package: a\nX: \xFF\0z\n"sv), "a", "Package: a\nX: \xFF\0z\n"sv);
}

TEST(ControlStanzas, WhatIsNoRecordIsSkippedWithItsReasonAndTheNextIsRead) {
  const auto text =
      "no colon\nPackage: x\n\n continued\n\nVersion: 1\n\nPackage:\n\nPackage: a\nPackage: "
      "b\n\nPackage: good\n";
  const auto pieces = parse(control(), text);
  ASSERT_EQ(pieces.size(), 6u);
  EXPECT_NE(pieces[0].reason.find("line 1 is no \"Field: value\""), std::string::npos)
      << pieces[0].reason;
  EXPECT_NE(pieces[1].reason.find("line 4 continues a field"), std::string::npos)
      << pieces[1].reason;
  EXPECT_NE(pieces[2].reason.find("no field 'Package'"), std::string::npos) << pieces[2].reason;
  EXPECT_NE(pieces[3].reason.find("field 'Package' is empty"), std::string::npos)
      << pieces[3].reason;
  EXPECT_NE(pieces[4].reason.find("field 'Package' twice"), std::string::npos) << pieces[4].reason;
  EXPECT_EQ(pieces[5].key, "good");
  EXPECT_EQ(pieces[5].line, 13u);
}

TEST(Parsers, LineBeyondTheLimitIsSkippedUnreadAndTheNextIsRead) {
  for (auto options : {json(), control()}) {
    options.limits.record_bytes = 100;
    const std::string text =
        std::string(1 << 20, 'x') + "\n\n" +
        (options.format == RecordFormat::kControl ? "Package: a\n" : R"({"key":"a","value":"b"})");
    const auto pieces = parse(options, text, 4096);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_NE(pieces[0].reason.find("of more than 100 bytes; raise --max-record"),
              std::string::npos);
    EXPECT_EQ(pieces[1].key, "a");
  }
}

TEST(Parsers, LineOfExactlyTheLimitIsRead) {
  auto options = json();
  const std::string line = R"({"key":"a","value":"b"})";
  options.limits.record_bytes = line.size();
  EXPECT_EQ(parse(options, line + "\r\n").at(0).reason, "");
  for (std::size_t chunk = 1; chunk <= line.size() + 10; ++chunk)
    EXPECT_EQ(parse(options, line + "\r\r\r\r\r\r\r\r\r\n", chunk).at(0).reason, "");
  options.limits.record_bytes = line.size() - 1;
  EXPECT_NE(parse(options, line + "\r\n").at(0).reason, "");
}

TEST(Parsers, WhereTheTextIsCutChangesNothing) {
  const std::string lines =
      "{\"key\":\"a\",\"value\":\"1\"}\r\n\nbad\n{\"key\":\"\xC3\xA9\",\"value\":\"2\"}";
  const std::string stanzas = "Package: a\r\nX: y\r\n z\n\n\nbad\n\nPackage: b";
  for (const auto& [options, text] : {std::pair{json(), lines}, std::pair{control(), stanzas}}) {
    const auto whole = parse(options, text);
    EXPECT_EQ(whole.size(), 3u);
    for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
      const auto cut = parse(options, text, chunk);
      ASSERT_EQ(cut.size(), whole.size()) << "chunks of " << chunk;
      for (std::size_t i = 0; i < cut.size(); ++i) {
        EXPECT_EQ(cut[i].key, whole[i].key);
        EXPECT_EQ(cut[i].value, whole[i].value);
        EXPECT_EQ(cut[i].line, whole[i].line);
        EXPECT_EQ(cut[i].reason, whole[i].reason);
      }
    }
  }
}

TEST(Parsers, SinkThatSaysStopIsNotAskedAgain) {
  Collector collector;
  collector.stop_after = 1;
  const auto parser = make_parser(json());
  EXPECT_FALSE(parser->feed("bad\nbad\nbad\n", collector));
  EXPECT_EQ(collector.pieces.size(), 1u);
}

TEST(AppendRecord, AnyBytesComeBackFromJsonLines) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte)
    every += static_cast<char>(byte);
  for (const std::string& bytes :
       {std::string{}, std::string{"text"}, std::string{"\0\n\r\t\"\\\x7F"sv}, every}) {
    std::string text;
    ASSERT_TRUE(append_record(text, json(), bytes, bytes));
    expect_record(parse(json(), text), bytes, bytes);
  }
}

TEST(AppendRecord, RefusesWhatWouldReadAsAnotherRecord) {
  std::string text;
  EXPECT_TRUE(append_record(text, control(), "a", "Package: a\n"));
  EXPECT_EQ(append_record(text, control(), "b", "Package: a\n").code(), Errc::kInvalidOption);
  EXPECT_EQ(append_record(text, control(), "a", "Package: a\n\nPackage: b\n").code(),
            Errc::kInvalidOption);
  EXPECT_EQ(append_record(text, control(), "a", "Package: a").code(), Errc::kInvalidOption);
  EXPECT_EQ(append_record(text, control(), "a", "").code(), Errc::kInvalidOption);
  EXPECT_EQ(append_record(text, json("id"), "1", "{\"id\":2}").code(), Errc::kInvalidOption);
  EXPECT_EQ(append_record(text, json("id"), "1", "{\"id\":1}\n{\"id\":2}").code(),
            Errc::kInvalidOption);
  EXPECT_EQ(text, "Package: a\n\n");
}

TEST(ParserOptionsTest, EachRuleNamesTheOption) {
  const auto message = [](const ParserOptions& options) {
    const auto status = options.validate();
    return status ? std::string{} : status.error().message();
  };
  EXPECT_EQ(message(json()), "");
  EXPECT_EQ(message(control()), "");
  EXPECT_NE(message(control({})).find("--key is empty"), std::string::npos);
  EXPECT_NE(message(control({"a", ""})).find("--key holds an empty name"), std::string::npos);
  auto two = json("a");
  two.key_fields.emplace_back("b");
  EXPECT_NE(message(two).find("--key names 2 members"), std::string::npos);
  auto small = json();
  small.limits.record_bytes = 1;
  EXPECT_NE(message(small).find("--max-record is 1 bytes"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::tools
