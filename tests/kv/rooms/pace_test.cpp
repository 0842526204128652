// How full a store is for its writers, and what that follows.
#include <holdfast/kv/pace.hpp>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

using Purpose = BlockTable::Purpose;

// Two hundred runs of a block, all sealed and all live.
class Paces : public testing::Test {
 protected:
  static constexpr std::uint64_t kRuns = 200;

  Paces() : small_(32, 32 * kTestSegmentBytes), pace_(small_.table, background()) {
    for (std::uint64_t i = 0; i < kRuns; ++i) {
      runs_.push_back(small_.table.open_run(1, Purpose::kPut).value());
      small_.table.meta(runs_.back()).used_bytes = kTestBlockBytes;
      small_.table.mark_sealed(runs_.back()).value();
    }
  }
  static StoreOptions background() {
    StoreOptions options;
    options.reclaim.space_amplification = 1.25;
    return options;
  }
  // As an eraser leaves them: nothing of them lives, and nobody has freed them.
  void kill(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      small_.table.mark_dead(small_.table.run_at(runs_[i]) / kCacheLineBytes, kTestBlockBytes);
      small_.table.count_dead(kTestBlockBytes);
    }
  }
  void free(std::uint64_t from, std::uint64_t to) {
    small_.table.free_runs(std::span(runs_).subspan(from, to - from)).value();
  }

  SmallTable small_;
  Pace pace_;
  std::vector<std::uint64_t> runs_;
};

TEST_F(Paces, NobodyIsSlowedBelowTheZone) {
  pace_.begin_pass();
  EXPECT_LT(pace_.position(), 0);
  EXPECT_FALSE(pace_.wants_reclaim());
  EXPECT_FALSE(pace_.wants_pause());
}

// Erasing a quarter of ten million records took ten times as long as the erases themselves, and the
// next writer waited for a pass for each of its runs.
TEST_F(Paces, WhereWhatLivesIsLessAtOnceWritersGoOnWhileUseFalls) {
  kill(0, 100);
  EXPECT_GE(pace_.position(), 1) << "before a pass has seen it";
  pace_.begin_pass();
  EXPECT_NEAR(pace_.position(), 0.75, 0.01);
  EXPECT_TRUE(pace_.wants_reclaim());
  EXPECT_TRUE(pace_.wants_pause());

  free(0, 30);
  EXPECT_LT(pace_.position(), 0) << "there is room, so nobody waits";
  EXPECT_TRUE(pace_.wants_reclaim()) << "the goal is not reached";
  pace_.begin_pass();
  EXPECT_NEAR(pace_.position(), 0.75, 0.01) << "what was gained is not given away again";
}

TEST_F(Paces, WhoTakesMoreThanIsGainedWaits) {
  kill(0, 100);
  pace_.begin_pass();
  for (int i = 0; i < 5; ++i) {
    small_.table.open_run(1, Purpose::kPut).value();
    pace_.begin_pass();
  }
  EXPECT_GE(pace_.position(), 1);
}

TEST_F(Paces, RunsOfTombstonesRaiseTheLimitOfWriters) {
  kill(0, 100);
  pace_.begin_pass();
  for (int i = 0; i < 20; ++i) {
    small_.table.open_run(1, Purpose::kErase).value();
    pace_.go_on(1);
  }
  EXPECT_NEAR(pace_.position(), 0.75, 0.01);
}

TEST_F(Paces, OnceTheGoalIsReachedItAloneCounts) {
  kill(0, 100);
  pace_.begin_pass();
  free(0, 90);
  pace_.begin_pass();
  EXPECT_FALSE(pace_.wants_reclaim());
  for (int i = 0; i < 40; ++i)
    small_.table.open_run(1, Purpose::kPut).value();
  pace_.begin_pass();
  EXPECT_LT(pace_.position(), 1) << "open runs raise the limit";
  for (std::uint64_t i = 0; i < 40; ++i)
    small_.table.mark_sealed(small_.table.open_run(1, Purpose::kPut).value()).value();
  EXPECT_GE(pace_.position(), 1);
}

}  // namespace
}  // namespace holdfast::kv
