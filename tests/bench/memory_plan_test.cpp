// Plans of runs: what a workload file means on a machine, and every mistake with its place.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/memory/plan.hpp>
#include <holdfast/bench/memory/rows.hpp>
#include <holdfast/bench/memory/workload_file.hpp>
#include <holdfast/yaml/tree.hpp>

namespace holdfast::bench::memory {
namespace {

Machine small_machine() {
  Machine machine;
  machine.cpus = {0, 1};
  machine.nodes = {{0, {0, 1}, {10}}};
  machine.available_bytes = 16 * GiB;
  machine.last_level_cache_bytes = 32 * MiB;
  return machine;
}

Machine two_sockets() {
  Machine machine;
  for (int cpu = 0; cpu < 72; ++cpu)
    machine.cpus.push_back(cpu);
  machine.nodes = {{0, {}, {10, 21, 24}},
                   {1, {}, {21, 10, 34}},
                   {2, {}, {24, 34, 10}}};  // A CXL expander at socket 0.
  for (int cpu = 0; cpu < 72; ++cpu)
    machine.nodes[static_cast<std::size_t>(cpu / 36)].cpus.push_back(cpu);
  machine.available_bytes = 900 * GiB;
  machine.last_level_cache_bytes = 64 * MiB;
  return machine;
}

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    path_ = std::filesystem::temp_directory_path() /
            ("holdfast-plan-" + std::to_string(::getpid()) + ".yaml");
  }
  ~PlanTest() override { std::filesystem::remove(path_); }

  std::string said(const std::string& text, RunOptions options, const Machine& machine) {
    std::ofstream(path_) << text;
    options.path = path_;
    diagnostics_ = yaml::Diagnostics();
    plan_ = make_plan(options, machine, diagnostics_);
    auto words = diagnostics_.text();
    for (auto at = words.find(path_.string()); at != std::string::npos;
         at = words.find(path_.string()))
      words.replace(at, path_.string().size(), "w");
    return words;
  }

  static RunOptions on_dram() {
    RunOptions options;
    options.target = "dram";
    return options;
  }

  std::filesystem::path path_;
  yaml::Diagnostics diagnostics_;
  Plan plan_;
};

TEST_F(PlanTest, ScaleAutoFitsTheSameFileToBothMachines) {
  const std::string text =
      "b:\n  matrix: { number_threads: [1, 2, 8, 32] }\n  args: { memory_range: 50G }\n";
  auto options = on_dram();
  options.scale_auto = true;
  EXPECT_EQ(said(text, options, small_machine()), "");
  ASSERT_EQ(plan_.runs.size(), 2u);  // 8 and 32 became 2, which is there.
  EXPECT_EQ(plan_.runs[1].parts[0].config.number_threads, 2u);
  EXPECT_EQ(plan_.runs[0].parts[0].config.memory_range.bytes, 2 * GiB);
  EXPECT_GT(plan_.runs[0].parts[0].config.run_time_s, 0);
  EXPECT_EQ(said(text, options, two_sockets()), "");
  ASSERT_EQ(plan_.runs.size(), 4u);
  EXPECT_EQ(plan_.runs[3].parts[0].config.memory_range.bytes, 50 * GiB);
}

// MEM-4: a range was rounded down after it was compared with the cache, and 1.92 GiB became 1 GiB.
TEST_F(PlanTest, ScaleAutoKeepsRangesBeyondTheCacheAsLongAsThereIsRoom) {
  const std::string pair =
      "b:\n  parallel_benchmark:\n    one: { args: { memory_range: 50G } }\n"
      "    two: { args: { memory_range: 50G } }\n";
  auto options = on_dram();
  options.scale_auto = true;
  auto machine = small_machine();
  machine.last_level_cache_bytes = 480 * MiB;
  EXPECT_EQ(said(pair, options, machine), "");
  for (const auto& part : plan_.runs[0].parts)
    EXPECT_EQ(part.config.memory_range.bytes, 2 * GiB);
  // Half of the memory for both does not hold four caches for each.
  machine.available_bytes = 6 * GiB;
  EXPECT_EQ(said(pair, options, machine), "");
  EXPECT_EQ(plan_.runs[0].parts[0].config.memory_range.bytes, 1 * GiB);
  ASSERT_FALSE(plan_.notes.empty());
  EXPECT_EQ(plan_.notes[0],
            "region target has room for ranges of 1 GiB only, less than four times the last-level "
            "cache of 480 MiB: part of what is measured is the cache");
}

// MEM-8: every 5000th operation of a repetition of 20 ms is too few for any percentile.
TEST_F(PlanTest, SamplesComeSoonerWhereRepetitionsAreCut) {
  const std::string text =
      "b:\n  args: { memory_range: 1G, custom_operations: r_64, run_time: 10, "
      "latency_sample_frequency: 5000 }\n";
  auto options = on_dram();
  EXPECT_EQ(said(text, options, small_machine()), "");
  EXPECT_EQ(plan_.runs[0].parts[0].config.sample_every(), 5000u);
  options.scale_auto = true;  // A quarter of a second.
  EXPECT_EQ(said(text, options, small_machine()), "");
  const auto& config = plan_.runs[0].parts[0].config;
  EXPECT_EQ(config.sample_every(), 125u);
  // What was measured has the same name all the same.
  EXPECT_EQ(parameters_of(plan_.runs[0], 0).number("latency_sample_frequency"), 5000);
}

TEST_F(PlanTest, BudgetIsSharedByAllRepetitions) {
  auto options = on_dram();
  options.time_budget_s = 60;
  EXPECT_EQ(
      said("b:\n  matrix: { access_size: [64, 128, 256, 512] }\n  args: { memory_range: 1G }\n",
           options, small_machine()),
      "");
  double seconds = 0;
  for (const auto& run : plan_.runs)
    seconds += estimated_seconds(run, options);
  EXPECT_GT(seconds, 30);
  EXPECT_LT(seconds, 60);
}

TEST_F(PlanTest, WhatTheMachineLacksIsAMistakeUnlessItScales) {
  const std::string far = "b:\n  args: { memory_range: 1G, numa_pattern: far }\n";
  EXPECT_EQ(said(far, on_dram(), small_machine()),
            "w:2:43: numa_pattern: far is wanted, but no CPU of this machine is far "
            "from the "
            "memory\n");
  EXPECT_EQ(said(far, on_dram(), two_sockets()), "");
  auto options = on_dram();
  options.scale_auto = true;
  const auto both = far + "c:\n  args: { memory_range: 1G }\n";
  EXPECT_EQ(said(both, options, small_machine()), "");
  EXPECT_EQ(plan_.runs.size(), 1u);
  ASSERT_GE(plan_.notes.size(), 1u);
  EXPECT_EQ(plan_.notes[0],
            "numa_pattern far is wanted, but no CPU of this machine is far from the memory: left "
            "out of b");
  // Where nothing is left, the reason is the message.
  EXPECT_EQ(said(far, options, small_machine()),
            "w: nothing in it can run on this machine: numa_pattern far is wanted, but no CPU of "
            "this machine is far from the memory: left out of b\n");
}

// A matrix of sizes that divide different ranges, and of shares between two ranges: with --scale
// auto each would get a range of its own, and no two rows were of one line.
TEST_F(PlanTest, ScaleAutoGivesAllOfABenchmarkTheSameRanges) {
  auto options = on_dram();
  options.scale_auto = true;
  EXPECT_EQ(
      said("sizes:\n  matrix: { access_size: [64, 192, 320, 448, 1024], number_threads: [1, 2] }\n"
           "  args: { memory_range: 10080M, exec_mode: random }\n",
           options, small_machine()),
      "");
  ASSERT_EQ(plan_.runs.size(), 10u);
  for (const auto& run : plan_.runs) {
    const auto bytes = run.parts[0].config.memory_range.bytes;
    EXPECT_EQ(bytes, plan_.runs[0].parts[0].config.memory_range.bytes);
    EXPECT_EQ(bytes % run.parts[0].config.access_bytes, 0u);
    EXPECT_GT(bytes, 2 * GiB - 1 * MiB);
  }
  EXPECT_EQ(said("shares:\n  matrix: { dram_operation_ratio: [0, 0.5, 1] }\n"
                 "  args: { memory_range: 8G, dram_memory_range: 8G, exec_mode: random }\n",
                 options, small_machine()),
            "");
  ASSERT_EQ(plan_.runs.size(), 3u);
  for (const auto& run : plan_.runs) {
    const auto fields = parameters_of(run, 0);
    EXPECT_EQ(fields.number("memory_range_bytes"), 1.0 * GiB);
    EXPECT_EQ(fields.number("dram_memory_range_bytes"), 1.0 * GiB);
    EXPECT_EQ(fields.text("region"), "target");
    EXPECT_EQ(fields.text("dram_region"), "dram");
  }
  // What no access goes to is not opened all the same.
  EXPECT_FALSE(plan_.runs[0].parts[0].uses_dram);
  EXPECT_FALSE(plan_.runs[2].parts[0].uses_target);
}

// What was cut is in the plan's notes, and so in the result's warnings.
TEST_F(PlanTest, WhatABudgetCutsIsSaid) {
  const std::string text =
      "long:\n  args: { memory_range: 64M, run_time: 20 }\n"
      "pass:\n  args: { memory_range: 64M }\n"
      "short:\n  args: { memory_range: 64M, run_time: 1ms }\n";
  auto options = on_dram();
  options.time_budget_s = 10;
  EXPECT_EQ(said(text, options, small_machine()), "");
  ASSERT_EQ(plan_.notes.size(), 1u);
  EXPECT_NE(plan_.notes[0].find("(--time-budget): of 3 runs 1 have a longer run_time in their "
                                "files, and 1 a number of operations"),
            std::string::npos)
      << plan_.notes[0];
  double seconds = 0;
  for (const auto& run : plan_.runs) {
    EXPECT_LE(run.seconds_max, plan_.seconds_per_repetition);
    seconds += estimated_seconds(run, options);
  }
  EXPECT_LT(seconds, 10);
  options.time_budget_s = 1;  // Less than calibration takes.
  EXPECT_EQ(said(text, options, small_machine()), "");
  ASSERT_EQ(plan_.notes.size(), 2u);
  EXPECT_EQ(plan_.notes[0],
            "the time budget is too small for 3 runs: each repetition gets 20 ms, and it will be "
            "exceeded; --filter chooses some");
  options.time_budget_s = 0;  // Without a budget nothing is cut, and nothing said.
  EXPECT_EQ(said(text, options, small_machine()), "");
  EXPECT_TRUE(plan_.notes.empty());
}

TEST_F(PlanTest, MistakesOfTheCommandNameTheirOption) {
  const std::string text = "b:\n  args: { memory_range: 1G }\n";
  EXPECT_EQ(said(text, RunOptions(), small_machine()),
            "--target: is missing: benchmark \"b\" measures it; give --target SPEC (a path, "
            "/dev/daxX.Y, dram or node:N), or --dram\n");
  auto options = on_dram();
  options.target = "node:7";
  EXPECT_EQ(said(text, options, small_machine()),
            "--target: region \"target\" is wanted, but there is no NUMA node 7; this machine has "
            "node 0\n");
  options.target = "/etc";
  EXPECT_NE(said(text, options, small_machine()).find("not empty"), std::string::npos);
  options.target = "/etc/passwd";
  EXPECT_NE(said(text, options, small_machine()).find("exists"), std::string::npos);
  options.target = "/no/such/place";
  EXPECT_NE(said(text, options, small_machine()).find("there is no directory /no/such"),
            std::string::npos);
  options = on_dram();
  options.filters = {"bb"};
  EXPECT_EQ(said(text, options, small_machine()),
            "--filter: \"bb\" matches no benchmark; did you mean \"b\"?\n");
}

TEST_F(PlanTest, TooLittleMemoryIsKnownBeforehand) {
  EXPECT_EQ(
      said("b:\n  args: { memory_range: 50G }\n", on_dram(), small_machine()),
      "w:2:25: memory_range: too little memory: 50 GiB are needed, 16 GiB are available; make "
      "the range smaller, or use --scale auto\n");
}

// BEN-1: a list says what there is; it needs neither the memory nor the nodes.
TEST_F(PlanTest, AListNeedsNoMemory) {
  auto options = on_dram();
  options.list_only = true;
  EXPECT_EQ(said("regions: { far: { spec: \"node:7\" } }\nb:\n  args: { memory_range: 100G }\n"
                 "c:\n  args: { memory_range: 100G, region: far, numa_pattern: far }\n",
                 options, small_machine()),
            "");
  EXPECT_EQ(plan_.runs.size(), 2u);
}

// BEN-2: --dry-run said yes to these.
TEST_F(PlanTest, ATargetThatARunWouldRefuseIsRefusedByThePlan) {
  RunOptions options;
  options.target = "/dev/null";
  EXPECT_EQ(said("b:\n  args: { memory_range: 1M }\n", options, small_machine()),
            "--target: /dev/null is a character device but not a devdax; give a path that does not "
            "exist yet, an empty directory or /dev/daxX.Y\n");
  options.target = path_.string() + ".page?granularity=page";
  EXPECT_NE(
      said("b:\n  args: { memory_range: 1M }\n", options, small_machine()).find("without DAX"),
      std::string::npos);
  options.target = path_.string() + ".none?granularity=none";
  EXPECT_EQ(said("b:\n  args: { memory_range: 1M }\n", options, small_machine()), "");
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".none"));
}

// MEM-7: DRAM was measured against DRAM where a region was given that no benchmark uses.
TEST_F(PlanTest, ARegionThatNothingUsesIsAMistake) {
  auto options = on_dram();
  options.regions = {{"slow", "dram"}};
  EXPECT_EQ(
      said("b:\n  args: { memory_range: 1M }\n", options, small_machine()),
      "--region slow: no benchmark here uses a region of that name; there are dram, target\n");
  EXPECT_EQ(said("b:\n  args: { memory_range: 1M, region: slow }\n", options, small_machine()), "");
}

// BEN-6: two files of a directory may use the same name.
TEST_F(PlanTest, ANameThatAnotherFileHasGetsItsFilesNameInFront) {
  const auto directory = std::filesystem::path(path_.string() + ".d");
  std::filesystem::create_directory(directory);
  for (const auto* name : {"one", "two"})
    std::ofstream(directory / (std::string(name) + ".yaml"))
        << "same:\n  args: { memory_range: 1M }\n";
  yaml::Diagnostics diagnostics;
  const auto workloads = read_workloads(directory.string(), diagnostics);
  std::filesystem::remove_all(directory);
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(workloads.benchmarks.size(), 2u);
  EXPECT_EQ(workloads.benchmarks[0].name, "same");
  EXPECT_EQ(workloads.benchmarks[1].name, "two/same");
}

TEST_F(PlanTest, SharesOfMemoryAreWholeAccesses) {
  EXPECT_EQ(
      said("b:\n  args: { memory_range: 25%, access_size: 640 }\n", on_dram(), small_machine()),
      "");
  const auto bytes = plan_.runs[0].parts[0].target.bytes;
  EXPECT_EQ(bytes % 640, 0u);
  EXPECT_GT(bytes, 4 * GiB - 640);
  EXPECT_LE(bytes, 4 * GiB);
}

TEST_F(PlanTest, HugePagePolicyReachesTheRegion) {
  const auto spec = [&](const std::string& args) {
    EXPECT_EQ(said("b:\n  args: { memory_range: 1G, " + args + " }\n", on_dram(), small_machine()),
              "");
    return plan_.runs[0].parts[0].target.spec;
  };
  EXPECT_EQ(spec("run_time: 1"), "dram");
  EXPECT_EQ(spec("huge_pages: \"off\""), "dram?huge=off");
  EXPECT_EQ(spec("huge_pages: 1G"), "dram?huge=1G");
  EXPECT_EQ(spec("dram_huge_pages: false"), "dram?huge=off");
}

TEST_F(PlanTest, ARegionThatThisMachineLacksMattersWhereItIsUsed) {
  const std::string text =
      "regions:\n  slow: { spec: \"node:2\" }\nhere:\n  args: { memory_range: 1G }\nb:\n  matrix: "
      "{ "
      "access_size: [64, 256] }\n  args: { memory_range: 1G, region: slow }\n";
  // Said once, whatever the number of combinations.
  EXPECT_EQ(
      said(text, on_dram(), small_machine()),
      "w:2:3: region \"slow\" is wanted, but there is no NUMA node 2; this machine has node 0\n");
  auto options = on_dram();
  options.filters = {"here"};
  EXPECT_EQ(said(text, options, small_machine()), "");
  EXPECT_EQ(plan_.runs.size(), 1u);
  options = on_dram();
  options.scale_auto = true;
  EXPECT_EQ(said(text, options, small_machine()), "");
  ASSERT_GE(plan_.notes.size(), 1u);
  EXPECT_EQ(plan_.notes[0],
            "region \"slow\" is wanted, but there is no NUMA node 2; this machine has node 0: left "
            "out of b");
  EXPECT_EQ(said(text, on_dram(), two_sockets()), "");
}

TEST_F(PlanTest, AMistypedDeviceIsNoFile) {
  auto options = on_dram();
  options.target = "/dev/dax77.0";
  EXPECT_NE(said("b:\n  args: { memory_range: 1G }\n", options, small_machine())
                .find("/dev/dax77.0: there is no such device"),
            std::string::npos);
}

TEST_F(PlanTest, TooLittleSpaceForAFileIsKnownBeforehand) {
  auto options = on_dram();
  options.target = (std::filesystem::temp_directory_path() / "holdfast-no-such-file").string();
  const auto message =
      said("b:\n  args: { memory_range: 90000G, access_size: 64K }\n", options, small_machine());
  EXPECT_NE(message.find("w:2:25: memory_range: too little space: "), std::string::npos) << message;
  EXPECT_NE(message.find("; make the range smaller, or use --scale auto"), std::string::npos);
}

TEST_F(PlanTest, UnknownRegionsAreNamedWithThoseThereAre) {
  EXPECT_EQ(
      said("b:\n  args: { memory_range: 1G, region: taget }\n", on_dram(), small_machine()),
      "w:2:37: region: \"taget\" is no region; did you mean \"target\"? (regions come from the "
      "file's `regions` and from --region NAME=SPEC)\n");
  auto options = on_dram();
  options.regions = {{"slow", "node:0"}};
  EXPECT_EQ(said("b:\n  args: { memory_range: 1G, region: slow }\n", options, small_machine()), "");
  EXPECT_EQ(plan_.runs[0].parts[0].target.spec, "node:0");
}

TEST(MachineCpus, NearFarAndBothOfASocket) {
  const auto machine = two_sockets();
  EXPECT_EQ(machine.cpus_for(1, NumaPattern::kNear).front(), 36);
  EXPECT_EQ(machine.cpus_for(1, NumaPattern::kFar).front(), 0);
  const auto both = machine.cpus_for(0, NumaPattern::kBoth);
  EXPECT_EQ(both.size(), 72u);
  EXPECT_EQ(both[0], 0);
  EXPECT_EQ(both[1], 36);
  // Memory without CPUs is near to the socket that is nearest to it.
  EXPECT_EQ(machine.cpus_for(2, NumaPattern::kNear).front(), 0);
  EXPECT_EQ(machine.cpus_for(2, NumaPattern::kFar).front(), 36);
  EXPECT_FALSE(small_machine().has_far());
}

// What is shipped is right, on a small machine and on a large one.
TEST(Shipped, WorkloadsFitEveryMachine) {
  for (const auto& machine : {small_machine(), two_sockets()}) {
    RunOptions options;
    options.path = std::string(HF_SOURCE_DIR) + "/workloads";
    options.target = "dram";
    options.scale_auto = true;
    yaml::Diagnostics diagnostics;
    const auto plan = make_plan(options, machine, diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    EXPECT_GT(plan.runs.size(), 300u);
    EXPECT_GE(plan.workloads.benchmarks.size(), 50u);
  }
}

// MEM-13: the twin without flushes had another range than the update it was to be compared with.
TEST(Shipped, MEM13TheUnflushedTwinDiffersInItsFlushesAlone) {
  RunOptions options;
  options.path = std::string(HF_SOURCE_DIR) + "/workloads/operations/hash_index.yaml";
  options.target = "dram";
  yaml::Diagnostics diagnostics;
  const auto plan = make_plan(options, two_sockets(), diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  std::vector<const Config*> flushed, unflushed;
  for (const auto& run : plan.runs) {
    const auto& config = run.parts.front().config;
    if (run.benchmark->name == "hash_index_update") flushed.push_back(&config);
    if (run.benchmark->name == "hash_index_update_unflushed") unflushed.push_back(&config);
  }
  ASSERT_GT(flushed.size(), 0u);
  ASSERT_EQ(flushed.size(), unflushed.size());
  for (std::size_t i = 0; i < flushed.size(); ++i) {
    const auto &with = *flushed[i], &without = *unflushed[i];
    EXPECT_EQ(with.memory_range.bytes, without.memory_range.bytes);
    EXPECT_EQ(with.number_threads, without.number_threads);
    EXPECT_EQ(with.number_operations, without.number_operations);
    auto bare = with.chain;
    for (auto& operation : bare)
      operation.persist = PersistKind::kNone;
    EXPECT_EQ(without.chain, bare);
    EXPECT_GT(fences_of(with.chain), 0u);
    EXPECT_EQ(fences_of(without.chain), 0u);
  }
}

// MEM-13: figures of papers whose numbers of threads were missing.
TEST(Shipped, MEM13FiguresHaveTheThreadsOfTheirPapers) {
  const auto threads_of = [](const std::string& file, const std::string& prefix) {
    RunOptions options;
    options.path = std::string(HF_SOURCE_DIR) + "/workloads/" + file;
    options.target = "dram";
    yaml::Diagnostics diagnostics;
    const auto plan = make_plan(options, two_sockets(), diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    std::set<unsigned> threads;
    for (const auto& run : plan.runs) {
      if (run.benchmark->name.starts_with(prefix))
        threads.insert(run.parts.front().config.number_threads);
    }
    return threads;
  };
  const auto prefetcher = threads_of("cxl/prefetcher.yaml", "prefetcher_sensitive_sizes");
  EXPECT_TRUE(prefetcher.contains(16) && prefetcher.contains(32));  // Benson, figure 3.11.
  const auto figure_10 = threads_of("olap/sequential_writes.yaml", "olap_write_");
  for (const unsigned threads : {1u, 18u, 24u, 36u, 48u, 72u})
    EXPECT_TRUE(figure_10.contains(threads)) << threads;
}

}  // namespace
}  // namespace holdfast::bench::memory
