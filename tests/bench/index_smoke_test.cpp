// Every suite of `holdfast index bench` at its smallest: it runs, and its answers are right.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/index/index_suites.hpp>
#include <holdfast/bench/index/key_choice.hpp>
#include <holdfast/bench/index/mix.hpp>

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

TEST(IndexBench, AMixOfOnesOwnIsMeasuredAndItsAnswersAreRight) {
  auto options = smallest("dram?granularity=line");
  options.suites = {"point"};
  for (const auto* mix : {"find:70,update:20,insert:10", "insert:50,find:50", "update:100"}) {
    options.mix = mix;
    ASSERT_TRUE(check_mix(options));
    const auto result = blocks::run_suites("index bench", suites(), options);
    ASSERT_TRUE(result) << result.error().message();
    std::set<std::string> subjects;
    for (const auto& row : result->document.rows) {
      EXPECT_EQ(row.operation(), Mix::parse(mix).value().name());
      EXPECT_EQ(row.invalid_reason().find("wrong"), std::string::npos)
          << row.subject() << ": " << row.invalid_reason();
      subjects.insert(row.subject());
    }
    for (const auto* subject : {"dash", "fptree", "fastfair"})
      EXPECT_TRUE(subjects.contains(subject)) << subject;
    // An index that holds places has no updates of values.
    EXPECT_EQ(subjects.contains("ordered-dram"), Mix::parse(mix)->update == 0) << mix;
    EXPECT_EQ(result->document.command.text("mix"), mix);
  }
}

TEST(IndexBench, AMixHasTheSharesThatItNames) {
  const auto mix = Mix::parse("update:20,find:70,insert:10").value();
  EXPECT_EQ(mix.name(), "find_70_update_20_insert_10");
  for (const std::uint64_t from : {0, 7, 1'000'003}) {
    std::map<MixedOperation, unsigned> seen;
    for (std::uint64_t i = from; i < from + 100; ++i)
      ++seen[mix.at(i)];
    EXPECT_EQ(seen[MixedOperation::kFind], 70u);
    EXPECT_EQ(seen[MixedOperation::kUpdate], 20u);
    EXPECT_EQ(seen[MixedOperation::kInsert], 10u);
  }
  EXPECT_EQ(Mix::parse("find:100")->name(), "find_100");
}

TEST(IndexBench, AMixThatIsNoneIsRefused) {
  for (const auto* text :
       {"", "find", "find:", "find:x", "find:0,update:100", "find:101", "find:50",
        "find:50,update:60", "find:50,find:50", "scan:100", "find:100,", ",find:100",
        "find:-1,update:101", "find:4294967396", "find: 100"}) {
    const auto mix = Mix::parse(text);
    EXPECT_EQ(mix.code(), Errc::kInvalidOption) << text;
    if (!mix) {
      EXPECT_NE(mix.error().detail.find("find:70,update:20,insert:10"), std::string::npos);
    }
  }
  auto options = smallest("dram");
  options.mix = "find:100";
  options.suites = {"scan"};
  EXPECT_EQ(check_mix(options).code(), Errc::kInvalidOption);
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
