// Sequences: none twice, each fresh one newer than all before, and the durable limit ahead of them.
#include <algorithm>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

#include <holdfast/kv/sequences.hpp>
#include <holdfast/memory/system.hpp>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

class SequenceNumbers : public testing::Test {
 protected:
  std::uint64_t limit_on_medium() const { return medium_.word(kSequenceLimitWordAt); }

  Medium medium_{small_region()};
  WriteGate gate_{false, ""};
  Sequences sequences_{medium_, gate_};
  SequenceChunk chunk_, other_;
};

TEST_F(SequenceNumbers, BeginWithOneAndRiseByOneWithinAChunk) {
  for (std::uint64_t i = 1; i <= Sequences::kPerChunk; ++i)
    EXPECT_EQ(sequences_.draw(chunk_, false), i);
  EXPECT_EQ(sequences_.next(), Sequences::kPerChunk + 1);
}

TEST_F(SequenceNumbers, AreHandedOutOnceWhoeverDraws) {
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(drawn.insert(sequences_.draw(chunk_, i % 7 == 0)).second);
    EXPECT_TRUE(drawn.insert(sequences_.draw(other_, i % 11 == 0)).second);
  }
  EXPECT_LT(*drawn.rbegin(), sequences_.next());
}

TEST_F(SequenceNumbers, AFreshOneIsNewerThanAllThatWereHandedOut) {
  (void)sequences_.draw(chunk_, false);
  const std::uint64_t newest = sequences_.draw(other_, false);
  EXPECT_LT(sequences_.draw(chunk_, false), newest) << "of its chunk";
  EXPECT_FALSE(sequences_.is_newest(chunk_));
  EXPECT_TRUE(sequences_.is_newest(other_));
  EXPECT_GT(sequences_.draw(chunk_, true), newest);
  EXPECT_TRUE(sequences_.is_newest(chunk_));
}

TEST_F(SequenceNumbers, AfterALapseEveryChunkIsNewer) {
  const std::uint64_t before = sequences_.draw(chunk_, false);
  const std::uint64_t lapsed = sequences_.lapse();
  EXPECT_GT(lapsed, before + Sequences::kPerChunk - 1) << "also what the chunk had in reserve";
  EXPECT_GT(sequences_.draw(chunk_, false), lapsed);
  EXPECT_GT(sequences_.draw(other_, false), lapsed);
}

TEST_F(SequenceNumbers, TheLimitOnTheMediumIsAheadOfEachOne) {
  sequences_.set_step(3 * Sequences::kPerChunk);
  std::set<std::uint64_t> limits;
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t sequence = sequences_.draw(chunk_, false);
    ASSERT_GT(limit_on_medium(), sequence);
    limits.insert(limit_on_medium());
  }
  EXPECT_GT(limits.size(), 3u);
  EXPECT_LT(limits.size(), 8u) << "one fence for many sequences";
}

TEST_F(SequenceNumbers, StartBeginsWhereItIsToldAndKeepsTheLimit) {
  ASSERT_TRUE(medium_.put_word(kSequenceLimitWordAt, 5'000));
  sequences_.start(1'000, 5'000);
  EXPECT_EQ(sequences_.draw(chunk_, false), 1'000u);
  EXPECT_EQ(limit_on_medium(), 5'000u) << "not reached yet";
  while (sequences_.draw(chunk_, false) < 4'999) {
  }
  EXPECT_GE(limit_on_medium(), 5'000u);
  EXPECT_EQ(sequences_.draw(chunk_, false), 5'000u);
  EXPECT_GT(limit_on_medium(), 5'000u);
}

TEST_F(SequenceNumbers, ManyThreadsGetDifferentOnes) {
  constexpr std::size_t kThreads = 4, kEach = 5'000;
  std::vector<std::vector<std::uint64_t>> drawn(kThreads);
  std::vector<std::thread> threads;
  for (auto& own : drawn) {
    threads.emplace_back([&] {
      SequenceChunk chunk;
      for (std::size_t i = 0; i < kEach; ++i)
        own.push_back(sequences_.draw(chunk, i % 100 == 0));
    });
  }
  for (auto& thread : threads)
    thread.join();
  std::set<std::uint64_t> all;
  for (const auto& own : drawn) {
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), kThreads * kEach);
}

// None of a chunk is used whose limit the medium did not take, and the store takes no more writes.
TEST(SequenceNumbersOnABadMedium, AreNotHandedOutBeyondTheLimit) {
  const Scratch scratch = Scratch::tmpfs();
  RegionOptions options;
  options.size_bytes = options.unit_bytes = kTestSegmentBytes;
  Medium medium(Region::open(scratch.path("region") + "?granularity=page", options).value());
  WriteGate gate(false, "");
  Sequences sequences(medium, gate);
  SequenceChunk chunk;
  memory_detail::set_fault_hook(
      [](memory_detail::Call call, int) { return call == memory_detail::Call::kWrite ? EIO : 0; });
  EXPECT_EQ(sequences.draw(chunk, false), 0u);
  EXPECT_EQ(chunk.failure.code(), Errc::kIo);
  EXPECT_FALSE(gate.open());
  memory_detail::set_fault_hook(nullptr);
  const std::uint64_t later = sequences.draw(chunk, false);
  EXPECT_TRUE(later == 0 || later > Sequences::kPerChunk) << later;
}

}  // namespace
}  // namespace holdfast::kv
