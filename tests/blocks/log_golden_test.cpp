// Logs of a released format, checked in as text, open with the same records and go on.
#include <gtest/gtest.h>

#include "log_golden.hpp"

namespace holdfast::blocks {
namespace {

class GoldenLog : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { baselines::register_log_formats(); }
  GoldenLogFile golden_ =
      read_golden_log(std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/log_" + GetParam() + ".hex");
};
INSTANTIATE_TEST_SUITE_P(Versions, GoldenLog,
                         testing::Values("checksum_padded.v2", "checksum_dense.v2",
                                         "line_tags_padded.v2", "poplog_padded.v2",
                                         "rawl_padded.v2", "classic_padded.v2", "header_padded.v2",
                                         "header_dancing_padded.v2", "checksum_padded.v3",
                                         "checksum_dense.v3"),
                         [](const auto& one) {
                           std::string name = one.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

TEST_P(GoldenLog, OpensWithTheSameRecordsAndGoesOn) {
  auto& region = golden_.region;
  auto expected = golden_log_records();
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
