// What keys do beside the access itself: delays, samples, ends of time, chases, and the check of
// atomics.
#include <atomic>
#include <set>

#include <gtest/gtest.h>

#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/verification.hpp>
#include <holdfast/bench/memory/worker.hpp>

#include "memory_support.hpp"

namespace holdfast::bench::memory {
namespace {

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

}  // namespace
}  // namespace holdfast::bench::memory
