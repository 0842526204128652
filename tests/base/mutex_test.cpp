#include <holdfast/base/mutex.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include <holdfast/base/condition.hpp>

namespace holdfast {
namespace {

template <class M>
class MutexTest : public testing::Test {};
using Mutexes = testing::Types<KernelMutex, SharedMutex, SpinLatch>;
TYPED_TEST_SUITE(MutexTest, Mutexes);

TYPED_TEST(MutexTest, OneThreadAtATimeIsBehindALock) {
  struct {
    TypeParam mutex;
    int count HF_GUARDED_BY(mutex) = 0;  // A plain int: lost additions, or TSan, show a race.
  } shared;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        const Lock lock(shared.mutex);
        ++shared.count;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  const Lock lock(shared.mutex);
  EXPECT_EQ(shared.count, 40'000);
}

template <class M>
bool is_free(M& mutex) {
  if (!mutex.try_lock()) return false;
  mutex.unlock();
  return true;
}

TYPED_TEST(MutexTest, AUniqueLockGivesItUpAndTakesItAgain) {
  TypeParam mutex;
  {
    UniqueLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
    EXPECT_TRUE(is_free(mutex));
    EXPECT_FALSE(lock.held());
    lock.lock();
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
  {
    UniqueLock lock(mutex);
    lock.unlock();
  }  // Not given back a second time.
  EXPECT_TRUE(is_free(mutex));
}

TYPED_TEST(MutexTest, AnAdoptedLockIsGivenBack) {
  TypeParam mutex;
  if (!mutex.try_lock()) FAIL();  // Not ASSERT_TRUE: clang's analysis would not follow it.
  {
    const Lock lock(mutex, kAdoptLock);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(SharedMutex, ReadersShareItAndKeepWritersOut) {
  SharedMutex mutex;
  {
    const SharedLock first(mutex);
    std::thread([&] { const SharedLock second(mutex); }).join();
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Condition, WaitsUntilTheStateHasChangedAndHoldsTheMutexAgain) {
  KernelMutex mutex;
  Condition changed;
  int state = 0;
  std::thread other([&] {
    const Lock lock(mutex);
    state = 1;
    changed.notify_all();
  });
  {
    UniqueLock lock(mutex);
    while (state == 0)
      changed.wait(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
  other.join();
}

TEST(Condition, AWaitWithABoundSaysThatTheTimeIsOver) {
  KernelMutex mutex;
  Condition changed;
  const Lock lock(mutex);
  const auto begin = std::chrono::steady_clock::now();
  while (changed.wait_for(mutex, std::chrono::milliseconds(10))) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(10));
  EXPECT_FALSE(is_free(mutex));
}

}  // namespace
}  // namespace holdfast
