// Every suite at its smallest: it runs, its answers are right, its rows say what they measured.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <map>

#include <holdfast/bench/blocks/suites.hpp>

namespace holdfast::bench::blocks {
namespace {

BlocksBenchOptions smallest() {
  BlocksBenchOptions options;
  // The environment of this test (CMakeLists.txt) is the one that PMDK must have for such a region.
  options.region = "dram?granularity=line&nt_evicts=off";
  options.region_bytes = 64 * MiB;
  options.repeat = 1;
  options.seconds = 0.002;
  options.quick = true;
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

// What a suite's rows of one operation are, by subject; the last of several experiments.
std::map<std::string, Row> rows_of(const Document& document, const std::string& operation) {
  std::map<std::string, Row> rows;
  for (const auto& row : document.rows) {
    if (row.operation() == operation) rows[row.subject()] = row;
  }
  return rows;
}

TEST(BlocksBenchPmdk, RowsSayWhatWasVariedAndOursFencesOnce) {
  auto options = smallest();
  options.suites = {"pmdk"};
  options.only = {"persist random 64 B", "memcpy random 64 B", "tx 64 B", "alloc 64 B"};
  options.threads = {1};
  const auto result = run_blocks_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  std::size_t checked = 0;
  for (const auto& row : result->document.rows) {
    EXPECT_EQ(row.text("baseline"), "fence");
    EXPECT_EQ(row.number("data_bytes"), 64) << row.subject() << " " << row.operation();
    if (!row.invalid_reason().starts_with("not built")) {
      EXPECT_GT(row.number("ops_per_s_median"), 0)
          << row.subject() << " " << row.operation() << ": " << row.invalid_reason();
      ++checked;
    }
  }
  EXPECT_GE(checked, 12u);  // Ours and the floors, without any of PMDK.
  for (const auto* operation : {"persist", "memcpy_persist"}) {
    const auto rows = rows_of(result->document, operation);
    for (const auto* subject : {"fence", "holdfast"}) {
      ASSERT_TRUE(rows.contains(subject)) << operation;
      EXPECT_EQ(rows.at(subject).number("fences_per_op"), 1) << subject << " " << operation;
      EXPECT_EQ(rows.at(subject).number("lines_per_op"), 1) << subject << " " << operation;
      EXPECT_EQ(rows.at(subject).text("order"), "random");
    }
    for (const auto* granularity : {"byte", "line", "page"})
      EXPECT_TRUE(rows.contains(std::string("libpmem2-") + granularity) ||
                  rows.contains("libpmem2"))
          << granularity;
  }
  // No fence where nothing is promised, two where a range is replaced as a whole.
  EXPECT_EQ(rows_of(result->document, "memcpy_nodrain").at("holdfast").number("fences_per_op"), 0);
  EXPECT_NEAR(rows_of(result->document, "tx_add_range").at("holdfast").number("fences_per_op"), 2,
              0.1);
}

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
