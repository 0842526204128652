// A store without memory for what it is asked to do: each allocation fails once. What was
// acknowledged stays, what was not is there wholly or not at all, and nobody waits for ever.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/space.hpp>

#include "../base/allocations.hpp"
#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class KvWithoutMemory : public OnEveryPlace {
 protected:
  void SetUp() override { ::alarm(300); }  // Who waits for ever fails.
  void TearDown() override { ::alarm(0); }

  StoreOptions ordered() const {
    StoreOptions options = tiny();
    options.order = true;
    return options;
  }
  // Calls `once` with 1, 2, … for the allocation that is to fail, each on a store of its own, until
  // it says that none was left to fail.
  void for_each_failure(const std::function<bool(Store<>&, std::size_t nth)>& once,
                        const StoreOptions& options = tiny()) {
    bool failed = true;
    for (std::size_t nth = 1; failed; ++nth) {
      SCOPED_TRACE("allocation " + std::to_string(nth));
      const std::string name = "store" + std::to_string(nth);
      Store<> store = open(options, name);
      failed = once(store, nth);
      ASSERT_FALSE(testing::Test::HasFatalFailure());
      std::filesystem::remove_all(scratch_.path(name));
      ASSERT_LT(nth, 2'000u);
    }
  }
  std::string name_of(std::size_t nth) const { return "store" + std::to_string(nth); }
  // Closed, opened again, reclaimed, overwritten and reclaimed once more: all of `wanted` is there.
  void expect_lasting(Store<> store, std::size_t nth, const Contents& wanted) {
    EXPECT_NE(store.close().code(), Errc::kBusy);
    for (int turn = 0; turn < 2; ++turn) {
      Store<> again = open(tiny(), name_of(nth));
      for (const auto& [key, value] : wanted)
        ASSERT_EQ(get(again, key), value) << key << ", turn " << turn;
      for (int i = 0; i < 300; ++i)
        ASSERT_TRUE(again.put("other" + std::to_string(i % 7), std::string(100, 'o')));
      ASSERT_TRUE(again.reclaim());
      const VerifyReport report = again.verify();
      EXPECT_TRUE(report.ok()) << report.defects.front().what;
      EXPECT_TRUE(again.close());
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, KvWithoutMemory, testing::Values(kLinePlace, kPagePlace),
                         place_name);

// A run whose tail found no memory was in no lane any more: it was in no checkpoint, and the next
// clean opening took its records for dead.
TEST_P(KvWithoutMemory, PutsOverTheEndOfARunAreAllThereLater) {
  for_each_failure([&](Store<>& store, std::size_t nth) {
    std::vector<std::pair<std::string, std::string>> records;
    for (int i = 0; i < 160; ++i)
      records.emplace_back("key" + std::to_string(i), std::string(150, "abcdefg"[i % 7]));
    std::vector<char> acknowledged(records.size(), 0);
    const auto put = [&](std::size_t from, std::size_t to) {  // More than a block.
      for (std::size_t i = from; i < to; ++i) {
        try {
          const auto& [key, value] = records[i];
          if (store.put(key, value, {Durability::kPower})) acknowledged[i] = 1;
        } catch (const std::bad_alloc&) {
        }
      }
    };
    put(0, 30);
    let_allocation_fail(nth);
    put(30, 130);
    const bool failed = !allocation_is_to_fail();
    let_allocation_fail(0);
    put(130, 160);
    Contents wanted;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (acknowledged[i] != 0) wanted.insert(records[i]);
    }
    expect_lasting(std::move(store), nth, wanted);
    return failed;
  });
}

TEST_P(KvWithoutMemory, ACheckpointBehindItHasAllRecords) {
  for_each_failure([&](Store<>& store, std::size_t nth) {
    std::uint64_t acknowledged = 0;
    let_allocation_fail(nth);
    for (int i = 0; i < 120; ++i) {
      try {
        acknowledged += store.put("key" + std::to_string(i), std::string(150, 'v')) ? 1 : 0;
      } catch (const std::bad_alloc&) {
      }
    }
    const bool failed = !allocation_is_to_fail();
    let_allocation_fail(0);
    if (auto checkpoint = store.checkpoint()) {
      std::uint64_t records = 0;
      for (const auto& run : checkpoint->runs())
        records += run.records;
      EXPECT_GE(records, acknowledged);
    } else {
      EXPECT_EQ(checkpoint.code(), Errc::kReadOnly) << checkpoint.error().message();
    }
    EXPECT_NE(store.close().code(), Errc::kBusy);
    return failed;
  });
}

// Its keys stayed latched: each later write of one waited for ever.
TEST_P(KvWithoutMemory, ABatchIsThereOrNotAndItsKeysCanBeWritten) {
  for (const bool across : {false, true}) {
    for_each_failure(
        [&](Store<>& store, std::size_t nth) {
          Space space = store.create_space("s").value();
          store.put("a", "old").value();
          store.put("b", "old").value();
          WriteBatch batch;
          batch.put("a", "new");
          batch.erase("b");
          batch.put("c", "new");
          if (across) batch.put(space, "d", "new");
          bool done = false;
          const bool failed = fails_at(nth, [&] { done = static_cast<bool>(store.write(batch)); });
          const auto shown = [&] {
            return get(store, "a") + " " + get(store, "b") + " " + get(store, "c");
          };
          const std::string before = "old old <kNotFound>", after = "new <kNotFound> new";
          EXPECT_EQ(shown(), done ? after : shown() == after ? after : before);
          const auto again = store.put("c", "again");
          if (!again) {
            EXPECT_EQ(again.code(), Errc::kReadOnly) << again.error().message();
          }
          EXPECT_NE(store.close().code(), Errc::kBusy);
          Store<> opened = open(ordered(), name_of(nth));
          EXPECT_EQ(get(opened, "a"), get(opened, "c") == "<kNotFound>" ? "old"
                                      : get(opened, "b") == "old"       ? "old"
                                                                        : "new");
          EXPECT_TRUE(!done || get(opened, "a") == "new");
          EXPECT_TRUE(!again || get(opened, "c") == "again");
          EXPECT_TRUE(opened.verify().ok());
          return failed;
        },
        ordered());
  }
}

// The tails that it had taken were gone: a checkpoint waited for them without end.
TEST_P(KvWithoutMemory, AfterASyncThatFailedTheNextOneAndACheckpointEnd) {
  for_each_failure([&](Store<>& store, std::size_t nth) {
    for (int i = 0; i < 120; ++i)
      store.put("key" + std::to_string(i), std::string(150, 'v')).value();
    const bool failed = fails_at(nth, [&] { static_cast<void>(store.sync()); });
    const auto synced = store.sync();
    const auto checkpoint = store.checkpoint();
    EXPECT_TRUE(checkpoint || checkpoint.code() == Errc::kReadOnly);
    EXPECT_TRUE(synced || failed);
    return failed;
  });
}

// A snapshot that was counted and never made, a run that stayed pinned: the store was busy for ever.
TEST_P(KvWithoutMemory, SnapshotsAndCheckpointsThatFailedDoNotKeepTheStoreOpen) {
  for_each_failure([&](Store<>& store, std::size_t nth) {
    for (int i = 0; i < 120; ++i)
      store.put("key" + std::to_string(i), std::string(150, 'v')).value();
    const bool failed = fails_at(nth, [&] {
      const Snapshot snapshot = store.snapshot();
      static_cast<void>(snapshot.for_each([](auto, auto, Version) { return true; }));
    });
    const bool failed_there = fails_at(nth, [&] { static_cast<void>(store.checkpoint()); });
    const auto closed = store.close();
    EXPECT_NE(closed.code(), Errc::kBusy) << closed.error().message();
    return failed || failed_there;
  });
}

// Its destructor ended the process.
TEST_P(KvWithoutMemory, TheEndOfASnapshotThatFailedLeavesNothingSupersededForLive) {
  for_each_failure([&](Store<>& store, std::size_t nth) {
    for (int i = 0; i < 20; ++i)
      store.put("key" + std::to_string(i), "old").value();
    {
      const Snapshot snapshot = store.snapshot();
      for (int i = 0; i < 20; ++i)
        store.put("key" + std::to_string(i), "new").value();
      store.erase("key0").value();
      let_allocation_fail(nth);
    }
    const bool failed = !allocation_is_to_fail();
    let_allocation_fail(0);
    EXPECT_NE(store.close().code(), Errc::kBusy);
    Store<> opened = open(tiny(), name_of(nth));
    const VerifyReport report = opened.verify();
    EXPECT_TRUE(report.ok()) << report.defects.front().what;
    EXPECT_EQ(opened.count(), 19u);
    EXPECT_EQ(get(opened, "key0"), "<kNotFound>");
    EXPECT_EQ(get(opened, "key1"), "new");
    return failed;
  });
}

// Their tickets were given the outcomes of others.
TEST_P(KvWithoutMemory, OperationsOfAPipelineFailOrAreDone) {
  for_each_failure([&](Store<>& store, std::size_t nth) {
    Contents wanted;
    bool failed = false;
    {
      auto pipeline = Pipeline<>::open(store, {.window = 8}).value();
      std::vector<std::pair<std::string, Ticket<PutOutcome>>> tickets;
      for (int i = 0; i < 4; ++i) {
        const std::string key = "key" + std::to_string(i);
        tickets.emplace_back(key, pipeline.put(key, "value"));
      }
      failed = fails_at(nth, [&] { static_cast<void>(pipeline.flush()); });
      for (const auto& [key, ticket] : tickets) {
        if (pipeline.wait(ticket)) wanted[key] = "value";
      }
      static_cast<void>(pipeline.flush());
    }
    for (const auto& [key, value] : wanted)
      EXPECT_EQ(get(store, key), value);
    expect_lasting(std::move(store), nth, wanted);
    return failed;
  });
}

}  // namespace
}  // namespace holdfast::kv
