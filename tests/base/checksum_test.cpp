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

// On media: new numbers are a new version of every format that has them. Computed with PyPI's
// xxhash.
TEST(Checksum64, GivesTheSameNumbersForEver) {
  const std::vector<std::byte> bytes(512, std::byte{0x5a});
  const std::span<const std::byte> all(bytes);
  EXPECT_EQ(checksum64(all.first(0), 0), 0x45a7da599a3a55b0u);
  EXPECT_EQ(checksum64(all.first(0), 7), 0xf66d7f117eee8e1u);
  EXPECT_EQ(checksum64(all.first(216), 0), 0xd662c705176f0097u);
  EXPECT_EQ(checksum64(all.first(216), 7), 0x625ff2e533536493u);
  EXPECT_EQ(checksum64(all, 0), 0x758990a0f74cae4au);
  EXPECT_EQ(checksum64(all, 7), 0x10767f101d192719u);
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
