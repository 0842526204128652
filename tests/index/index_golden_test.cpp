// Indexes of released formats, checked in as text, open with the same records and go on: writing,
// and read-only without a change.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "index_golden.hpp"

namespace holdfast::index {
namespace {

using Records = std::map<std::uint64_t, std::uint64_t>;

template <class Index>
class GoldenIndex : public testing::Test {
 protected:
  static Records records_of(const Index& index) {
    Records records;
    Golden<Index>::each(index, [&](std::uint64_t key, std::uint64_t value) {
      records[key] = value;
    }).value();
    return records;
  }
  static std::string file() {
    return std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/" + Golden<Index>::kName + ".v1.hex";
  }
};
using Indexes = testing::Types<Dash, NumberedBytes, FpTree, FastFair>;
class Names {
 public:
  template <class Index>
  static std::string GetName(int) {
    return Golden<Index>::kName;
  }
};
TYPED_TEST_SUITE(GoldenIndex, Indexes, Names);

TYPED_TEST(GoldenIndex, OpensWithTheSameRecordsAndGoesOn) {
  auto region = region_of(kGoldenBytes);
  read_golden(region, this->file());
  auto expected = golden_records();
  for (std::uint64_t opening = 0; opening < 3; ++opening) {
    const auto index = TypeParam::open(region, blocks::whole(region)).value();
    EXPECT_EQ(this->records_of(*index), expected);
    for (const auto& [key, value] : expected)
      EXPECT_EQ(index->find(key).value(), value);
    index->insert(77 + opening, opening).value();
    expected[77 + opening] = opening;
    index->erase(expected.begin()->first).value();
    expected.erase(expected.begin());
  }
}

TYPED_TEST(GoldenIndex, IsReadWithoutAChange) {
  const auto path = "/dev/shm/holdfast_golden_index_" + std::to_string(::getpid());
  RegionOptions size;
  size.layout = RegionLayout::kFile;
  size.size_bytes = size.unit_bytes = kGoldenBytes;
  std::optional<Region> region(Region::open(path + "?granularity=line", size).value());
  read_golden(*region, this->file());
  const std::vector<std::byte> before(region->data(), region->data() + region->size_bytes());
  region.reset();
  RegionOptions read;
  read.access = RegionAccess::kOpenReadOnly;
  region.emplace(Region::open(path + "?granularity=line", read).value());
  {
    const auto index = TypeParam::open(*region, blocks::whole(*region)).value();
    EXPECT_EQ(this->records_of(*index), golden_records());
    for (const auto& [key, value] : golden_records())
      EXPECT_EQ(index->find(key).value(), value);
    EXPECT_EQ(index->insert(77, 1).code(), Errc::kReadOnly);
    EXPECT_EQ(index->erase(0).code(), Errc::kReadOnly);
  }
  EXPECT_TRUE(std::equal(before.begin(), before.end(), region->data()));
  region.reset();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace holdfast::index
