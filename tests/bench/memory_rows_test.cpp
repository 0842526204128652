// What rows say of what was measured: warnings, INVALID, why two runs differ, and limits.
#include <gtest/gtest.h>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/bench/memory/rows.hpp>
#include <holdfast/results/again.hpp>

#include "memory_support.hpp"

namespace holdfast::bench::memory {
namespace {

// Regions, pages, repetitions, pairs, and INVALID: in one run, for calibration takes two seconds.
TEST(Run, RegionsPairsRepetitionsAndWhatCannotBe) {
  // This machine, but with a last-level cache so small that what lies in a real one passes for
  // memory: its rate is then one that memory does not have, and must be INVALID.
  auto machine = Machine::read();
  machine.last_level_cache_bytes = 16 * KiB;
  RunOptions options;
  options.regions = {{"far", "dram?huge=off"}};
  const auto outcome = run_text(R"(regions:
  near: { nodes: [0], weights: [2] }
tiers:
  matrix: { region: [near, far] }
  args: { memory_range: 4M, exec_mode: chase, number_operations: 70000, repetitions: 3 }
pair:
  parallel_benchmark:
    one: { args: { memory_range: 2M, run_time: 20ms, repetitions: 2 } }
    two: { args: { memory_range: 2M, run_time: 20ms, repetitions: 2 } }
in_the_cache:
  args: { memory_range: 64K, access_size: 4096, run_time: 100ms, repetitions: 3 }
)",
                                machine, options);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& document = outcome->document;
  ASSERT_EQ(document.rows.size(), 5u);
  EXPECT_EQ(document.rows[0].text("region"), "near");
  EXPECT_EQ(document.rows[1].text("region"), "far");
  EXPECT_EQ(document.rows[0].number("repetitions"), 3);
  EXPECT_EQ(document.rows[2].number("repetitions"), 2);
  std::set<std::string> regions;
  for (const auto& region : document.regions) {
    regions.insert(region.text("name"));
    if (region.text("name") == "far") {
      EXPECT_EQ(region.number("page_bytes"), 4096);
    } else if (region.text("name") == "near") {
      EXPECT_EQ(region.numbers("numa_node_shares"), std::vector<double>{1.0});
    }
  }
  EXPECT_EQ(regions, (std::set<std::string>{"near", "far", "target"}));
  const auto& one = document.rows[2];
  const auto& two = document.rows[3];
  EXPECT_GT(one.number("both_bytes_per_s_median"), one.number("bytes_per_s_median"));
  EXPECT_DOUBLE_EQ(one.number("both_bytes_per_s_median"), two.number("both_bytes_per_s_median"));
  const auto& cached = document.rows[4];
#ifdef HF_SANITIZED
  GTEST_SKIP() << "every load is also a call, and no cache is faster than memory";
#endif
  // A thread without its CPU is slower than any memory.
  if (cached.number("cpu_share") < 0.9) GTEST_SKIP() << "others had the CPU for too long";
  EXPECT_FALSE(cached.valid());
  EXPECT_NE(cached.invalid_reason().find("GiB/s"), std::string::npos) << cached.invalid_reason();
  EXPECT_FALSE(outcome->trustworthy);
}

results::Row measured(double rate, double cpu_share, double spread) {
  results::Row row("holdfast", "scan", 1);
  row.set("ops_per_s_median", rate);
  row.set("cpu_share", cpu_share);
  row.set("spread_ratio", spread);
  row.set("stolen_ratio", 0.0);
  row.set("involuntary_switches", std::uint64_t{0});
  row.set("page_faults", std::uint64_t{0});
  row.set("core_ghz_samples", results::Value(std::vector<double>{3.5, 3.5}));
  return row;
}

// Every reason that is recorded is said, on its own; and where there is none, that.
TEST(Again, WhatDiffersByMoreThanThreePercentSaysWhyOrThatNothingTells) {
  const auto calm = measured(1e9, 1, 0.01);
  const auto said = [&](const std::function<void(results::Row&)>& change, double ratio = 1.05,
                        double low = 1.04) {
    auto again = calm;
    change(again);
    again.set("time_x_holdfast_median", ratio);
    again.set("time_x_holdfast_low", low);
    again.set("time_x_holdfast_high", ratio + 0.01);
    const bool within = results::judge_again(again, calm);
    const auto warnings = again.texts("warnings");
    EXPECT_EQ(within, warnings.empty());
    return warnings.empty() ? "" : warnings[0];
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(text.find("A/A: differs from the same measurement by 5.0 %: "), std::string::npos);
    EXPECT_EQ(text.find("; "), std::string::npos) << text;  // One reason, and only that.
  };
  EXPECT_EQ(said([](results::Row&) {}, 1.02, 1.01), "");
  expect(said([](results::Row& row) { row.set("cpu_share", 0.8); }), "others ran on its CPUs");
  expect(said([](results::Row& row) { row.set("stolen_ratio", 0.1); }), "took up to 10.0 %");
  expect(said([](results::Row& row) { row.set("page_faults", std::uint64_t{7}); }),
         "0 page faults the first time and 7 the second");
  expect(said([](results::Row& row) {
           row.set("core_ghz_samples", results::Value(std::vector<double>{3.0, 3.0}));
         }),
         "at 3.50 GHz the first time and at 3.00 GHz the second");
  expect(said([](results::Row& row) {
           row.set("thread_pinning", results::Value(std::string("none")));
         }),
         "not pinned");
  expect(said([](results::Row& row) { row.set("spread_ratio", 0.3); }), "30.0 % the second");
  expect(said([](results::Row&) {}, 1.05, 0.99), "has 1 in it");
  EXPECT_NE(said([](results::Row&) {}).find("nothing that was recorded explains it"),
            std::string::npos);
  EXPECT_NE(said([](results::Row& row) {
              row.set("cpu_share", 0.8), row.set("spread_ratio", 0.3);
            }).find("; repetitions differ"),
            std::string::npos);
}

// Faults in the timed part cannot be ordered, so a made-up repetition has them.
TEST(Rows, FaultsSwitchesAndSpreadBecomeWarnings) {
  Machine machine;
  machine.cpus = {0, 1};
  machine.nodes = {{0, {0, 1}, {10}}};
  machine.available_bytes = 8 * GiB;
  machine.last_level_cache_bytes = 1 * MiB;
  RunOptions options;
  options.target = "dram";
  options.path = std::filesystem::temp_directory_path() /
                 ("holdfast-rows-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(options.path) << "b:\n  args: { memory_range: 64M, access_size: 64 }\n";
  yaml::Diagnostics diagnostics;
  const auto plan = make_plan(options, machine, diagnostics);
  std::filesystem::remove(options.path);
  ASSERT_EQ(diagnostics.text(), "");
  LoadResult good;
  good.operations = 1'000'000;
  good.bytes = 64'000'000;
  good.seconds = good.cpu_seconds = 0.1;
  MachineLimits limits;
  limits.one_thread.memory_read_bytes_per_s = limits.read_bytes_per_s = 1e12;
  limits.one_thread.cache_read_bytes_per_s = 1e12;
  const auto warnings_of = [&](const Series& series) {
    const auto row = row_of({plan.runs[0], 0, machine, limits}, "holdfast", series, "");
    EXPECT_TRUE(row->valid()) << row->invalid_reason();
    std::string text;
    for (const auto& warning : row->texts("warnings"))
      text += warning + "\n";
    return text;
  };
  EXPECT_EQ(warnings_of({good, good}), "");
  auto faulty = good;
  faulty.page_faults = 1;
  EXPECT_EQ(warnings_of({good, faulty}), "1 page fault in the timed part\n");
  auto slow = good;
  slow.seconds = slow.cpu_seconds = 0.2;
  EXPECT_NE(warnings_of({good, slow}).find("repetitions differ by"), std::string::npos);
  EXPECT_NE(warnings_of({good, slow, std::nullopt}).find("repetitions differ by"),
            std::string::npos)
      << "one repetition did not count";
  auto robbed = good;
  robbed.cpu_seconds = 0.05;
  EXPECT_NE(warnings_of({robbed, robbed}).find("for 50 % of the time only"), std::string::npos);
  // MEM-5: 64 MiB is beyond a cache of 1 MiB, and inside of one of 480 MiB.
  machine.last_level_cache_bytes = 480 * MiB;
  EXPECT_EQ(warnings_of({good, good}),
            "a range of 64 MiB fits into the last-level cache of 480 MiB: part of what is measured "
            "is the cache\n");
  machine.last_level_cache_bytes = 32 * MiB;
  EXPECT_NE(warnings_of({good, good}).find("is less than four times the last-level cache"),
            std::string::npos);
}

// Somebody else was reading when the limits were found, and good rows were refused for that.
TEST(Limits, ADisturbedSearchIsMendedByASecondOne) {
  MachineLimits disturbed, quiet;
  disturbed.one_thread.memory_read_bytes_per_s = 17e9;
  disturbed.one_thread.dependent_read_ns = 223;
  disturbed.read_bytes_per_s = 47e9;
  quiet.one_thread.memory_read_bytes_per_s = 27e9;
  quiet.one_thread.dependent_read_ns = 110;
  quiet.one_thread.persist_line_ns = 90;  // Not found the first time.
  quiet.read_bytes_per_s = 45e9;
  quiet.seconds = disturbed.seconds = 2;
  disturbed.loosen(quiet);
  EXPECT_EQ(disturbed.one_thread.memory_read_bytes_per_s, 27e9);
  EXPECT_EQ(disturbed.one_thread.dependent_read_ns, 110);
  EXPECT_EQ(disturbed.one_thread.persist_line_ns, 90);
  EXPECT_EQ(disturbed.read_bytes_per_s, 47e9) << "what was better the first time stays";
  EXPECT_EQ(disturbed.seconds, 4);
}

TEST(Budget, WhatIsLeftIsSharedByWhatIsToCome) {
  // 10 s for 100 executions of which each costs 20 ms beside: 80 ms each, if that was planned.
  EXPECT_NEAR(seconds_within(10, 100, 0.02, 1.0), 0.08, 1e-9);
  EXPECT_EQ(seconds_within(10, 100, 0.02, 0.05), 0.05);  // Never more than planned,
  EXPECT_EQ(seconds_within(1, 100, 0.02, 0.05), kSecondsMin);
  EXPECT_EQ(seconds_within(-5, 100, 0.02, 0.05), kSecondsMin);  // nor less than tells anything.
  EXPECT_EQ(seconds_within(5, 0, 0.02, 0.05), 0.05);
}

}  // namespace
}  // namespace holdfast::bench::memory
