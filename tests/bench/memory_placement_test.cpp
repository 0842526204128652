// Where threads and pages are: pinning, nodes, huge pages. What needs a second NUMA node or socket is
// tested on made-up machines in memory_workload_test.cpp.
#include <sched.h>

#include <gtest/gtest.h>

#include <holdfast/memory/pages.hpp>

#include "memory_support.hpp"

namespace holdfast::bench::memory {
namespace {

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

// What the kernel says of each thread at its end, for each word of thread_pinning. The machine is
// made up so that the memory's node has only one of its CPUs: else node and none were the same
// here.
TEST(Pinning, ThreadsAreWhereTheKeySaysAndTheRowTellsIt) {
  auto machine = Machine::read();
  if (machine.cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const auto all = list_of({machine.cpus.begin(), machine.cpus.end()});
  const auto last = std::to_string(machine.cpus.back());
  machine.nodes = {{0, {machine.cpus.back()}, {10}}};
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

}  // namespace
}  // namespace holdfast::bench::memory
