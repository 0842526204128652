// What page media promise, and when: a version counts as durable when a sync that covers it has ended.
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/memory/system.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Syncs : public testing::Test {
 protected:
  Syncs() { memory_detail::set_fault_hook(&hook); }
  ~Syncs() override {
    memory_detail::set_fault_hook(nullptr);
    at_sync = {};
  }
  static int hook(memory_detail::Call call, int) {
    return call == memory_detail::Call::kDataSync && at_sync ? at_sync() : 0;
  }
  Store<> open(StoreOptions options = tiny()) const {
    return Store<>::open(scratch_.path("store") + "?granularity=page", options).value();
  }
  static Version put(Store<>& store) {
    store.put("k", "v").value();
    std::string value;
    return store.get("k", value).value();
  }

  static inline std::function<int()> at_sync;  // What the system call comes out as.
  Scratch scratch_ = Scratch::tmpfs();
};

TEST_F(Syncs, AVersionIsDurableWhenTheSyncHasEndedAndNotBefore) {
  auto store = open();
  const Version version = put(store);
  EXPECT_LT(store.durable_up_to(), version);
  std::vector<Version> during;
  at_sync = [&] { return during.push_back(store.durable_up_to()), 0; };
  ASSERT_TRUE(store.sync());
  at_sync = {};
  ASSERT_FALSE(during.empty());
  for (const Version durable : during)
    EXPECT_LT(durable, version);
  EXPECT_GE(store.durable_up_to(), version);
}

TEST_F(Syncs, AFailedSyncMakesNothingDurable) {
  auto store = open();
  const Version version = put(store);
  at_sync = [] { return EIO; };
  EXPECT_EQ(store.sync().code(), Errc::kIo);
  EXPECT_LT(store.durable_up_to(), version);
  at_sync = {};
  EXPECT_FALSE(store.sync()) << "a failed sync is not tried again";
  EXPECT_LT(store.durable_up_to(), version);
}

// The mark of what is synced (synced_mark.hpp) lies in the run: a sync has no second file to care for.
TEST_F(Syncs, EachIsOfOneFileAlsoWhereTheStoreHasMany) {
  auto store = open();
  for (int i = 0; i < 400; ++i)
    store.put("key" + std::to_string(i), std::string(900, 'v')).value();
  ASSERT_TRUE(ForTests::seal(store));
  for (int i = 0; i < 5; ++i) {  // Full runs are sealed, and a new one is open.
    put(store);
    ASSERT_TRUE(store.sync());
  }
  ASSERT_GT(store.stats().medium_bytes, 4 * tiny().file_bytes);
  int files = 0;
  at_sync = [&] { return ++files, 0; };
  for (int i = 0; i < 3; ++i) {
    put(store);
    ASSERT_TRUE(store.sync());
    EXPECT_EQ(std::exchange(files, 0), 1) << i;
  }
  ASSERT_TRUE(store.sync());
  EXPECT_LE(files, 1) << "of the mark at most";
}

// A sync of another thread has taken the run over, and has not sealed it yet.
TEST_F(Syncs, ACheckpointHasTheRunThatASyncUnderWayIsAboutToSeal) {
  auto store = open();
  put(store);
  ASSERT_TRUE(ForTests::seal(store));
  ASSERT_TRUE(store.sync()) << "now its tail waits for one more";
  std::promise<void> begun, go_on;
  at_sync = [&, first = true]() mutable {
    if (std::exchange(first, false)) {
      begun.set_value();
      go_on.get_future().wait();
    }
    return 0;
  };
  std::thread syncing([&] { EXPECT_TRUE(store.sync()); });
  begun.get_future().wait();
  auto runs =
      std::async(std::launch::async, [&] { return store.checkpoint().value().runs().size(); });
  runs.wait_for(std::chrono::milliseconds(100));  // As long as it may take without the sync.
  go_on.set_value();
  syncing.join();
  EXPECT_EQ(runs.get(), 1u);
}

TEST_F(Syncs, TheBackgroundSyncsWhatWasWrittenAndNothingAtRest) {
  StoreOptions options = tiny();
  options.background = true;
  options.sync_interval_ms = 1;
  auto store = open(options);
  const Version version = put(store);
  for (int i = 0; i < 2'000 && store.durable_up_to() < version; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_GE(store.durable_up_to(), version);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::uint64_t syncs = store.stats().syncs;
  EXPECT_GT(syncs, 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(store.stats().syncs, syncs);
}

}  // namespace
}  // namespace holdfast::kv
