// What a store tells its listener, on which thread, and that it waits for nobody.
#include <holdfast/kv/events.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <holdfast/kv/event_queue.hpp>
#include <holdfast/kv/store_core.hpp>
#include <holdfast/memory/system.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

struct Recorder : EventListener {
  void on_recovery(const RecoveryReport& report) noexcept override {
    note([&] { recoveries.push_back(report); });
  }
  void on_growth(const GrowthEvent& event) noexcept override {
    note([&] { growths.push_back(event); });
  }
  void on_reclaim(const ReclaimEvent& event) noexcept override {
    note([&] { reclaims.push_back(event); });
  }
  void on_failure(const FailureEvent& event) noexcept override {
    note([&] { failures.push_back(event.error); });
  }
  void on_stall(const StallEvent& event) noexcept override {
    note([&] { stalls.push_back(event); });
  }
  void note(const std::function<void()>& what) {
    if (meanwhile) meanwhile();
    const std::lock_guard lock(mutex);
    what();
    thread = std::this_thread::get_id();
  }

  std::function<void()> meanwhile;  // In each call.
  std::mutex mutex;
  std::thread::id thread;
  std::vector<RecoveryReport> recoveries;
  std::vector<GrowthEvent> growths;
  std::vector<ReclaimEvent> reclaims;
  std::vector<Error> failures;
  std::vector<StallEvent> stalls;
};

class Events : public testing::Test {
 protected:
  Store<> open(StoreOptions options = tiny(), const char* suffix = "?granularity=line") {
    options.listener = recorder_;
    return Store<>::open(scratch_.path("store") + suffix, options).value();
  }
  const std::string value_ = std::string(1000, 'v');
  Scratch scratch_ = Scratch::tmpfs();
  const std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
};

TEST_F(Events, RecoveryAndGrowthAreToldInOrderOnAThreadOfTheStore) {
  auto store = open();
  const auto before = store.stats().medium_bytes;
  for (int i = 0; i < 500; ++i)
    store.put("key" + std::to_string(i), value_).value();
  const auto after = store.stats().medium_bytes;
  ASSERT_TRUE(store.close());
  ASSERT_EQ(recorder_->recoveries.size(), 1u);
  EXPECT_TRUE(recorder_->recoveries[0].created);
  ASSERT_FALSE(recorder_->growths.empty());
  EXPECT_EQ(recorder_->growths.front().bytes_before, before);
  EXPECT_EQ(recorder_->growths.back().bytes_after, after);
  for (std::size_t i = 1; i < recorder_->growths.size(); ++i)
    EXPECT_EQ(recorder_->growths[i].bytes_before, recorder_->growths[i - 1].bytes_after);
  EXPECT_NE(recorder_->thread, std::this_thread::get_id());
  EXPECT_TRUE(recorder_->stalls.empty());
  EXPECT_TRUE(recorder_->failures.empty());

  auto again = open();
  const RecoveryReport report = again.recovery();
  ASSERT_TRUE(again.close());
  ASSERT_EQ(recorder_->recoveries.size(), 2u);
  EXPECT_EQ(recorder_->recoveries[1].clean, report.clean);
  EXPECT_FALSE(recorder_->recoveries[1].created);
}

TEST_F(Events, APassOfReclamationSaysWhatItFreed) {
  auto store = open();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 200; ++i)
      store.put("key" + std::to_string(i), value_).value();
  }
  ASSERT_TRUE(store.reclaim());
  const auto stats = store.stats();
  ASSERT_TRUE(store.close());
  std::uint64_t freed = 0, moved = 0;
  for (const ReclaimEvent& pass : recorder_->reclaims) {
    EXPECT_TRUE(pass.in_caller);
    EXPECT_GE(pass.seconds, 0);
    freed += pass.freed_blocks;
    moved += pass.relocated_bytes;
  }
  EXPECT_GT(freed, 0u);
  EXPECT_LE(freed, stats.reclaimed_blocks);
  EXPECT_LE(moved, stats.relocated_bytes);
}

// The limit of the medium: writes say so by name, and stall for the attempt; reads and erases go on.
TEST_F(Events, AStoreAtItsLimitStallsAndSaysSo) {
  auto options = tiny();
  options.max_bytes = 4 * options.segment_bytes;
  auto store = open(options);
  int written = 0;
  Error full;
  for (; full.detail.empty() && written < 10'000; ++written) {
    if (auto put = store.put("key" + std::to_string(written), value_); !put) full = put.error();
  }
  EXPECT_EQ(full.code, Errc::kNoSpace);
  EXPECT_NE(full.detail.find("max_bytes=" + std::to_string(options.max_bytes)), std::string::npos)
      << full.detail;
  EXPECT_LE(store.stats().medium_bytes, options.max_bytes);
  EXPECT_FALSE(store.read_only());
  std::string value;
  EXPECT_TRUE(store.get("key0", value));
  for (int i = 0; i < written - 1; i += 2)
    EXPECT_TRUE(store.erase("key" + std::to_string(i)));
  EXPECT_TRUE(store.put("after", value_));
  ASSERT_TRUE(store.close());
  ASSERT_GE(recorder_->stalls.size(), 2u);
  EXPECT_FALSE(recorder_->stalls.front().made_room);
  EXPECT_TRUE(recorder_->stalls.back().made_room);
}

TEST_F(Events, AFailedSyncIsToldOnce) {
  static std::atomic<bool> failing;
  failing = false;
  memory_detail::set_fault_hook([](memory_detail::Call call, int) {
    return call == memory_detail::Call::kDataSync && failing ? EIO : 0;
  });
  auto store = open(tiny(), "?granularity=page");
  store.put("k", "v").value();
  failing = true;
  EXPECT_FALSE(store.sync());
  EXPECT_FALSE(store.sync());
  failing = false;
  (void)store.close();
  memory_detail::set_fault_hook(nullptr);
  ASSERT_EQ(recorder_->failures.size(), 1u);
  EXPECT_EQ(recorder_->failures[0].code, Errc::kIo);
}

TEST_F(Events, AListenerMayUseTheStore) {
  Store<>* store = nullptr;
  std::mutex using_it;
  std::atomic<int> calls{0};
  recorder_->meanwhile = [&] {
    const std::lock_guard lock(using_it);
    Store<>* const of = store;
    if (of == nullptr) return;
    std::string value;
    EXPECT_TRUE(of->put("from the listener", "v"));
    EXPECT_TRUE(of->get("from the listener", value));
    EXPECT_TRUE(of->sync());
    EXPECT_TRUE(of->reclaim());
    EXPECT_EQ(of->close().code(), Errc::kBusy);
    (void)of->snapshot();
    (void)of->stats();
    ++calls;
  };
  auto opened = open();
  const auto lend = [&](Store<>* to_the_listener) {
    const std::lock_guard lock(using_it);
    store = to_the_listener;
  };
  lend(&opened);
  for (int i = 0; i < 500; ++i)
    opened.put("key" + std::to_string(i), value_).value();
  while (calls == 0)  // It is told of growth, in its own time.
    std::this_thread::yield();
  lend(nullptr);  // It holds a snapshot now and then, and close() refuses meanwhile.
  const Status closed = opened.close();
  ASSERT_TRUE(closed) << closed.error().message();
}

TEST_F(Events, NobodyWaitsForASlowListener) {
  std::mutex mutex;
  std::condition_variable changed;
  bool released = false;
  recorder_->meanwhile = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return released; });
  };
  auto store = open();
  EventQueue& events = store.core()->rooms.events;
  for (int i = 0; i < 500; ++i)
    store.put("key" + std::to_string(i), value_).value();
  for (std::size_t i = 0; i < EventQueue::kMost + 10; ++i)
    events.post(StallEvent{});
  EXPECT_GE(store.stats().events_dropped, 10u);
  {
    const std::lock_guard lock(mutex);
    released = true;
  }
  changed.notify_all();
  ASSERT_TRUE(store.close());
  EXPECT_LE(recorder_->stalls.size(), EventQueue::kMost);
  EXPECT_GE(recorder_->stalls.size(), EventQueue::kMost - 20);
}

TEST_F(Events, AStoreWithoutListenerHasNoThreadForOne) {
  auto store = Store<>::open(scratch_.path("none"), tiny()).value();
  EXPECT_FALSE(store.core()->rooms.events);
  store.core()->rooms.events.post(StallEvent{});
  EXPECT_EQ(store.stats().events_dropped, 0u);
}

}  // namespace
}  // namespace holdfast::kv
