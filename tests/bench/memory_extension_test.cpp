// Each key beyond the published nineteen does what it says: the effect is looked at, not only that
// the file is read. What needs a second NUMA node or socket is tested on made-up machines in
// memory_workload_test.cpp.
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include <holdfast/bench/memory/again.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/execution.hpp>
#include <holdfast/bench/memory/rows.hpp>
#include <holdfast/bench/memory/run.hpp>
#include <holdfast/bench/memory/verification.hpp>
#include <holdfast/bench/memory/worker.hpp>
#include <holdfast/memory/pages.hpp>

namespace holdfast::bench::memory {
namespace {

std::unique_ptr<Tier> tier_of(const std::string& spec, std::uint64_t bytes,
                              std::vector<int> nodes = {}, std::vector<unsigned> weights = {}) {
  TierNeed need;
  need.name = "target";
  need.spec = spec;
  need.bytes = bytes;
  need.nodes = std::move(nodes);
  need.weights = std::move(weights);
  auto tier = Tier::open(need);
  EXPECT_TRUE(tier) << (tier ? "" : tier.error().message());
  return tier ? std::move(tier).value() : nullptr;
}

Config config_of(const std::string& args) {
  Workloads workloads;
  Diagnostics diagnostics;
  read_workload_text("b:\n  args: {" + args + "}\n", "w", workloads, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return workloads.benchmarks.at(0).parts.at(0).variants.at(0).config;
}

Load load_of(const std::string& args, Tier& target, Tier* dram = nullptr) {
  Load load;
  load.config = config_of(args);
  load.target = &target;
  load.target_bytes = load.config.memory_range.bytes;
  load.dram = load.config.uses_dram() ? dram : nullptr;
  load.dram_bytes = load.dram == nullptr ? 0 : load.config.dram_memory_range.bytes;
  load.seed = 7;
  return load;
}

LoadResult run_once(const std::string& args, Tier& target) {
  PreparedLoad prepared(load_of(args, target));
  std::vector<PreparedLoad*> loads = {&prepared};
  auto result = execute(loads, 1).front();
  EXPECT_EQ(result.wrong, "") << args;
  return result;
}

// ---- which bytes are accessed, in which order, by whom ----

// Byte, and whether it is a write, of operations [0, count) of a lane.
struct Access {
  std::uint64_t byte = 0;
  bool write = false;
  bool dram = false;
};
std::vector<Access> accesses_of(const Config& config, unsigned lane, std::uint64_t count) {
  SharedWork work;
  work.config = &config;
  work.target.bytes = config.memory_range.bytes;
  work.dram.bytes = config.dram_memory_range.bytes;
  work.plan_packages();
  std::vector<Access> accesses;
  work.for_each_piece(lane, 0, count, [&](const Piece& piece) {
    for (std::uint64_t i = 0; i < piece.count; ++i)
      accesses.push_back({piece.byte_of(i), piece.write, piece.dram});
  });
  return accesses;
}

std::vector<std::uint64_t> bytes_of(const std::string& args, unsigned lane, std::uint64_t count) {
  std::vector<std::uint64_t> bytes;
  for (const auto& access : accesses_of(config_of(args), lane, count))
    bytes.push_back(access.byte);
  return bytes;
}

using Bytes = std::vector<std::uint64_t>;

TEST(Order, DescendingIsFromTheEndDown) {
  EXPECT_EQ(bytes_of("memory_range: 4K, access_size: 512, exec_mode: sequential_desc", 0, 9),
            (Bytes{3584, 3072, 2560, 2048, 1536, 1024, 512, 0, 3584}));
}

TEST(Order, StridedLeavesOutWhatLiesBetween) {
  EXPECT_EQ(bytes_of("memory_range: 4K, access_size: 64, exec_mode: strided, stride: 1K", 0, 5),
            (Bytes{0, 1024, 2048, 3072, 0}));
}

TEST(Order, GroupedThreadsTakeTurns) {
  const std::string args =
      "memory_range: 1536, access_size: 256, number_threads: 3, grouping: grouped";
  EXPECT_EQ(bytes_of(args, 0, 2), (Bytes{0, 768}));
  EXPECT_EQ(bytes_of(args, 1, 2), (Bytes{256, 1024}));
  EXPECT_EQ(bytes_of(args, 2, 3), (Bytes{512, 1280, 512}));
}

TEST(Order, IndividualThreadsHaveARangeEach) {
  const std::string args =
      "memory_range: 2K, access_size: 256, number_threads: 2, grouping: individual";
  EXPECT_EQ(bytes_of(args, 0, 5), (Bytes{0, 256, 512, 768, 0}));
  EXPECT_EQ(bytes_of(args, 1, 5), (Bytes{1024, 1280, 1536, 1792, 1024}));
}

TEST(Order, PartitionsAreDisjoint) {
  const std::string args =
      "memory_range: 2K, access_size: 256, number_threads: 4, number_partitions: 2";
  EXPECT_EQ(bytes_of(args, 0, 4), (Bytes{0, 256, 512, 768}));
  EXPECT_EQ(bytes_of(args, 1, 4), (Bytes{1024, 1280, 1536, 1792}));
}

TEST(Order, WriteRatioIsTheShareOfWrites) {
  const auto accesses =
      accesses_of(config_of("memory_range: 1M, access_size: 64, write_ratio: 0.25"), 0, 6400);
  EXPECT_EQ(std::count_if(accesses.begin(), accesses.end(), [](auto a) { return a.write; }), 1600);
  // In each group, not first all of the one kind.
  EXPECT_EQ(std::count_if(accesses.begin(), accesses.begin() + 640, [](auto a) { return a.write; }),
            160);
}

TEST(Order, DramRatioIsTheShareOfTheSecondRange) {
  const auto config = config_of(
      "memory_range: 1M, dram_memory_range: 1M, access_size: 64, exec_mode: random, "
      "dram_operation_ratio: 0.75");
  const auto accesses = accesses_of(config, 0, 6400);
  EXPECT_EQ(std::count_if(accesses.begin(), accesses.end(), [](auto a) { return a.dram; }), 4800);
}

// ---- what is done beside ----

TEST(Delay, IsBetweenAccessesAsOftenAsIsSaid) {
  const auto tier = tier_of("dram", 2 * MiB);
  const std::string args = "memory_range: 256K, access_size: 4096";  // 64 accesses.
  EXPECT_GE(run_once(args + ", delay: 200us", *tier).seconds, 64 * 200e-6);
  const auto some = run_once(args + ", delay: 200us, delay_every_operations: 16", *tier).seconds;
  EXPECT_GE(some, 4 * 200e-6);
  EXPECT_GE(run_once(args + ", pause_frequency: 8, pause_length_micros: 300", *tier).seconds,
            8 * 300e-6);
}

// Latency of dependent reads beside a throttled load: the chase samples or averages, the load keeps
// its pace.
TEST(LoadedLatency, TheDelayThrottlesTheLoadBesideAChase) {
  const auto one = tier_of("dram", 4 * MiB);
  const auto two = tier_of("dram", 4 * MiB);
  PreparedLoad chase(load_of("memory_range: 4M, exec_mode: chase, run_time: 50ms", *one));
  PreparedLoad load(
      load_of("memory_range: 4M, access_size: 4096, delay: 100us, run_time: 50ms", *two));
  std::vector<PreparedLoad*> loads = {&chase, &load};
  const auto results = execute(loads, 1);
  for (const auto& result : results)
    EXPECT_EQ(result.wrong, "");
  EXPECT_GT(results[0].operations, 100u);
  EXPECT_GT(results[1].operations, 0u);
  // The last delay may be cut short by the end.
  EXPECT_LE(static_cast<double>(results[1].operations - 1) * 100e-6, results[1].seconds);
}

struct Kind {
  const char* label;
  const char* args;
};
class Sampling : public testing::TestWithParam<Kind> {};

TEST_P(Sampling, EveryNthOperationOfAnyKind) {
  const auto tier = tier_of("dram", 4 * MiB);
  const auto result = run_once(
      std::string("memory_range: 1M, number_operations: 4096, latency_sample_frequency: 64, ") +
          GetParam().args,
      *tier);
  EXPECT_EQ(result.operations, 4096u);
  EXPECT_EQ(result.latency.count(), 64u);
  EXPECT_GT(result.latency.max(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Sampling,
    testing::Values(Kind{"SequentialRead", "access_size: 256"},
                    Kind{"StreamRead", "access_size: 256, operation: stream-read"},
                    Kind{"Write", "access_size: 256, operation: write"},
                    Kind{"RandomRead", "access_size: 64, exec_mode: random"},
                    Kind{"RandomWrite", "access_size: 64, exec_mode: random, operation: write"},
                    Kind{"Mixed", "access_size: 64, exec_mode: random, write_ratio: 0.5"},
                    Kind{"CompareAndSwap",
                         "access_size: 64, exec_mode: random, operation: compare-and-swap"},
                    Kind{"FetchAndAdd", "access_size: 8, operation: fetch-and-add"},
                    Kind{"Chase", "exec_mode: chase"},
                    Kind{"Chain", "custom_operations: \"r_256,w_64_cache_128\""}),
    [](const auto& kind) { return std::string(kind.param.label); });

TEST(RunTime, EndsChainsToo) {  // The published tool ignores it there.
  const auto tier = tier_of("dram", 4 * MiB);
  const auto result =
      run_once("memory_range: 4M, custom_operations: \"r_64\", run_time: 30ms", *tier);
  EXPECT_GE(result.seconds, 0.029);
  EXPECT_LT(result.seconds, 5);
}

// ---- chases: with and without the TLB's part ----

double share_of_hops_within(Tier& tier, std::uint64_t range, std::uint64_t window,
                            std::uint64_t page) {
  tier.prepare_chase(range, window, 7, 1);
  std::uint64_t at = 0, within = 0, hops = range / kCacheLineBytes;
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < hops; ++i) {
    const auto next = *reinterpret_cast<const std::uint64_t*>(tier.data() + at);
    within += next / page == at / page;
    seen.insert(next);
    at = next;
  }
  EXPECT_EQ(at, 0u);             // One cycle
  EXPECT_EQ(seen.size(), hops);  // through all lines.
  return static_cast<double>(within) / static_cast<double>(hops);
}

TEST(Chase, AWindowOfAPageStaysOnItSixtyThreeOfSixtyFourTimes) {
  const auto tier = tier_of("dram", 4 * MiB);
  EXPECT_NEAR(share_of_hops_within(*tier, 4 * MiB, 4096, 4096), 63.0 / 64, 1e-9);
  EXPECT_LT(share_of_hops_within(*tier, 4 * MiB, 0, 4096), 0.01);
}

// ---- atomics ----

TEST(Atomics, AnUpdateThatIsLostIsSeen) {
  const auto tier = tier_of("dram", 2 * MiB);
  tier->prepare_content(2 * MiB, false, 1);
  const auto config = config_of("memory_range: 2M, access_size: 64, operation: fetch-and-add");
  std::atomic<bool> stop{false};
  SharedWork work;
  work.config = &config;
  work.target = {tier->data(), 2 * MiB, {}};
  work.tag = 99;
  work.stop = &stop;
  work.plan_packages();
  const auto before = sum_of_atomic_words(work);
  std::vector<std::unique_ptr<Worker>> workers;
  workers.push_back(std::make_unique<Worker>(work, 0));
  workers[0]->run();
  EXPECT_EQ(workers[0]->operations(), 2 * MiB / 64);
  EXPECT_EQ(verify(work, workers, before), "");
  --*reinterpret_cast<std::uint64_t*>(tier->data() + 64 + 56);  // Of the line's last word.
  EXPECT_NE(verify(work, workers, before), "");
}

// ---- where threads and pages are ----

TEST(Pinning, CoreGivesEachThreadACpuOfItsOwnAndNodeAllOfThem) {
  const auto machine = Machine::read();
  const auto tier = tier_of("dram", 2 * MiB);
  auto load = load_of("memory_range: 2M, number_threads: 2", *tier);
  load.placement.cpus = machine.cpus;
  const auto cpus_of_threads = [&](bool pin_each) {
    load.placement.pin_each = pin_each;
    std::vector<std::set<int>> cpus(2);
    (void)execute_foreign(
        load,
        [&](Seat& seat, const std::atomic<bool>&) {
          cpu_set_t set;
          CPU_ZERO(&set);
          EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
          for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) cpus[seat.index()].insert(cpu);
          }
          seat.begin();
          seat.end();
          return ForeignResult{1, ""};
        },
        64);
    return cpus;
  };
  const std::set<int> all(machine.cpus.begin(), machine.cpus.end());
  const auto each = cpus_of_threads(true);
  EXPECT_EQ(each[0].size(), 1u);
  EXPECT_EQ(each[1].size(), 1u);
  EXPECT_TRUE(all.size() == 1 || each[0] != each[1]);
  const auto node = cpus_of_threads(false);
  EXPECT_EQ(node[0], all);
  EXPECT_EQ(node[1], all);
}

TEST(HugePages, ArePagesThatAreReallyObtained) {
  const auto small = tier_of("dram?huge=off", 8 * MiB);
  EXPECT_EQ(small->fields().number("page_bytes"), 4096);
  EXPECT_EQ(small->fields().number("huge_bytes"), 0);
  EXPECT_EQ(small->fields().number("resident_bytes"), 8.0 * MiB);
  const auto large = tier_of("dram", 8 * MiB);
  // Where the system gives none the report says so.
  if (large->fields().number("page_bytes") == 2.0 * MiB) {
    EXPECT_EQ(large->fields().number("huge_bytes"), 8.0 * MiB);
  } else {
    EXPECT_NE(large->fields().text("page_reason"), "");
  }
}

TEST(Nodes, SharesThatPagesReallyHaveAreReported) {
  const auto tier = tier_of("dram", 8 * MiB, {0}, {3});
  ASSERT_NE(tier, nullptr);
  EXPECT_EQ(tier->fields().numbers("numa_node_shares"), std::vector<double>{1.0});
  EXPECT_TRUE(tier->warnings().empty());
  TierNeed need;
  need.name = "gone";
  need.spec = "dram";
  need.bytes = 2 * MiB;
  need.nodes = {0, 999};
  const auto missing = Tier::open(need);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().detail.find("node 999 of region gone"), std::string::npos);
}

// ---- the whole ----

Result<RunOutcome> run_text(const std::string& text, const Machine& machine,
                            RunOptions options = {}) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("holdfast-extension-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << text;
  options.path = path;
  if (options.target.empty()) options.target = "dram";
  Diagnostics diagnostics;
  const auto plan = make_plan(options, machine, diagnostics);
  std::filesystem::remove(path);
  EXPECT_EQ(diagnostics.text(), "");
  return run(plan, options, machine, {});
}

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
  // A thread without its CPU is slower than any memory.
  if (cached.number("cpu_share") < 0.9) GTEST_SKIP() << "others had the CPU for too long";
  EXPECT_FALSE(cached.valid());
  EXPECT_NE(cached.invalid_reason().find("GiB/s"), std::string::npos) << cached.invalid_reason();
  EXPECT_FALSE(outcome->trustworthy);
}

// What the kernel says of each thread at its end, for each word of thread_pinning. The machine is
// made up so that the memory's node has only one of its CPUs: else node and none were the same
// here.
TEST(Pinning, ThreadsAreWhereTheKeySaysAndTheRowTellsIt) {
  auto machine = Machine::read();
  if (machine.cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const auto all = list_of({machine.cpus.begin(), machine.cpus.end()});
  const auto last = std::to_string(machine.cpus.back());
  machine.nodes = {{0, {machine.cpus.back()}, {10}, 8 * GiB}};
  const auto outcome = run_text(R"(words:
  matrix: { thread_pinning: [none, node, core] }
  args: { memory_range: 2M, number_threads: 2, run_time: 20ms, repetitions: 2 }
alone:
  args: { memory_range: 2M, run_time: 20ms, repetitions: 2, thread_pinning: core }
random:
  args: { memory_range: 2M, run_time: 20ms, repetitions: 2, thread_pinning: node, exec_mode: random }
)",
                                machine);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& rows = outcome->document.rows;
  ASSERT_EQ(rows.size(), 5u);
  using Texts = std::vector<std::string>;
  EXPECT_EQ(rows[0].texts("thread_cpus"), (Texts{all, all}));
  EXPECT_EQ(rows[1].texts("thread_cpus"), (Texts{last, last}));
  EXPECT_EQ(rows[2].texts("thread_cpus"), (Texts{last, last}));
  EXPECT_EQ(rows[3].texts("thread_cpus"), Texts{last});
  EXPECT_EQ(rows[4].texts("thread_cpus"), Texts{last});
  for (const auto& row : rows) {
    for (const auto& warning : row.texts("warnings"))
      EXPECT_EQ(warning.find("thread_pinning"), std::string::npos) << warning;
  }
}

TEST(Pinning, EachThreadOfEachPartOfAPairHasACoreOfItsOwn) {
  const auto machine = Machine::read();
  if (machine.cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const auto outcome = run_text(R"(pair:
  parallel_benchmark:
    one: { args: { memory_range: 2M, run_time: 20ms, repetitions: 2, thread_pinning: core } }
    two: { args: { memory_range: 2M, run_time: 20ms, repetitions: 2, thread_pinning: core } }
)",
                                machine);
  ASSERT_TRUE(outcome) << outcome.error().message();
  const auto& rows = outcome->document.rows;
  ASSERT_EQ(rows.size(), 2u);
  const auto one = rows[0].texts("thread_cpus"), two = rows[1].texts("thread_cpus");
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(one[0].find_first_of(",-"), std::string::npos) << one[0];  // One CPU each,
  EXPECT_EQ(two[0].find_first_of(",-"), std::string::npos) << two[0];
  EXPECT_NE(one, two);  // and not the same.
}

TEST(Pinning, AThreadThatIsElsewhereIsSaid) {
  const auto tier = tier_of("dram", 2 * MiB);
  auto load = load_of("memory_range: 2M, number_threads: 2, run_time: 5ms", *tier);
  load.placement = {{CPU_SETSIZE - 1}, false};  // A CPU that is not there: the kernel refuses.
  PreparedLoad prepared(load);
  std::vector<PreparedLoad*> loads = {&prepared};
  EXPECT_EQ(execute(loads, 1).front().threads_elsewhere, 2u);
  load.placement = {};
  PreparedLoad free(load);
  loads = {&free};
  EXPECT_EQ(execute(loads, 1).front().threads_elsewhere, 0u);
}

TEST(Placement, ListsAreShort) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({3}), "3");
  EXPECT_EQ(list_of({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

// ---- twice the same ----

Row measured(double rate, double cpu_share, double spread) {
  Row row("holdfast", "scan", 1);
  row.set("ops_per_s_median", rate);
  row.set("cpu_share", cpu_share);
  row.set("spread_ratio", spread);
  row.set("stolen_ratio", 0.0);
  row.set("involuntary_switches", std::uint64_t{0});
  row.set("page_faults", std::uint64_t{0});
  row.set("core_ghz_samples", Value(std::vector<double>{3.5, 3.5}));
  return row;
}

// Every reason that is recorded is said, on its own; and where there is none, that.
TEST(Again, WhatDiffersByMoreThanThreePercentSaysWhyOrThatNothingTells) {
  const auto calm = measured(1e9, 1, 0.01);
  const auto said = [&](const std::function<void(Row&)>& change, double ratio = 1.05,
                        double low = 1.04) {
    auto again = calm;
    change(again);
    again.set("time_x_holdfast_median", ratio);
    again.set("time_x_holdfast_low", low);
    again.set("time_x_holdfast_high", ratio + 0.01);
    const bool within = judge_again(again, calm);
    const auto warnings = again.texts("warnings");
    EXPECT_EQ(within, warnings.empty());
    return warnings.empty() ? "" : warnings[0];
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(text.find("A/A: differs from the same measurement by 5.0 %: "), std::string::npos);
    EXPECT_EQ(text.find("; "), std::string::npos) << text;  // One reason, and only that.
  };
  EXPECT_EQ(said([](Row&) {}, 1.02, 1.01), "");
  expect(said([](Row& row) { row.set("cpu_share", 0.8); }), "others ran on its CPUs");
  expect(said([](Row& row) { row.set("stolen_ratio", 0.1); }), "took up to 10.0 %");
  expect(said([](Row& row) { row.set("page_faults", std::uint64_t{7}); }),
         "0 page faults the first time and 7 the second");
  expect(said([](Row& row) { row.set("core_ghz_samples", Value(std::vector<double>{3.0, 3.0})); }),
         "at 3.50 GHz the first time and at 3.00 GHz the second");
  expect(said([](Row& row) { row.set("thread_pinning", Value(std::string("none"))); }),
         "not pinned");
  expect(said([](Row& row) { row.set("spread_ratio", 0.3); }), "30.0 % the second");
  expect(said([](Row&) {}, 1.05, 0.99), "has 1 in it");
  EXPECT_NE(said([](Row&) {}).find("nothing that was recorded explains it"), std::string::npos);
  EXPECT_NE(said([](Row& row) {
              row.set("cpu_share", 0.8), row.set("spread_ratio", 0.3);
            }).find("; repetitions differ"),
            std::string::npos);
}

// Faults in the timed part cannot be ordered, so a made-up repetition has them.
TEST(Rows, FaultsSwitchesAndSpreadBecomeWarnings) {
  Machine machine;
  machine.cpus = {0, 1};
  machine.nodes = {{0, {0, 1}, {10}, 8 * GiB}};
  machine.available_bytes = 8 * GiB;
  machine.last_level_cache_bytes = 1 * MiB;
  RunOptions options;
  options.target = "dram";
  options.path = std::filesystem::temp_directory_path() /
                 ("holdfast-rows-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(options.path) << "b:\n  args: { memory_range: 64M, access_size: 64 }\n";
  Diagnostics diagnostics;
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
