// Every suite of `holdfast index bench` at its smallest: it runs, and its answers are right.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/index/index_suites.hpp>
#include <holdfast/bench/index/key_choice.hpp>

namespace holdfast::bench::index {
namespace {

blocks::BlocksBenchOptions smallest(const char* region) {
  blocks::BlocksBenchOptions options;
  options.region = region;
  options.region_bytes = 64 * MiB;
  options.repeat = 1;
  options.seconds = 0.002;
  options.quick = true;
  return options;
}

TEST(IndexBench, EverySuiteRunsAndItsAnswersAreRight) {
  for (const auto* region : {"dram?granularity=line", "dram?granularity=byte"}) {
    const auto result = blocks::run_suites("index bench", suites(), smallest(region));
    ASSERT_TRUE(result) << result.error().message();
    std::set<std::string> identities, seen;
    for (const auto& row : result->document.rows) {
      EXPECT_TRUE(identities.insert(identity(row, result->document.parameters)).second);
      seen.insert(row.text("suite"));
      // A row of two milliseconds may be disturbed; it must not be wrong.
      EXPECT_EQ(row.invalid_reason().find("wrong"), std::string::npos)
          << row.subject() << " " << row.operation() << ": " << row.invalid_reason();
    }
    EXPECT_EQ(seen.size(), suites().size());
  }
}

TEST(IndexBench, AnUnknownSuiteIsRefusedByName) {
  auto options = smallest("dram");
  options.suites = {"log"};
  const auto result = blocks::run_suites("index bench", suites(), options);
  EXPECT_EQ(result.code(), Errc::kInvalidOption);
  EXPECT_NE(result.error().detail.find("point,scan,bytes,open,limit"), std::string::npos);
}

TEST(IndexBench, KeysAreDrawnAsTheirDistributionSays) {
  constexpr std::uint64_t kRecords = 100'000;
  const auto distinct = [&](Distribution distribution) {
    const KeyChoice choice(distribution, kRecords, 1);
    std::set<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      EXPECT_LT(number_of(choice.key(i)), kRecords);
      keys.insert(choice.key(i));
    }
    return keys.size();
  };
  EXPECT_NEAR(static_cast<double>(distinct(Distribution::kUniform)), 0.632 * kRecords, 2'000);
  EXPECT_LT(distinct(Distribution::kZipf), kRecords / 2);
  EXPECT_LT(distinct(Distribution::kSelfSimilar), kRecords / 2);
}

TEST(IndexBench, AValueIsKnownByItsKeyWhateverItsVersion) {
  EXPECT_TRUE(is_value_of(value_of(7, 3), 7));
  EXPECT_TRUE(is_value_of(value_of(7, 255), 7));
  EXPECT_FALSE(is_value_of(value_of(8), 7));
}

}  // namespace
}  // namespace holdfast::bench::index
