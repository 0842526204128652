// Which blocks are given out, what their words say then, and what of them is dead.
#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

using Purpose = BlockTable::Purpose;

TEST(BlockTables, ANewSegmentHasOnlyFreeBlocks) {
  const SmallTable small;
  EXPECT_EQ(small.medium.word(kSegmentsWordAt), 1u);
  EXPECT_EQ(small.table.blocks(), 8u);
  EXPECT_EQ(small.table.free_blocks(), 7u) << "the first is the table's";
  for (std::uint64_t block = 1; block < 8; ++block) {
    EXPECT_EQ(small.word(block).state, BlockState::kFree);
    EXPECT_EQ(small.word(block).generation, 0u);
  }
}

TEST(BlockTables, ARunTakesTheFirstBlocksThatAreFreeUnderAGenerationOfItsOwn) {
  SmallTable small(2, 2 * kTestSegmentBytes);
  const std::uint64_t first = small.table.open_run(3, Purpose::kPut).value();
  const std::uint64_t second = small.table.open_run(1, Purpose::kPut).value();
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 4u);
  EXPECT_EQ(small.word(1).state, BlockState::kOpen);
  for (const std::uint64_t tail : {2u, 3u}) {
    EXPECT_EQ(small.word(tail).state, BlockState::kTail);
    EXPECT_EQ(small.word(tail).generation, small.word(1).generation);
    EXPECT_EQ(&small.table.run_of(small.table.run_at(tail)), &small.table.meta(1));
  }
  EXPECT_EQ(small.word(4).generation, small.word(1).generation + 1);
  EXPECT_EQ(small.table.run_bytes(first), 3 * kTestBlockBytes);
  EXPECT_EQ(small.table.free_blocks(), 15u - 4);
}

// A run that was freed leaves a gap; one that does not fit goes on behind it.
TEST(BlockTables, FreedBlocksComeBackUnderANewGeneration) {
  SmallTable small(2, 2 * kTestSegmentBytes);
  const std::uint64_t gap = small.table.open_run(2, Purpose::kPut).value();
  ASSERT_TRUE(small.table.open_run(1, Purpose::kPut));
  const std::uint64_t generation = small.word(gap).generation;
  small.table.mark_dead(small.table.run_at(gap) / kCacheLineBytes, 100);
  ASSERT_TRUE(small.table.free_runs({&gap, 1}));
  EXPECT_EQ(small.word(gap).state, BlockState::kFree);
  EXPECT_EQ(small.word(gap + 1).state, BlockState::kFree);
  EXPECT_EQ(small.word(gap).generation, generation) << "of its last life";
  EXPECT_EQ(small.table.open_run(3, Purpose::kPut).value(), 4u);
  EXPECT_EQ(small.table.open_run(2, Purpose::kPut).value(), gap);
  EXPECT_GT(small.word(gap).generation, generation);
  EXPECT_FALSE(small.table.is_dead(small.table.run_at(gap) / kCacheLineBytes));
  EXPECT_EQ(small.table.meta(gap).dead(), 0u);
}

TEST(BlockTables, TheLastBlocksAreKeptForWhatMakesRoom) {
  SmallTable small;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(small.table.open_run(1, Purpose::kPut)) << i;
  EXPECT_EQ(small.table.open_run(1, Purpose::kPut).code(), Errc::kNoSpace);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(small.table.open_run(1, Purpose::kErase)) << i;
  EXPECT_EQ(small.table.open_run(1, Purpose::kErase).code(), Errc::kNoSpace);
  ASSERT_TRUE(small.table.open_run(1, Purpose::kReclaim));
  const auto full = small.table.open_run(1, Purpose::kReclaim);
  EXPECT_EQ(full.code(), Errc::kNoSpace);
  EXPECT_TRUE(mentions(full.error(), "max_bytes=65536"));
}

TEST(BlockTables, ARunLargerThanAGroupIsRefused) {
  SmallTable small;
  const std::uint64_t most = small.table.geometry().blocks_per_group() - 1;
  EXPECT_EQ(small.table.open_run(most + 1, Purpose::kPut).code(), Errc::kTooLarge);
  EXPECT_EQ(small.table.open_run(most, Purpose::kPut).code(), Errc::kNoSpace);
}

TEST(BlockTables, NoRunCrossesATableBlock) {
  SmallTable small(128, 8 * MiB);
  ASSERT_EQ(small.table.geometry().blocks_per_group(), 512u);
  EXPECT_EQ(small.table.open_run(300, Purpose::kPut).value(), 1u);
  EXPECT_EQ(small.table.open_run(300, Purpose::kPut).value(), 513u);
  EXPECT_EQ(small.table.open_run(211, Purpose::kPut).value(), 301u) << "up to the table block";
}

TEST(BlockTables, TheLimitOfGenerationsIsOnTheMediumBeforeOneBeyondItIsUsed) {
  SmallTable small(4, 4 * kTestSegmentBytes);
  small.table.set_generation_step(2);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t head = small.table.open_run(1, Purpose::kPut).value();
    EXPECT_LT(small.word(head).generation, small.medium.word(kGenerationLimitWordAt)) << i;
  }
  small.table.start_generations(1'000, 2'000);
  const std::uint64_t head = small.table.open_run(1, Purpose::kPut).value();
  EXPECT_EQ(small.word(head).generation, 1'000u);
  EXPECT_EQ(small.table.next_generation(), 1'001u);
}

TEST(BlockTables, TheLastGenerationIsAnError) {
  SmallTable small;
  small.table.start_generations(kMaxGeneration, kMaxGeneration);
  const auto refused = small.table.open_run(1, Purpose::kPut);
  EXPECT_EQ(refused.code(), Errc::kNoSpace);
  EXPECT_TRUE(mentions(refused.error(), "generations"));
  EXPECT_EQ(small.table.free_blocks(), 7u) << "nothing was taken";
}

TEST(BlockTables, TheRegionGrowsByASegmentOnceForAllWhoFoundItFull) {
  SmallTable small(1, 3 * kTestSegmentBytes);
  ASSERT_TRUE(small.table.grow_by_segment(8));
  ASSERT_TRUE(small.table.grow_by_segment(8)) << "another thread was faster";
  EXPECT_EQ(small.table.blocks(), 16u);
  EXPECT_EQ(small.medium.size_bytes(), 2 * kTestSegmentBytes);
  EXPECT_EQ(small.medium.word(kSegmentsWordAt), 2u);
  ASSERT_TRUE(small.table.grow_by_segment(16));
  EXPECT_EQ(small.table.grow_by_segment(24).code(), Errc::kNoSpace);
}

TEST(BlockTables, TrimGivesFreeSegmentsAtTheEndBack) {
  SmallTable small(4, 4 * kTestSegmentBytes);
  const std::uint64_t head = small.table.open_run(9, Purpose::kPut).value();  // Up to segment 2.
  EXPECT_EQ(small.table.trim(1'000).value(), 0u) << "so many are to stay free";
  EXPECT_EQ(small.table.trim(0).value(), 2 * kTestSegmentBytes);
  EXPECT_EQ(small.medium.size_bytes(), 2 * kTestSegmentBytes);
  EXPECT_EQ(small.medium.word(kSegmentsWordAt), 2u);
  EXPECT_EQ(small.table.free_blocks(), 15u - 9);
  ASSERT_TRUE(small.table.free_runs({&head, 1}));
  EXPECT_EQ(small.table.trim(0, 2).value(), 0u) << "segments to keep";
  EXPECT_EQ(small.table.trim(0).value(), kTestSegmentBytes);
  EXPECT_EQ(small.table.trim(0).value(), 0u) << "the first stays";
}

TEST(BlockTables, DeadRecordsAreKnownByTheirLineAndCountForTheirRun) {
  SmallTable small(2, 2 * kTestSegmentBytes);
  const std::uint64_t head = small.table.open_run(2, Purpose::kPut).value();
  BlockMeta& run = small.table.meta(head);
  const std::uint64_t line = small.table.run_at(head) / kCacheLineBytes;
  const std::uint64_t last = line + 2 * kTestBlockBytes / kCacheLineBytes - 1;
  EXPECT_FALSE(small.table.is_dead(line));
  small.table.mark_dead(line, 64);
  small.table.mark_dead(last, 128);  // In the run's second block.
  EXPECT_TRUE(small.table.is_dead(line));
  EXPECT_TRUE(small.table.is_dead(last));
  EXPECT_FALSE(small.table.is_dead(line + 1));
  EXPECT_FALSE(small.table.is_dead(last - 1));
  EXPECT_EQ(run.dead(), 192u);
  EXPECT_TRUE(run.dead_dirty.load());
  small.table.take_dead_dirty(head);
  EXPECT_FALSE(run.dead_dirty.load());
  small.table.mark_dead_as_found(line + 1);
  EXPECT_TRUE(small.table.is_dead(line + 1));
  EXPECT_FALSE(run.dead_dirty.load()) << "the medium has it already";
  EXPECT_EQ(run.dead(), 192u) << "the caller counts";
}

TEST(BlockTables, RoomReachesToTheEndOfTheRunAndNotFurther) {
  SmallTable small(2, 2 * kTestSegmentBytes);
  const std::uint64_t head = small.table.open_run(2, Purpose::kPut).value();
  const std::uint64_t at = small.table.run_at(head);
  EXPECT_EQ(small.table.room_at(at), 2 * kTestBlockBytes);
  EXPECT_EQ(small.table.room_at(at + 64), 2 * kTestBlockBytes - 64);
  EXPECT_EQ(small.table.room_at(at + kTestBlockBytes), kTestBlockBytes);
  EXPECT_EQ(small.table.room_at(at + 2 * kTestBlockBytes - 64), 64u);
  EXPECT_EQ(small.table.room_in_block(at + 64), kTestBlockBytes - 64);
}

TEST(BlockTables, TotalsAreOfRunsThatHoldRecords) {
  SmallTable small(2, 2 * kTestSegmentBytes);
  const std::uint64_t open = small.table.open_run(1, Purpose::kPut).value();
  const std::uint64_t sealed = small.table.open_run(2, Purpose::kPut).value();
  ASSERT_TRUE(small.table.mark_sealed(sealed));
  EXPECT_EQ(small.word(sealed).state, BlockState::kSealed);
  small.table.meta(open).used_bytes = 1'000;
  small.table.meta(sealed).used_bytes = 10'000;
  small.table.mark_dead(small.table.run_at(sealed) / kCacheLineBytes, 4'000);
  const BlockTable::Totals totals = small.table.totals();
  EXPECT_EQ(totals.blocks, 16u);
  EXPECT_EQ(totals.open_blocks, 1u);
  EXPECT_EQ(totals.free_blocks, 15u - 3);
  EXPECT_EQ(totals.live_bytes, 7'000u);
  EXPECT_EQ(totals.dead_bytes, 4'000u);
  EXPECT_EQ(totals.used_bytes, 4 * kTestBlockBytes) << "the table's block, too";
}

}  // namespace
}  // namespace holdfast::kv
