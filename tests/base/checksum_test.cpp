#include <holdfast/base/checksum.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace holdfast {
namespace {

// On media: new numbers are a new version of every format that has them. Computed with the
// package xxhash of PyPI.
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

TEST(Checksum64, SeesEveryFlippedBitAndAnotherSeed) {
  std::vector<std::byte> record(216, std::byte{0x5a});
  const auto whole = checksum64(record, 9);
  EXPECT_NE(checksum64(record, 10), whole);
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    record[bit / 8] ^= std::byte(1 << (bit % 8));
    ASSERT_NE(checksum64(record, 9), whole) << bit;
    record[bit / 8] ^= std::byte(1 << (bit % 8));
  }
}

}  // namespace
}  // namespace holdfast
