// The clock of a log's lanes: order, and that stable() is never taken back. Runs under TSan, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/blocks/log/lsn_clock.hpp>

namespace holdfast::blocks::log_detail {
namespace {

std::uint64_t append(LsnClock& clock, std::uint32_t lane, std::uint64_t count = 1) {
  const auto first = clock.draw(lane, count);
  clock.publish(lane);
  clock.end(lane);
  return first;
}

TEST(LsnClock, OfOneLaneCountsFromOne) {
  LsnClock clock(1, 0);
  EXPECT_EQ(clock.next(), 1u);
  EXPECT_EQ(clock.stable(), 0u);
  EXPECT_EQ(append(clock, 0), 1u);
  EXPECT_EQ(append(clock, 0, 5), 2u);
  EXPECT_EQ(append(clock, 0), 7u);
  EXPECT_EQ(clock.stable(), 7u);
  EXPECT_EQ(clock.next(), 8u);
}

TEST(LsnClock, GivesEachLaneItsOwnAndRises) {
  LsnClock clock(4, 103);
  EXPECT_EQ(clock.stable(), 103u);
  clock.use(2);
  std::uint64_t last = 103;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint32_t lane = i % 3 == 0 ? 2 : 0;
    const std::uint64_t count = 1 + i % 5;
    const auto next = clock.next();
    const auto first = append(clock, lane, count);
    EXPECT_EQ(first % 4, lane);
    EXPECT_GT(first, last);
    EXPECT_GE(first, next);
    last = first + (count - 1) * clock.stride();
    EXPECT_EQ(clock.stable(), last);
  }
}

TEST(LsnClock, HoldsStableBelowWhatIsInFlight) {
  LsnClock clock(2, 0);
  clock.use(1);
  const auto before = append(clock, 1);
  const auto slow = clock.draw(0, 3);
  const auto fast = append(clock, 1);  // Of the same tick or later.
  EXPECT_LT(clock.stable(), slow);
  EXPECT_GE(clock.stable(), before);
  clock.publish(0);
  EXPECT_LT(clock.stable(), slow);
  clock.end(0);
  EXPECT_EQ(clock.stable(), std::max(slow + 2 * clock.stride(), fast));
}

TEST(LsnClock, StableIsNeverTakenBack) {
  constexpr unsigned kDraws = 60'000;
  LsnClock clock(2, 0);
  clock.use(1);
  std::vector<std::uint64_t> drawn(kDraws);
  std::atomic<unsigned> ended{0};
  std::thread appender([&] {
    // Stores that miss the caches, so that what the draw stores becomes visible late.
    std::vector<std::uint64_t> cold(4 * MiB);
    Random random(1);
    for (unsigned i = 0; i < kDraws; ++i) {
      for (int n = 0; n < 4; ++n)
        cold[random.below(cold.size())] = i;
      drawn[i] = clock.draw(0, 1);
      clock.publish(0);
      ended.store(i + 1, std::memory_order_release);
      clock.end(0);
    }
  });
  struct Said {
    std::uint64_t stable;
    unsigned ended;  // Draws known to have ended when it had been said.
  };
  std::vector<Said> said;
  while (ended.load(std::memory_order_acquire) < kDraws) {
    for (int n = 0; n < 20; ++n)
      append(clock, 1);
    const auto stable = clock.stable();
    said.push_back({stable, ended.load(std::memory_order_acquire)});
  }
  appender.join();
  for (const auto& [stable, count] : said) {
    if (count < kDraws) {
      ASSERT_GT(drawn[count], stable) << "draw " << count;  // Later ones are greater still.
    }
  }
  EXPECT_GT(said.size(), 10u);
}

}  // namespace
}  // namespace holdfast::blocks::log_detail
