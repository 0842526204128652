// Every suite of `holdfast index bench` at its smallest: it runs, and its answers are right.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/bench/index/index_suites.hpp>
#include <holdfast/bench/index/key_choice.hpp>
#include <holdfast/bench/index/mix.hpp>
#include <holdfast/bench/index/record_sizes.hpp>

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
    ASSERT_TRUE(check_choices(options));
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
  EXPECT_EQ(check_choices(options).code(), Errc::kInvalidOption);
}

TEST(IndexBench, SizesOfOnesOwnAreMeasuredAndTheirAnswersAreRight) {
  auto options = smallest("dram?granularity=line");
  options.suites = {"bytes"};
  options.sizes = "24+64,1024+16384";
  ASSERT_TRUE(check_choices(options));
  const auto result = blocks::run_suites("index bench", suites(), options);
  ASSERT_TRUE(result) << result.error().message();
  std::set<std::pair<double, double>> seen;
  for (const auto& row : result->document.rows) {
    seen.insert({row.number("key_bytes"), row.number("value_bytes")});
    EXPECT_EQ(row.invalid_reason().find("wrong"), std::string::npos) << row.invalid_reason();
  }
  EXPECT_EQ(seen, (std::set<std::pair<double, double>>{{24, 64}, {1'024, 16'384}}));
  EXPECT_EQ(result->document.command.text("sizes"), options.sizes);
}

TEST(IndexBench, SizesThatAreNoneAreRefused) {
  EXPECT_EQ(RecordSizes::parse("8+8,16+100").value(),
            (std::vector<RecordSizes>{{8, 8}, {16, 100}}));
  for (const auto* text : {"", "16", "16+", "+16", "7+8", "8+7", "1025+8", "8+16385", "8+8,",
                           "8+8,8+8", "8 + 8", "-8+8", "8+8+8", "4294967304+8"}) {
    const auto sizes = RecordSizes::parse(text);
    ASSERT_EQ(sizes.code(), Errc::kInvalidOption) << text;
    EXPECT_NE(sizes.error().detail.find("8 to 1024 bytes and a value 8 to 16384"),
              std::string::npos)
        << sizes.error().detail;
  }
  auto options = smallest("dram");
  options.sizes = "8+8";
  options.suites = {"point"};
  EXPECT_EQ(check_choices(options).code(), Errc::kInvalidOption);
}

TEST(IndexBench, AnExponentOfZipfIsNamedAndChecked) {
  auto options = smallest("dram");
  options.suites = {"point"};
  options.only = {"zipf"};
  options.zipf = 0.5;
  ASSERT_TRUE(check_choices(options));
  const auto result = blocks::run_suites("index bench", suites(), options);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_FALSE(result->document.rows.empty());
  for (const auto& row : result->document.rows)
    EXPECT_EQ(row.text("keys"), "zipf 0.5");
  for (const double wrong : {0.0, 1.0, -0.5, 2.0, std::nan("")}) {
    options.zipf = wrong;
    EXPECT_EQ(check_choices(options).code(), Errc::kInvalidOption) << wrong;
  }
  options.zipf = 0.5, options.suites = {"scan"};
  EXPECT_EQ(check_choices(options).code(), Errc::kInvalidOption);
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
  const auto share_of_hottest = [](double exponent) {
    const KeyChoice choice(Distribution::kZipf, kRecords, 1, exponent);
    const auto hottest = key_of(mix64(1) % kRecords);  // Rank 0, scattered.
    unsigned seen = 0;
    for (std::uint64_t i = 0; i < kRecords; ++i)
      seen += choice.key(i) == hottest;
    return static_cast<double>(seen) / kRecords;
  };
  for (const double exponent : {0.5, 0.8, 0.99})
    EXPECT_NEAR(share_of_hottest(exponent) * Zipf::zeta(kRecords, exponent), 1, 0.2) << exponent;
  EXPECT_LT(distinct(Distribution::kSelfSimilar), kRecords / 2);
}

TEST(IndexBench, AValueIsKnownByItsKeyWhateverItsVersion) {
  EXPECT_TRUE(is_value_of(value_of(7, 3), 7));
  EXPECT_TRUE(is_value_of(value_of(7, 255), 7));
  EXPECT_FALSE(is_value_of(value_of(8), 7));
}

}  // namespace
}  // namespace holdfast::bench::index
