// Every suite at its smallest: it runs, its answers are right, its rows say what they measured.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::blocks {
namespace {

BlocksBenchOptions smallest() {
  BlocksBenchOptions options;
  options.region = "dram?granularity=line";
  options.region_bytes = 64 * MiB;
  options.repeat = 1;
  options.seconds = 0.002;
  return options;
}

class BlocksBench : public testing::TestWithParam<std::string> {};

TEST_P(BlocksBench, EverySuiteRunsAndItsRowsAreValidOrSayWhatIsNotBuilt) {
  auto options = smallest();
  options.suites = {GetParam()};
  const auto result = run_blocks_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_FALSE(result->document.rows.empty());
  ASSERT_EQ(result->document.regions.size(), 1u);
  EXPECT_EQ(result->document.regions.front().text("spec"), options.region);
  std::set<std::string> identities;
  for (const auto& row : result->document.rows) {
    EXPECT_EQ(row.text("suite"), GetParam());
    EXPECT_FALSE(row.text("experiment").empty());
    EXPECT_FALSE(row.text("case").empty());
    // Compared and drawn by these: no two rows may be of the same measurement.
    const auto what = identity(row, result->document.parameters);
    EXPECT_TRUE(identities.insert(what).second) << what;
    // A row of two milliseconds may be disturbed, and a peer may be missing; it must not be wrong.
    EXPECT_EQ(row.invalid_reason().find("wrong"), std::string::npos)
        << row.subject() << " " << row.operation() << ": " << row.invalid_reason();
  }
}

INSTANTIATE_TEST_SUITE_P(Suites, BlocksBench, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& suite : suites())
                             names.push_back(suite.name);
                           return names;
                         }()),
                         [](const auto& suite) { return suite.param; });

TEST(BlocksBenchOptions, RefusesWhatItCannotMeanAndNamesTheOption) {
  const auto refused = [](auto change, const std::string& says) {
    auto options = smallest();
    change(options);
    const auto result = run_blocks_bench(options);
    ASSERT_FALSE(result) << says;
    EXPECT_NE(result.error().detail.find(says), std::string::npos) << result.error().detail;
  };
  using O = BlocksBenchOptions;
  refused([](O& o) { o.suites = {"logs"}; }, "--suite 'logs': allowed are access");
  refused([](O& o) { o.region.clear(); }, "--region ''");
  refused([](O& o) { o.region = "/dev/dax0.0"; }, "--erase-device");
  refused([](O& o) { o.threads = {0}; }, "--threads '0'");
  refused([](O& o) { o.threads = {1, 1}; }, "given twice");
  refused([](O& o) { o.repeat = 0; }, "--repeat '0'");
  refused([](O& o) { o.seconds = 0; }, "--seconds");
  refused([](O& o) { o.region_bytes = 1; }, "--region-bytes '1'");
  refused([](O& o) { o.only = {"no such"}; }, "--only 'no such'");
}

}  // namespace
}  // namespace holdfast::bench::blocks
