// Bytes as text and back: known answers, every refusal, and all bytes through each encoding.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "../../tools/text_encoding.hpp"

namespace holdfast::tools {
namespace {

using namespace std::string_view_literals;

TEST(TextEncoding, Base64AnswersOfRfc4648) {
  const std::pair<std::string_view, std::string_view> answers[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : answers) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text).value(), bytes);
  }
}

TEST(TextEncoding, Base64OfOneValueHasOneSpelling) {
  for (const auto text :
       {"Zg=", "Zg", "Zh==", "Zm9=", "====", "Zg==Zg==", "Z===", "Zm9v\n", "Zm 9", "Zm-_"}) {
    EXPECT_EQ(from_base64(text).code(), Errc::kInvalidOption) << text;
  }
}

TEST(TextEncoding, HexNamesThePositionOfWhatIsNone) {
  EXPECT_EQ(from_hex("00fFAb").value(), "\x00\xFF\xAB"sv);
  EXPECT_NE(from_hex("00gf").error().detail.find("'g' at position 3"), std::string::npos);
  EXPECT_NE(from_hex("000").error().detail.find("3 digits"), std::string::npos);
}

TEST(TextEncoding, AllBytesComeBack) {
  std::string bytes;
  for (int byte = 255; byte >= 0; --byte) {
    bytes += static_cast<char>(byte);
    EXPECT_EQ(from_hex(to_hex(bytes)).value(), bytes);
    EXPECT_EQ(from_base64(to_base64(bytes)).value(), bytes);
  }
}

TEST(TextEncoding, VisibleIsOneLineOfText) {
  EXPECT_EQ(visible("a\tb\nc\\\r\0\x1B\xFF\xC3\xA9"sv), "a\\tb\\nc\\\\\\r\\0\\x1b\\xff\xC3\xA9");
}

TEST(TextEncoding, AByteOrderMarkAtTheBeginningIsMadeVisible) {
  EXPECT_EQ(visible("\xEF\xBB\xBFk\xEF\xBB\xBF"sv), "\\xef\\xbb\\xbfk\xEF\xBB\xBF");
  EXPECT_EQ(visible("\xEF\xBB"sv), "\\xef\\xbb");
}

TEST(TextEncoding, JsonMembersFallBackToBase64) {
  std::string text;
  append_json_member(text, "key", "\"\\\n\x01\x7F\xC3\xA9");
  append_json_member(text, "value", "\xFF");
  EXPECT_EQ(text, "\"key\":\"\\\"\\\\\\n\\u0001\\u007f\xC3\xA9\"\"value64\":\"/w==\"");
}

}  // namespace
}  // namespace holdfast::tools
