// The deterministic scheduler: same schedule, same run; and together with crash states.
#include <gtest/gtest.h>

#include <holdfast/crash/key_value.hpp>
#include <holdfast/crash/schedule.hpp>

#include <atomic>
#include <set>
#include <thread>

namespace holdfast::crash {
namespace {

std::uint64_t* word(Region& region, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(region.data() + offset);
}

// Two threads that each take three steps; the order in which they did.
std::string interleaving(const Schedule& schedule, Scheduler** out = nullptr) {
  static std::unique_ptr<Scheduler> scheduler;
  scheduler = std::make_unique<Scheduler>(schedule);
  std::string order;
  const auto body = [&](char name) {
    return [&order, name] {
      for (int i = 0; i < 3; ++i) {
        order += name;
        scheduler_step();
      }
    };
  };
  scheduler->run({body('a'), body('b')});
  if (out != nullptr) *out = scheduler.get();
  return order;
}

TEST(CrashSchedule, ASeedGivesTheSameOrderAgainAndSeedsDiffer) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Schedule schedule{true, seed, {}};
    const std::string order = interleaving(schedule);
    EXPECT_EQ(order, interleaving(schedule));
    orders.insert(order);
  }
  EXPECT_GE(orders.size(), 15u);  // Of 20.
}

TEST(CrashSchedule, BoundedPreemptionGivesEveryOrderWithThatManySwitches) {
  // aaabbb and bbbaaa need no preemption; with one: the first thread is interrupted once.
  const auto orders = [](unsigned preemptions) {
    std::set<std::string> seen;
    ScheduleSource source({.seeds = 0, .preemptions = preemptions, .max_schedules = 10'000}, 1);
    Schedule schedule;
    while (source.next(&schedule)) {
      Scheduler* scheduler = nullptr;
      seen.insert(interleaving(schedule, &scheduler));
      source.ran(*scheduler);
    }
    return seen;
  };
  EXPECT_TRUE(orders(1).contains("aaabbb"));
  EXPECT_TRUE(orders(1).contains("bbbaaa"));
  EXPECT_TRUE(orders(1).contains("abbbaa"));
  EXPECT_FALSE(orders(1).contains("ababab"));
  EXPECT_EQ(orders(6).size(), 20u);  // Six over three: all there are.
}

TEST(CrashSchedule, AWaitingThreadLetsTheOthersRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Scheduler scheduler(Schedule{true, seed, {}});
    std::atomic<bool> ready{false};
    int seen = 0;
    scheduler.run({[&] {
                     while (!ready.load()) {
                       trace_sink().on_wait();
                       scheduler_wait();
                     }
                     seen = 1;
                   },
                   [&] {
                     scheduler_step();
                     ready = true;
                   }});
    EXPECT_EQ(seen, 1);
  }
}

TEST(CrashScheduleDeathTest, ThreadsThatWaitForOneAnotherAreReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Scheduler scheduler(Schedule{true, 3, {}});
        const auto wait = [] {
          while (true) {
            scheduler_wait();
          }
        };
        scheduler.run({wait, wait});
      },
      "all threads wait for one another \\(schedule: seed 3\\)");
}

// A counter that two threads raise, each with an update of (value, value) over two lines: the latch
// lies in DRAM. Without it, or published before the fence, some schedule shows a wrong result.
enum class Latch { kHeld, kNone, kReleasedBeforeFence };

Protocol<KeyValueModel::State> two_writers(KeyValueModel& model, Latch latch) {
  Protocol<KeyValueModel::State> protocol;
  protocol.initial = {{"n", "0"}};
  protocol.workload = [&model, latch](Region& region, Workload& run) {
    std::atomic<bool> held{false};
    const auto add = [&](std::uint64_t id) {
      return [&, id] {
        run.begin(id, static_cast<std::uint32_t>(id));
        while (latch != Latch::kNone && held.exchange(true)) {
          trace_sink().on_wait();
        }
        const std::uint64_t value = Persist::load(word(region, 0));
        if (latch == Latch::kNone) scheduler_step();  // Stands for the time between load and store.
        region.persist().store(word(region, 0), value + 1);
        model.batch(id, {{"n", std::to_string(value + 1)}});
        model.returned(id, "n", std::to_string(value));
        region.persist().write_back(word(region, 0), 8);
        if (latch == Latch::kReleasedBeforeFence) held = false;
        region.persist().fence();
        if (latch == Latch::kHeld) held = false;
        run.acknowledge(id);
      };
    };
    model.batch(1, {{"n", "1"}});  // Until they have run.
    model.batch(2, {{"n", "1"}});
    run.threads({add(1), add(2)});
  };
  protocol.recover = [](Region& region) -> Result<KeyValueModel::State> {
    return KeyValueModel::State{{"n", std::to_string(Persist::load(word(region, 0)))}};
  };
  protocol.check = [&model](const Past<KeyValueModel::State>& past,
                            const KeyValueModel::State& observed) {
    return model.check(past, observed);
  };
  return protocol;
}

TEST(CrashSchedule, TwoWritersUnderALatchAreSoundInAllSchedulesWithTwoPreemptions) {
  KeyValueModel model;
  const Report report =
      check(two_writers(model, Latch::kHeld),
            {.model = kLine, .schedules = {.seeds = 20, .preemptions = 2}, .kills = false});
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GT(report.schedules, 35u);
}

TEST(CrashSchedule, ALostUpdateWithoutTheLatchIsFoundBySomeSchedule) {
  KeyValueModel model;
  const Report seeds =
      check(two_writers(model, Latch::kNone), {.model = kLine, .schedules = {.seeds = 50}});
  EXPECT_FALSE(seeds.ok());
  const Report systematic = check(two_writers(model, Latch::kNone),
                                  {.model = kLine, .schedules = {.seeds = 0, .preemptions = 1}});
  ASSERT_EQ(systematic.failures.size(), 1u);
  EXPECT_NE(systematic.failures[0].find("schedule preemptions ["), std::string::npos) << systematic;
}

TEST(CrashSchedule, AFenceOfOneThreadDoesNotMakeAnothersStoreDurable) {
  // Thread 2 writes its line back, thread 1 fences: a fence covers the calling thread's
  // write-backs.
  for (const bool own_fence : {true, false}) {
    Protocol<std::uint64_t> protocol;
    protocol.workload = [=](Region& region, Workload& run) {
      std::atomic<int> stage{0};
      run.threads({[&] {
                     while (stage != 1) {
                       trace_sink().on_wait();
                     }
                     region.persist().fence();
                     stage = 2;
                   },
                   [&] {
                     run.begin(1);
                     region.persist().store(word(region, 0), 1);
                     region.persist().write_back(word(region, 0), 8);
                     stage = 1;
                     while (stage != 2) {
                       trace_sink().on_wait();
                     }
                     if (own_fence) region.persist().fence();
                     run.acknowledge(1);
                   }});
    };
    protocol.recover = [](Region& region) -> Result<std::uint64_t> {
      return Persist::load(word(region, 0));
    };
    protocol.check = [](const Past<std::uint64_t>& past,
                        const std::uint64_t& observed) -> std::string {
      return past.operations[0].acknowledged() && observed != 1 ? "lost" : "";
    };
    EXPECT_EQ(check(protocol, {.model = kLine, .kills = false}).ok(), own_fence);
    EXPECT_EQ(
        check(protocol, {.model = kLine, .kills = false, .durable_at_acknowledge = false}).ok(),
        own_fence);
  }
}

TEST(CrashSchedule, ARecoveryMayUseThreadsOfItsOwn) {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      region.persist().store(word(region, 0), 1);
      region.persist().persist(word(region, 0), 8);
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    const auto mark = [&](std::uint64_t offset) {
      return [&region, offset] {
        region.persist().store(word(region, offset), 7);
        region.persist().persist(word(region, offset), 8);
      };
    };
    std::thread first(mark(64));
    std::thread second(mark(128));
    first.join();
    second.join();
    return Persist::load(word(region, 0));
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    return past.operations[0].acknowledged() && observed != 1 ? "lost" : "";
  };
  const Report report = check(protocol, {.model = kLine, .kills = false});
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
}  // namespace holdfast::crash
