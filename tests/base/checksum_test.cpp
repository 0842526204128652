#include <holdfast/base/checksum.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// RFC 3720 (iSCSI), appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(bytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes(std::string(32, '\xff'))), 0x62a8ab43u);
  std::string ascending;
  for (char value = 0; value < 32; ++value)
    ascending.push_back(value);
  EXPECT_EQ(crc32c(bytes(ascending)), 0x46dd794eu);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndAlignment) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text.push_back(static_cast<char>(i * 31 + 7));
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t length = 0; begin + length <= text.size(); ++length) {
      const auto part = bytes(std::string_view(text).substr(begin, length));
      ASSERT_EQ(crc32c(part), base_detail::crc32c_portable(part, 0)) << begin << " " << length;
    }
  }
}

TEST(Crc32c, ContinuesFromWhatCameBefore) {
  const std::string_view text = "The quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto first = crc32c(bytes(text.substr(0, cut)));
    EXPECT_EQ(crc32c(bytes(text.substr(cut)), first), crc32c(bytes(text)));
    EXPECT_EQ(base_detail::crc32c_portable(bytes(text.substr(cut)), first), crc32c(bytes(text)));
  }
}

TEST(Checksums, SeeEveryFlippedBitAndAnotherSeed) {
  std::vector<std::byte> record(216, std::byte{0x5a});
  const auto whole_32 = crc32c(record);
  const auto whole_64 = checksum64(record, 9);
  EXPECT_NE(checksum64(record, 10), whole_64);
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    record[bit / 8] ^= std::byte(1 << (bit % 8));
    ASSERT_NE(crc32c(record), whole_32) << bit;
    ASSERT_NE(checksum64(record, 9), whole_64) << bit;
    record[bit / 8] ^= std::byte(1 << (bit % 8));
  }
}

}  // namespace
}  // namespace holdfast
