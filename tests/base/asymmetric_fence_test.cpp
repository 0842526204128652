#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <holdfast/base/asymmetric_fence.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast {
namespace {

class AsymmetricFenceKinds : public testing::TestWithParam<AsymmetricFence::Kind> {};

// The store buffer's litmus test: each side stores to its own word and then loads the other's.
TEST_P(AsymmetricFenceKinds, AtLeastOneSideSeesTheOther) {
  constexpr unsigned kRounds = 5'000;
  struct alignas(kCacheLineBytes) Word {
    std::atomic<unsigned> value{0};
  };
  const AsymmetricFence fence(GetParam());
  std::array<Word, 2> mine, arrived;
  std::array<std::vector<unsigned>, 2> saw{std::vector<unsigned>(kRounds),
                                           std::vector<unsigned>(kRounds)};
  const auto side = [&](unsigned self) {
    for (unsigned round = 1; round <= kRounds; ++round) {
      arrived[self].value.store(round);
      for (SpinWait wait; arrived[1 - self].value.load(std::memory_order_acquire) < round;)
        wait();
      mine[self].value.store(round, std::memory_order_relaxed);
      if (self == 0)
        fence.light();
      else
        fence.heavy();
      saw[self][round - 1] = mine[1 - self].value.load(std::memory_order_relaxed);
    }
  };
  std::thread other(side, 1);
  side(0);
  other.join();
  for (unsigned round = 1; round <= kRounds; ++round)
    ASSERT_TRUE(saw[0][round - 1] >= round || saw[1][round - 1] >= round) << "round " << round;
}

INSTANTIATE_TEST_SUITE_P(Kinds, AsymmetricFenceKinds,
                         testing::Values(AsymmetricFence::Kind::kAuto,
                                         AsymmetricFence::Kind::kSymmetric),
                         [](const auto& kind) {
                           return kind.param == AsymmetricFence::Kind::kAuto ? "Asymmetric"
                                                                             : "Symmetric";
                         });

}  // namespace
}  // namespace holdfast
