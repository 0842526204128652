// An open run's arithmetic: what fits leaves room for the tail, and sequences stay within what the
// summary can say.
#include <holdfast/kv/lane.hpp>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

OpenRun open_run(std::uint64_t bytes) {
  OpenRun run;
  run.head = 1;
  run.bytes = bytes;
  run.left = bytes - OpenRun::kTailBytes;
  return run;
}

TEST(OpenRuns, NoneIsOpenAtFirst) {
  EXPECT_FALSE(OpenRun().open());
  EXPECT_TRUE(open_run(kTestBlockBytes).open());
  EXPECT_FALSE(OpenRun().fits(0, 1));
}

TEST(OpenRuns, WhatFitsLeavesRoomForATailOfSoManyRecords) {
  for (std::uint64_t padded = kCacheLineBytes; padded < kTestBlockBytes;
       padded += kCacheLineBytes) {
    OpenRun run = open_run(kTestBlockBytes);
    while (run.fits(padded, 1)) {  // As Appender::put_record() counts.
      run.at += padded;
      run.left -= padded + OpenRun::kTailBytesPerRecord;
      ++run.records;
    }
    EXPECT_LE(run.at + run_tail_bytes(run.records), run.bytes) << padded;
    // One more would not fit, or only by what rounding took.
    EXPECT_GT(run.at + padded + run_tail_bytes(run.records + 1) + 4 * kCacheLineBytes, run.bytes)
        << padded;
  }
}

TEST(OpenRuns, ThatARecordFitsIsExactToTheByte) {
  OpenRun run = open_run(kTestBlockBytes);
  run.left = 1'000;
  EXPECT_TRUE(run.fits(1'000 - OpenRun::kTailBytesPerRecord, 1));
  EXPECT_FALSE(run.fits(1'000 - OpenRun::kTailBytesPerRecord + 1, 1));
  EXPECT_TRUE(run.fits(1'000 - 3 * OpenRun::kTailBytesPerRecord, 3));
  EXPECT_FALSE(run.fits(1'000 - 3 * OpenRun::kTailBytesPerRecord, 4));
}

TEST(OpenRuns, SequencesStayWithinWhatASummaryCanSay) {
  OpenRun run = open_run(kTestBlockBytes);
  EXPECT_TRUE(run.spans(0)) << "the first may be any";
  EXPECT_TRUE(run.spans(kMaxSequence));
  constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
  run.records = 2;
  run.min_sequence = kBase;
  run.max_sequence = kBase + 10;
  EXPECT_TRUE(run.spans(kBase + kMaxSequenceSpan));
  EXPECT_FALSE(run.spans(kBase + kMaxSequenceSpan + 1));
  // A copy of an older record becomes the least, and the greatest must still be in reach.
  EXPECT_TRUE(run.spans(kBase + 10 - kMaxSequenceSpan));
  EXPECT_FALSE(run.spans(kBase + 10 - kMaxSequenceSpan - 1));
}

TEST(RunEntries, OffsetAndKindShareAWord) {
  for (const RecordKind kind : {RecordKind::kPut, RecordKind::kErase}) {
    const RunEntry entry = RunEntry::of(5, 6, 128, kind);
    EXPECT_EQ(entry.hash, 5u);
    EXPECT_EQ(entry.sequence, 6u);
    EXPECT_EQ(entry.offset(), 128u);
    EXPECT_EQ(entry.kind(), kind);
  }
}

}  // namespace
}  // namespace holdfast::kv
