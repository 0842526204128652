// Group commit: each waiting thread is covered by a sync that began afterwards, and one serves
// many.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <new>
#include <thread>
#include <vector>

#include <holdfast/kv/sync_group.hpp>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

TEST(SyncGroups, OneThatWaitsAloneCostsOneSync) {
  int syncs = 0;
  SyncGroup group([&] { return ++syncs, ok_status(); });
  EXPECT_EQ(group.syncs(), 0u);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(group.wait());
    EXPECT_EQ(syncs, i);
    EXPECT_EQ(group.syncs(), static_cast<std::uint64_t>(i));
  }
}

TEST(SyncGroups, ASyncThatHasBegunDoesNotCoverWhoComesThen) {
  std::atomic<int> syncs{0};
  std::promise<void> begun, go_on;
  SyncGroup group([&] {
    if (++syncs == 1) {
      begun.set_value();
      go_on.get_future().wait();
    }
    return ok_status();
  });
  std::thread first([&] { EXPECT_TRUE(group.wait()); });
  begun.get_future().wait();
  std::thread second([&] {
    EXPECT_TRUE(group.wait());
    EXPECT_EQ(syncs, 2);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(syncs, 1) << "one at a time";
  go_on.set_value();
  first.join();
  second.join();
  EXPECT_EQ(group.syncs(), 2u);
}

// Whatever is written before wait() is covered when it returns; and many share one sync.
TEST(SyncGroups, ManyThatWaitShareSyncsThatCoverThem) {
  constexpr int kThreads = 8, kEach = 200;
  std::atomic<std::uint64_t> written{0}, durable{0};
  SyncGroup group([&] {
    const std::uint64_t begun_with = written;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    durable = begun_with;
    return ok_status();
  });
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const std::uint64_t mine = ++written;
        if (!group.wait() || durable < mine) ++lost;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(lost, 0);
  EXPECT_LT(group.syncs(), std::uint64_t{kThreads} * kEach / 2) << "they share";
}

TEST(SyncGroups, AFailureIsForAllAndForEverAndNotTriedAgain) {
  int syncs = 0;
  SyncGroup group([&]() -> Status {
    if (++syncs == 1) return {};
    return Error{Errc::kIo, "the medium is gone"};
  });
  ASSERT_TRUE(group.wait());
  for (int i = 0; i < 3; ++i) {
    const Status failed = group.wait();
    ASSERT_EQ(failed.code(), Errc::kIo);
    EXPECT_EQ(failed.error().detail, "the medium is gone");
  }
  EXPECT_EQ(syncs, 2);
  EXPECT_EQ(group.syncs(), 1u) << "those that succeeded";
}

// The turn was never given back: each later wait had no end.
TEST(SyncGroups, AfterASyncThatThrowsTheNextOneSyncs) {
  int syncs = 0;
  SyncGroup group([&] {
    if (++syncs == 1) throw std::bad_alloc();
    return ok_status();
  });
  EXPECT_THROW(static_cast<void>(group.wait()), std::bad_alloc);
  std::promise<Status> ended;
  auto end = ended.get_future();
  std::thread other([&] { ended.set_value(group.wait()); });
  if (end.wait_for(std::chrono::seconds(20)) != std::future_status::ready) std::abort();
  EXPECT_TRUE(end.get());
  EXPECT_EQ(syncs, 2);
  EXPECT_EQ(group.syncs(), 1u);
  other.join();
}

TEST(SyncGroups, AFailureReachesThoseWhoWaitForTheNextSync) {
  std::promise<void> begun, go_on;
  SyncGroup group([&]() -> Status {
    begun.set_value();
    go_on.get_future().wait();
    return Error{Errc::kIo, "gone"};
  });
  std::thread first([&] { EXPECT_EQ(group.wait().code(), Errc::kIo); });
  begun.get_future().wait();
  std::thread second([&] { EXPECT_EQ(group.wait().code(), Errc::kIo); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on.set_value();
  first.join();
  second.join();
}

}  // namespace
}  // namespace holdfast::kv
