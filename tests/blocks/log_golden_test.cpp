// Logs of a released format, checked in as text, open with the same records and go on.
#include <gtest/gtest.h>

#include <algorithm>

#include "log_golden.hpp"

namespace holdfast::blocks {
namespace {

class GoldenLog : public testing::TestWithParam<const char*> {
 protected:
  Golden golden_ =
      read_golden(std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/log_" + GetParam() + ".v2.hex");
};
INSTANTIATE_TEST_SUITE_P(Version2, GoldenLog,
                         testing::Values("checksum_padded", "checksum_dense", "line_tags_padded",
                                         "poplog_padded", "rawl_padded", "classic_padded",
                                         "header_padded", "header_dancing_padded"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(GoldenLog, OpensWithTheSameRecordsAndGoesOn) {
  auto& region = golden_.region;
  auto expected = golden_records();
  ASSERT_EQ(golden_.lsns.size(), expected.size());
  for (int opening = 0; opening < 2; ++opening) {
    auto log = Log::open(region, whole(region)).value();
    EXPECT_EQ(records(log), expected);
    const auto found = entries(log).value();
    for (std::size_t i = 0; i < golden_.lsns.size(); ++i)
      EXPECT_EQ(found[i].first, golden_.lsns[i]);
    EXPECT_EQ(log.head().value, golden_.lsns.front());
    expected.push_back("record of opening " + std::to_string(opening));
    ASSERT_TRUE(log.append(bytes(expected.back())));
  }
  auto log = Log::open(region, whole(region)).value();
  ASSERT_TRUE(log.truncate({golden_.lsns[4]}));
  expected.erase(expected.begin(), expected.begin() + 4);
  EXPECT_EQ(records(log), expected);
}

}  // namespace
}  // namespace holdfast::blocks
