#include <holdfast/results/compare.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast::results {
namespace {

Row row(std::vector<double> samples, unsigned threads = 1) {
  Row row("holdfast", "read", threads);
  row.set("access_bytes", 256);
  row.set("ops_per_s_median", median(samples));
  row.set("ops_per_s_samples", Value(std::move(samples)));
  return row;
}

Document document(std::vector<Row> rows) {
  Document document;
  document.parameters = {"access_bytes"};
  document.rows = std::move(rows);
  return document;
}

Verdict verdict(const std::vector<double>& before, const std::vector<double>& after,
                double threshold = 0.05) {
  CompareOptions options;
  options.threshold = threshold;
  const auto comparison = compare(document({row(before)}), document({row(after)}), options);
  EXPECT_EQ(comparison.rows.size(), 1u);
  return comparison.rows.front().verdict;
}

// Against the definition: of all ways to deal n + m distinct ranks to two samples, how many have
// the rank-sum statistic this low or lower, times two.
double p_by_enumeration(unsigned n, unsigned m, unsigned statistic) {
  unsigned low = 0, all = 0;
  for (unsigned dealt = 0; dealt < 1u << (n + m); ++dealt) {
    if (static_cast<unsigned>(std::popcount(dealt)) != n) continue;
    unsigned pairs = 0;  // (one of the first, one of the second) with the first larger.
    for (unsigned i = 0; i < n + m; ++i) {
      for (unsigned j = 0; j < i; ++j)
        pairs += (dealt >> i & 1) != 0 && (dealt >> j & 1) == 0;
    }
    ++all;
    low += pairs <= statistic;
  }
  return std::min(1.0, 2.0 * low / all);
}

TEST(UnpairedRatio, ThePValueIsTheShareOfDealsThatAreAsExtreme) {
  // `moved` of the values of the second sample lie below all of the first.
  for (unsigned n = 2; n <= 6; ++n) {
    for (unsigned m = 2; m <= 6; ++m) {
      for (unsigned moved = 0; moved <= m; ++moved) {
        std::vector<double> before, after;
        for (unsigned i = 0; i < n; ++i)
          before.push_back(100 + i);
        for (unsigned i = 0; i < m; ++i)
          after.push_back(i < moved ? 50 + i : 200 + i);
        const auto ratio = unpaired_ratio(before, after);
        const auto statistic = std::min(moved * n, (m - moved) * n);
        EXPECT_NEAR(ratio.p_value, p_by_enumeration(n, m, statistic), 1e-12)
            << n << " " << m << " " << moved;
      }
    }
  }
}

TEST(UnpairedRatio, TheIntervalLeavesOneOutExactlyWhereThePValueIsBelowFivePercent) {
  std::uint64_t seed = 1;
  unsigned significant = 0;
  for (unsigned trial = 0; trial < 2000; ++trial) {
    std::vector<double> before, after;
    const auto next = [&seed] {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      return static_cast<double>(seed >> 40) / 0x1p24;
    };
    const auto n = 4 + trial % 5, m = 4 + trial / 5 % 5;
    const auto shift = 1 + 0.4 * (trial % 3);
    for (unsigned i = 0; i < n; ++i)
      before.push_back(1 + next());
    for (unsigned i = 0; i < m; ++i)
      after.push_back(shift * (1 + next()));
    const auto ratio = unpaired_ratio(before, after);
    ASSERT_FALSE(ratio.too_few);
    ASSERT_LE(ratio.low, ratio.median);
    ASSERT_LE(ratio.median, ratio.high);
    ASSERT_GE(ratio.coverage, 0.95);
    const bool one_is_out = ratio.low > 1 || ratio.high < 1;
    ASSERT_EQ(one_is_out, ratio.p_value < 0.05) << "trial " << trial;
    significant += one_is_out;
  }
  EXPECT_GT(significant, 500u);
  EXPECT_LT(significant, 1800u);
}

TEST(UnpairedRatio, ManyRepetitionsGoOverToTheNormalDistributionWithoutAJump) {
  std::vector<double> before, after;
  for (unsigned i = 0; i < 50; ++i) {
    before.push_back(100 + i);
    after.push_back(110.5 + i);
  }
  const auto exact = unpaired_ratio(before, after);
  before.push_back(125.25);  // In the middle of both: changes little.
  const auto normal = unpaired_ratio(before, after);
  EXPECT_NEAR(exact.p_value, normal.p_value, 0.002);
  EXPECT_NEAR(exact.low, normal.low, 0.005);
  EXPECT_NEAR(exact.high, normal.high, 0.005);
}

TEST(Compare, AChangeIsAFindingOnlyBeyondTheThresholdAndBeyondChance) {
  const std::vector<double> base = {100, 101, 102, 103, 104};
  EXPECT_EQ(verdict(base, {100.5, 101.5, 102.5, 103.5, 104.5}), Verdict::kSame);
  EXPECT_EQ(verdict(base, {80, 81, 82, 83, 84}), Verdict::kWorse);
  EXPECT_EQ(verdict(base, {120, 121, 122, 123, 124}), Verdict::kBetter);
  EXPECT_EQ(verdict(base, {120, 121, 122, 123, 124}, 0.3), Verdict::kSame);
  // 30 % down at the median, but the repetitions lie all over.
  EXPECT_EQ(verdict({100, 50, 200, 70, 150}, {70, 140, 35, 100, 50}), Verdict::kUnsure);
  // Far apart, but three repetitions each cannot rule out chance at 5 %.
  EXPECT_EQ(verdict({100, 101, 102}, {50, 51, 52}), Verdict::kUnsure);
  EXPECT_EQ(verdict({100}, {100}), Verdict::kUnsure);
}

TEST(Compare, OfATimeLessIsBetter) {
  auto before = row({1}), after = row({1});
  before.set("p99_ns_samples", Value(std::vector<double>{100, 101, 102, 103}));
  after.set("p99_ns_samples", Value(std::vector<double>{50, 51, 52, 53}));
  CompareOptions options;
  options.field = "p99_ns";
  EXPECT_EQ(compare(document({before}), document({after}), options).rows[0].verdict,
            Verdict::kBetter);
  EXPECT_EQ(compare(document({after}), document({before}), options).rows[0].verdict,
            Verdict::kWorse);
}

TEST(Compare, RowsArePairedByWhatTheyMeasuredAndTheRestIsNamed) {
  auto other = row({5, 6, 7, 8});
  other.set("access_bytes", 4096);
  const auto before = document({row({1, 1, 1, 1}, 1), row({2, 2, 2, 2}, 2)});
  const auto after = document({other, row({2, 2, 2, 2}, 2)});
  const auto comparison = compare(before, after, {});
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_EQ(comparison.rows[0].before.threads(), 2u);
  EXPECT_EQ(comparison.only_before,
            std::vector<std::string>{"holdfast read, 1 thread, access_bytes 256"});
  EXPECT_EQ(comparison.only_after,
            std::vector<std::string>{"holdfast read, 1 thread, access_bytes 4096"});
}

// Their order is that in which suites ran; a later suite has parameters of its own.
TEST(Compare, RowsArePairedWhateverTheOrderOfTheParametersAndWhatOnlyOneDocumentNames) {
  auto both = row({1, 2, 3, 4});
  both.set("order", "random");
  auto before = document({both}), after = before;
  before.parameters = {"access_bytes", "order"};
  after.parameters = {"order", "instruction", "access_bytes"};
  EXPECT_EQ(compare(before, after, {}).rows.size(), 1u);
  EXPECT_EQ(compare(after, before, {}).rows.size(), 1u);
  // Listed by one; the row of the other has it, too.
  before.parameters = {"order"};
  after.rows[0].set("access_bytes", 512);
  EXPECT_EQ(compare(before, after, {}).rows.size(), 0u);
}

TEST(Compare, AnInvalidRowIsNeverAFinding) {
  auto bad = row({1000, 1001, 1002, 1003});
  bad.invalidate("wrong answer");
  const auto comparison = compare(document({row({1, 2, 3, 4})}), document({bad}), {});
  EXPECT_EQ(comparison.rows[0].verdict, Verdict::kInvalid);
  EXPECT_EQ(comparison.rows[0].why, "after: wrong answer");
  EXPECT_NE(table(comparison, {}).find("INVALID: after: wrong answer"), std::string::npos);
}

TEST(Compare, WhatChangedInTheEnvironmentIsSaid) {
  auto before = document({row({1, 2, 3, 4})}), after = before;
  before.environment.set("kernel", "Linux 6.1");
  before.environment.set("utc_time", "yesterday");
  after.environment.set("kernel", "Linux 6.18");
  after.environment.set("utc_time", "today");
  EXPECT_EQ(compare(before, after, {}).environment_changes,
            std::vector<std::string>{"kernel: Linux 6.1 -> Linux 6.18"});
}

TEST(Compare, ParametersThatAllRowsShareAreSaidOnce) {
  const auto both = document({row({1, 2, 3, 4}, 1), row({1, 2, 3, 4}, 2)});
  const auto text = table(compare(both, both, {}), {});
  EXPECT_EQ(text.find("all with access_bytes 256\n"), 0u) << text;
  EXPECT_NE(text.find("holdfast read, 2 threads  "), std::string::npos) << text;
}

TEST(Compare, ATableThatIsWiderThanTheTerminalTakesLinesForARow) {
  auto before = row({100, 101, 102, 103}), after = row({50, 51, 52, 53});
  after.warn("others ran there");
  before.set("custom_operations", std::string(60, 'r')),
      after.set("custom_operations", std::string(60, 'r'));
  auto one = document({before, row({1, 2, 3, 4})}), other = document({after, row({1, 2, 3, 4})});
  one.parameters.push_back("custom_operations"), other.parameters = one.parameters;
  CompareOptions options;
  options.columns = 90;
  const auto text = table(compare(one, other, options), options);
  std::istringstream lines(text);
  bool of_its_own = false;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.starts_with("  ") ? line.size() : 0, 90u) << text;
    of_its_own = of_its_own || line == "    after: others ran there";
  }
  EXPECT_TRUE(of_its_own) << text;
}

TEST(Compare, AChangeComesWithWhatItsRowsWarnOf) {
  auto before = row({100, 101, 102, 103}), after = row({50, 51, 52, 53});
  after.warn("others ran there");
  const auto worse = compare(document({before}), document({after}), {});
  ASSERT_EQ(worse.rows.at(0).verdict, Verdict::kWorse);
  EXPECT_EQ(worse.rows[0].why, "after: others ran there");
  EXPECT_NE(table(worse, {}).find("worse: after: others ran there"), std::string::npos);
  // What is the same needs no reason.
  before.warn("odd");
  const auto same = compare(document({before}), document({before}), {});
  EXPECT_EQ(same.rows.at(0).verdict, Verdict::kSame);
  EXPECT_EQ(same.rows[0].why, "");
}

TEST(Compare, OneResultIsComparedWithItselfWhereItMeasuredTwice) {
  auto other = row({10, 11, 12, 13}, 2);  // Was not measured twice.
  auto again = row({200, 202, 204, 206});
  again.set("subject", "again");
  again.warn("A/A: differs from the same measurement by 100.0 %: the cores ran at 2 GHz");
  const auto twice = split_again(document({row({100, 101, 102, 103}), again, other}));
  ASSERT_TRUE(twice);
  const auto comparison = compare(twice->first, twice->second, {});
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_NEAR(comparison.rows[0].ratio.median, 2, 0.05);
  EXPECT_EQ(comparison.rows[0].why, again.texts("warnings")[0]);
  EXPECT_TRUE(comparison.only_before.empty() && comparison.only_after.empty());
  EXPECT_EQ(split_again(document({other})).code(), Errc::kInvalidOption);
}

TEST(Compare, AThresholdOutOfRangeIsRefused) {
  CompareOptions options;
  options.threshold = 5;
  EXPECT_EQ(options.validate().code(), Errc::kInvalidOption);
}

}  // namespace
}  // namespace holdfast::results
