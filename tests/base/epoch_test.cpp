#include <holdfast/base/epoch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <holdfast/base/spin.hpp>

namespace holdfast {
namespace {

std::atomic<int> freed{0};
void count_freed(void* object) {
  delete static_cast<int*>(object);
  ++freed;
}

class Epoch : public testing::TestWithParam<AsymmetricFence::Kind> {
 protected:
  void SetUp() override { freed = 0; }
  EpochDomain domain_{GetParam()};
};

TEST_P(Epoch, NothingIsFreedWhileAGuardEnteredBeforeLives) {
  auto reader = domain_.join(), writer = domain_.join();
  auto guard = domain_.enter(reader);
  domain_.retire(new int(1), count_freed);
  EXPECT_EQ(domain_.collect(), 1u);
  EXPECT_EQ(freed, 0);
  {
    const auto later = domain_.enter(writer);  // Entered after: does not hold it back.
    guard.end();
    EXPECT_EQ(domain_.collect(), 0u);
    EXPECT_EQ(freed, 1);
  }
}

TEST_P(Epoch, AGuardEnteredAfterDoesNotHoldBack) {
  auto reader = domain_.join();
  domain_.retire(new int(1), count_freed);
  const auto guard = domain_.enter(reader);
  domain_.retire(new int(2), count_freed);
  EXPECT_EQ(domain_.collect(), 1u);
  EXPECT_EQ(freed, 1);
}

// A thread that calls a function of the domain, which is to wait until release() is called.
template <class Call, class Release>
void expect_waits(Call&& call, Release&& release) {
  std::atomic<bool> began{false}, done{false};
  std::thread waits([&] {
    began = true;
    call();
    done = true;
  });
  while (!began)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(done);
  release();
  waits.join();
}

TEST_P(Epoch, SynchronizeWaitsForReadersAndWriters) {
  auto participant = domain_.join();
  for (const auto role : {EpochDomain::Role::kReader, EpochDomain::Role::kWriter}) {
    auto guard = domain_.enter(participant, role);
    expect_waits([&] { domain_.synchronize(); }, [&] { guard.end(); });
  }
}

TEST_P(Epoch, SynchronizeWritersWaitsForWritersOnly) {
  auto reader = domain_.join(), writer = domain_.join();
  const auto reads = domain_.enter(reader);
  domain_.synchronize_writers();
  auto writes = domain_.enter(writer, EpochDomain::Role::kWriter);
  {
    const auto inner = domain_.enter(writer);  // The outermost one's role counts.
  }
  expect_waits([&] { domain_.synchronize_writers(); }, [&] { writes.end(); });
  domain_.synchronize_writers();
}

// What was unlinked before is freed when the writer has ended, as beside a reader.
TEST_P(Epoch, AWriterHoldsBackWhatAReaderDoes) {
  auto writer = domain_.join();
  auto guard = domain_.enter(writer, EpochDomain::Role::kWriter);
  domain_.retire(new int(1), count_freed);
  EXPECT_EQ(domain_.collect(), 1u);
  guard.end();
  guard = domain_.enter(writer, EpochDomain::Role::kWriter);
  EXPECT_EQ(domain_.collect(), 0u);
  EXPECT_EQ(freed, 1);
}

TEST_P(Epoch, TheOutermostGuardCounts) {
  auto reader = domain_.join();
  auto outer = domain_.enter(reader);
  domain_.retire(new int(1), count_freed);
  {
    const auto inner = domain_.enter(reader);
  }
  EXPECT_TRUE(reader.inside());
  EXPECT_EQ(domain_.collect(), 1u);
  auto moved = std::move(outer);
  EXPECT_EQ(domain_.collect(), 1u);
  moved.end();
  EXPECT_FALSE(reader.inside());
  EXPECT_EQ(domain_.collect(), 0u);
}

TEST_P(Epoch, RetireFreesByItselfSoThatListsStayShort) {
  for (int i = 0; i < 1'000; ++i)
    domain_.retire(new int(i), count_freed);
  EXPECT_LT(domain_.retired(), 50u);
  EXPECT_GT(freed, 950);
}

TEST_P(Epoch, TheDestructorFreesWhatWaits) {
  {
    EpochDomain domain(GetParam());
    domain.retire(new int(1), count_freed);
  }
  EXPECT_EQ(freed, 1);
}

TEST_P(Epoch, AnyNumberOfParticipantsAndPlacesAreReused) {
  for (int round = 0; round < 3; ++round) {
    std::vector<EpochDomain::Participant> many;
    std::vector<EpochDomain::Guard> guards;
    for (int i = 0; i < 500; ++i)
      many.push_back(domain_.join());
    for (auto& one : many)
      guards.push_back(domain_.enter(one));
    domain_.retire(new int(1), count_freed);
    while (!guards.empty()) {
      EXPECT_EQ(domain_.collect(), 1u);
      guards.pop_back();
    }
    EXPECT_EQ(domain_.collect(), 0u);
  }
}

TEST_P(Epoch, SynchronizeWaitsForGuardsEnteredBeforeAndForNoOther) {
  auto reader = domain_.join();
  std::atomic<int> stage{0};
  std::atomic<bool> ended{false};
  std::thread thread([&] {
    auto own = domain_.join();
    {
      const auto guard = domain_.enter(own);
      stage = 1;
      for (SpinWait wait; stage != 2;)
        wait();
      ended = true;
    }
  });
  for (SpinWait wait; stage != 1;)
    wait();
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stage = 2;
  });
  domain_.synchronize();
  EXPECT_TRUE(ended);
  thread.join();
  release.join();
  domain_.synchronize();  // Nobody inside: returns.
}

// Readers follow a pointer that a writer replaces and retires; a freed object is poisoned. Under
// ASan and TSan a use after free shows itself as well.
TEST_P(Epoch, ReadersNeverSeeAFreedObject) {
  struct Object {
    std::atomic<std::uint64_t> alive{0x600d};
  };
  const auto destroy = [](void* object) {
    static_cast<Object*>(object)->alive.store(0xdead, std::memory_order_relaxed);
    delete static_cast<Object*>(object);
  };
  std::atomic<Object*> current{new Object};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        auto participant = domain_.join();  // Comes and goes.
        for (int i = 0; i < 100; ++i) {
          const auto guard = domain_.enter(participant);
          Object* const object = current.load(std::memory_order_acquire);
          for (int k = 0; k < 10; ++k)
            wrong += object->alive.load(std::memory_order_relaxed) != 0x600d;
        }
      }
    });
  }
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        domain_.retire(current.exchange(new Object, std::memory_order_acq_rel), destroy);
      }
    });
  }
  for (auto& writer : writers)
    writer.join();
  stop = true;
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong, 0u);
  delete current.load();
  EXPECT_EQ(domain_.collect(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Fences, Epoch,
                         testing::Values(AsymmetricFence::Kind::kAuto,
                                         AsymmetricFence::Kind::kSymmetric),
                         [](const auto& fences) {
                           return fences.param == AsymmetricFence::Kind::kAuto ? "Asymmetric"
                                                                               : "Symmetric";
                         });

TEST(Spin, LatchExcludes) {
  SpinLatch latch;
  std::uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const std::lock_guard lock(latch);
        ++count;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(count, 60'000u);
  EXPECT_TRUE(latch.try_lock());
  EXPECT_FALSE(latch.try_lock());
}

std::atomic<int> hook_calls{0};

TEST(Spin, TheHookIsCalledAndReplaced) {
  const SpinHook previous = set_spin_hook([] { ++hook_calls; });
  call_spin_hook();
  EXPECT_EQ(hook_calls, 1);
  set_spin_hook(previous);
  call_spin_hook();
  EXPECT_EQ(hook_calls, 1);
}

}  // namespace
}  // namespace holdfast
