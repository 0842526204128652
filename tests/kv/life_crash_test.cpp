// A store's life: creation, growth, shrinking, closing, opening, dying, opening again.
#include "kv_crash.hpp"

#include <optional>
#include <thread>

namespace holdfast::kv {
namespace {

class KvLifeCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvLifeCrash);

void some_records(Tested& store) {
  store.put("a", value_of('a', 30));
  store.put("b", value_of('b', 100));
  store.seal();
  store.put("c", value_of('c', 10));
}

// A crash leaves a store without records or no store; an interrupted creation is taken up again.
TEST_P(KvLifeCrash, Creation) {
  Crash crash;
  crash.created = false;
  crash.instead = [&](Region& region, crash::Workload& run, KeyValueModel& model) {
    model.batch(1, {});
    run.begin(1);
    Store<> store = Store<>::open(std::move(region), crash.options).value();
    run.acknowledge(1);
    ForTests::abandon(store);
  };
  const Report report = crash.run(GetParam());
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 20u);
}

// What a device held before is not the store's: neither its limits nor the rest of its superblock
// may be believed once the magic number is there.
TEST_P(KvLifeCrash, CreationOverForeignBytes) {
  Crash crash;
  crash.created = false;
  crash.instead = [&](Region& region, crash::Workload& run, KeyValueModel& model) {
    {
      const auto quiet = run.quiet();
      const std::string foreign(kSuperblockPageBytes - 8, '\xff');
      region.write(8, std::as_bytes(std::span(foreign))).value();  // Without a magic number.
      region.sync().value();
    }
    model.batch(1, {});
    run.begin(1);
    Store<> store = Store<>::open(std::move(region), crash.options).value();
    run.acknowledge(1);
    ForTests::abandon(store);
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, Growth) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.other([&] { ForTests::grow(store.store()).value(); });
    store.put("d", value_of('d', 9000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, GrowthByAPutThatFindsNoRoom) {
  Crash crash;
  crash.before = [](Tested& store) {
    some_records(store);
    store.put("big", value_of('g', 9000));
  };
  crash.during = [](Tested& store) {
    store.put("d", value_of('d', 9000));
    store.put("e", value_of('e', 7000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, TrimAndGrowthAgain) {
  Crash crash;
  crash.before = [](Tested& store) {
    some_records(store);
    store.other([&] {
      ForTests::grow(store.store()).value();
      ForTests::grow(store.store()).value();
    });
  };
  crash.during = [](Tested& store) {
    store.other([&] { EXPECT_EQ(ForTests::trim(store.store(), 2).value(), 2 * 64 * KiB); });
    store.put("d", value_of('d', 40));
    store.other([&] { ForTests::grow(store.store()).value(); });
    store.put("e", value_of('e', 9000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, CleanClose) {
  Crash crash;
  crash.before = [](Tested& store) {
    some_records(store);
    store.erase("b");
  };
  crash.during = [](Tested& store) {
    store.put("d", "1");
    store.close();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, ReopeningAfterACleanClose) {
  Crash crash;
  crash.before = [](Tested& store) {
    some_records(store);
    store.close();
  };
  crash.during = [](Tested& store) {
    store.reopen();
    EXPECT_TRUE(store.store().recovery().clean);
    store.put("a", value_of('x', 50));
    store.erase("b");
    store.close();
    store.reopen();
    EXPECT_TRUE(store.store().recovery().clean);
    store.put("d", "2");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Crashes in the recovery itself come with every test here (depth 2). This one has all a recovery
// can find: sealed runs, one sealed without its word, open ones, an empty one, tombstones, an
// image.
TEST_P(KvLifeCrash, RecoveryAfterTheDeathOfTheProcess) {
  Crash crash;
  crash.before = [](Tested& store) {
    some_records(store);
    store.erase("a");
    store.put("big", value_of('g', 9000));
    store.close();
    store.reopen();
    store.put("a", "again");
    store.seal();
    store.put("b", value_of('B', 60));
    store.abandon();
  };
  crash.during = [](Tested& store) {
    store.reopen();
    EXPECT_FALSE(store.store().recovery().clean);
    store.put("c", "C");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A process puts "n", and with `seals` the tail of its run, but dies before a fence: never
// acknowledged, but whole in a cache. The recovery finds it and shows it to a reader.
void die_before_fence_and_reopen(Tested& store, const std::string& value, bool seals = false) {
  const std::uint64_t dying = store.take_id();
  store.model().put(dying, "n", value);
  store.run().begin(dying, 7);
  std::thread([&] {
    ForTests::append_without_fence(store.store(), "n", value);
    if (seals) ForTests::put_tail_without_fence(store.store());
  }).join();
  store.abandon();
  store.reopen();
  Actor(store, 8).get("n");
}

// What a recovery read may have been in caches only: a power failure right after it must not lose
// that.
TEST_P(KvLifeCrash, PowerFailsAfterAProcessDiedBetweenItsStoresAndItsFence) {
  Crash crash;
  crash.check.durable_at_acknowledge = false;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    die_before_fence_and_reopen(store, value_of('n', 100));
    Actor(store, 8).put("d", "3");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// The mark of what is synced may become durable before a record that was put behind it.
class KvSyncedMarkCrash : public OnEveryMedium {};
INSTANTIATE_TEST_SUITE_P(Medium, KvSyncedMarkCrash, testing::Values(crash::kPage), medium_name);

TEST_P(KvSyncedMarkCrash, TellsOfWhatIsSyncedAndOfNothingElse) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put("d", value_of('d', 100));
    const std::uint64_t unsynced = store.take_id();
    store.model().put(unsynced, "n", value_of('n', 100));
    store.run().begin(unsynced, 7);
    std::thread([&] {
      ForTests::append_without_fence(store.store(), "n", value_of('n', 100));
    }).join();
    store.other([&] { ForTests::mark_synced(store.store()); });
    store.put("e", value_of('e', 100));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A recovery's tail vouches for the records before it, which may have been in caches only: in every
// state of one small run. (Two lines of record, one of tail.)
TEST_P(KvLifeCrash, ATailBecomesDurableAfterTheRecordsItVouchesFor) {
  Crash crash;
  crash.check.durable_at_acknowledge = false;
  crash.check.depth = 1;
  crash.check.images_per_run = 4'000;
  crash.then = false;
  crash.during = [](Tested& store) { die_before_fence_and_reopen(store, value_of('n', 80)); };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A recovery that finds a valid tail lets the run's word vouch for it: the tail, which may have
// been in caches only, is durable before the word. Page regions put a tail only between two syncs.
TEST_P(KvLifeCrash, ATailThatAProcessLeftInCachesIsDurableBeforeItsWord) {
  if (GetParam().granularity == Granularity::kPage) GTEST_SKIP();
  Crash crash;
  crash.check.durable_at_acknowledge = false;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    die_before_fence_and_reopen(store, value_of('n', 80), true);
    Actor(store, 8).put("d", "3");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// With an image the reopening frees its blocks, and that orders the clearing of the clean mark,
// too; without one nothing is freed.
TEST_P(KvLifeCrash, ReopeningAfterACleanCloseThatHadNoRoomForAnImage) {
  Crash crash;
  crash.options.max_bytes = crash.options.initial_bytes;
  crash.check.max_size_bytes = crash.options.max_bytes;
  crash.then = false;
  crash.before = [](Tested& store) {
    for (const char* key : {"a", "b", "c"})  // A block each; the last four are no put's.
      store.put(key, value_of('v', 7000));
    store.seal();
  };
  crash.during = [](Tested& store) {
    store.close();
    store.reopen();
    EXPECT_EQ(store.store().stats().free_blocks, 4u);
    EXPECT_FALSE(store.store().recovery().clean);
    store.erase("a");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// An append after a crash is laid over what the crash left of another one.
TEST_P(KvLifeCrash, CrashAppendCrashInBlocksWithStaleBytes) {
  Crash crash;
  crash.before = [](Tested& store) {
    for (int i = 0; i < 5; ++i) {
      for (char key = 'a'; key < 'e'; ++key)
        store.put(std::string(1, key), value_of(static_cast<char>(key + i), 2000));
      store.other([&] { ForTests::pass(store.store()).value(); });
    }
  };
  crash.during = [](Tested& store) {
    for (char key = 'a'; key < 'e'; ++key)
      store.put(std::string(1, key), value_of('z', 2000));
    store.abandon();
    store.reopen();
    store.put("a", value_of('y', 2000));
    store.put("b", value_of('y', 300));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, LimitsOfSequencesAndGenerationsAreDurableBeforeTheyAreReached) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.other([&] { ForTests::small_steps(store.store(), 64, 1); });
    for (char i = 'd'; i < 'h'; ++i) {
      store.put(std::string(1, i), value_of(i, 5000));
      store.update(std::string(1, i), value_of(i, 10));
    }
    const std::uint64_t sequence = ForTests::next_sequence(store.store());
    const std::uint64_t generation = ForTests::next_generation(store.store());
    store.abandon();
    store.reopen();
    EXPECT_GE(ForTests::next_sequence(store.store()), sequence);
    EXPECT_GE(ForTests::next_generation(store.store()), generation);
    store.put("d", "4");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvLifeCrash, SnapshotsWhileWritesGoOn) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    std::optional<Snapshot> snapshot;
    store.other([&] { snapshot.emplace(store.store().snapshot()); });
    store.put("a", "newer");
    store.erase("b");
    store.put("b", "reborn");
    store.erase("c");
    store.batch({{"a", std::nullopt}, {"d", "batch"}});
    std::string value;
    EXPECT_TRUE(snapshot->get("b", value) && value == value_of('b', 100));
    store.pass();
    store.other([&] { snapshot.reset(); });
    store.pass();
    store.put("e", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

}  // namespace
}  // namespace holdfast::kv
