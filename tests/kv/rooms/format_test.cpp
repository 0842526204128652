// The words and numbers of the format: what fits in a field stays out of its neighbours, and what
// no store ever wrote is refused.
#include <set>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

TEST(Format, ABlockWordComesBackAsItWas) {
  for (const std::uint64_t generation : {std::uint64_t{0}, std::uint64_t{1}, kMaxGeneration}) {
    for (const BlockState state : {BlockState::kFree, BlockState::kOpen, BlockState::kSealed,
                                   BlockState::kTail, BlockState::kImage}) {
      BlockWord word{};
      ASSERT_TRUE(decode_block_word(encode_block_word({generation, state}, 77, 3), 77, 3, word));
      EXPECT_EQ(word.generation, generation);
      EXPECT_EQ(word.state, state);
    }
  }
}

TEST(Format, AWordOfZerosIsUnformattedAndNothingElseIs) {
  BlockWord word{9, BlockState::kOpen};
  ASSERT_TRUE(decode_block_word(0, 77, 3, word));
  EXPECT_EQ(word.state, BlockState::kUnformatted);
  EXPECT_EQ(word.generation, 0u);
  const std::uint64_t forged = encode_block_word({5, BlockState::kUnformatted}, 77, 3);
  EXPECT_FALSE(decode_block_word(forged, 77, 3, word));
}

TEST(Format, EveryFlippedBitOfABlockWordIsRefused) {
  for (std::uint64_t generation = 0; generation < 200; ++generation) {
    const std::uint64_t bits = encode_block_word({generation, BlockState::kSealed}, 77, 3);
    for (int bit = 0; bit < 64; ++bit) {
      BlockWord word;
      EXPECT_FALSE(decode_block_word(bits ^ std::uint64_t{1} << bit, 77, 3, word)) << bit;
    }
  }
}

TEST(Format, ABlockWordIsOfItsStoreItsBlockAndAKnownState) {
  BlockWord word;
  const std::uint64_t bits = encode_block_word({5, BlockState::kOpen}, 77, 3);
  EXPECT_FALSE(decode_block_word(bits, 78, 3, word));
  EXPECT_FALSE(decode_block_word(bits, 77, 4, word));
  const auto unknown = static_cast<BlockState>(static_cast<int>(BlockState::kImage) + 1);
  EXPECT_FALSE(decode_block_word(encode_block_word({5, unknown}, 77, 3), 77, 3, word));
}

TEST(Format, FieldsOfASummaryEntryKeepToThemselves) {
  constexpr std::uint64_t kLastLine = (std::uint64_t{1} << 26) - 1;
  for (const std::uint64_t delta : {std::uint64_t{0}, std::uint64_t{1}, kMaxSequenceSpan}) {
    for (const RecordKind kind : {RecordKind::kPut, RecordKind::kErase, RecordKind::kInPieces}) {
      for (const std::uint64_t line : {std::uint64_t{0}, std::uint64_t{1}, kLastLine}) {
        const SummaryEntry entry = SummaryEntry::of(11, delta, kind, line * kCacheLineBytes);
        EXPECT_EQ(entry.hash, 11u);
        EXPECT_EQ(entry.sequence_delta(), delta);
        EXPECT_EQ(entry.kind(), kind);
        EXPECT_EQ(entry.offset_bytes(), line * kCacheLineBytes);
      }
    }
  }
  EXPECT_EQ(kMaxRunBytes, (kLastLine + 1) * kCacheLineBytes) << "each line of a run has a number";
}

TEST(Format, FieldsOfARecordHeaderKeepToThemselves) {
  RecordHeader header{};
  header.size_word =
      kValueBytesMask | std::uint64_t{1} << 40 | std::uint64_t{0xffff} << kSpaceShift;
  EXPECT_EQ(header.value_bytes(), kValueBytesMask);
  header.size_word = std::uint64_t{1} << 40 | std::uint64_t{0xffff} << kSpaceShift;
  EXPECT_EQ(header.value_bytes(), 0u);
  header.key_bytes_and_kind = 0xffffffu | 1u << kFencedBeforeBit;
  EXPECT_EQ(header.key_bytes(), 0xffffffu);
  EXPECT_EQ(header.kind(), RecordKind::kUnwritten);
  header.key_bytes_and_kind = 2u << 24 | 1u << kFencedBeforeBit;
  EXPECT_EQ(header.key_bytes(), 0u);
  EXPECT_EQ(header.kind(), RecordKind::kErase) << "whatever was fenced before it";
}

TEST(Format, ATailIsWholeLinesWithRoomForItsBitsEntriesAndFooter) {
  EXPECT_EQ(dead_bits_bytes(0), 0u);
  EXPECT_EQ(dead_bits_bytes(1), 8u);
  EXPECT_EQ(dead_bits_bytes(64), 8u);
  EXPECT_EQ(dead_bits_bytes(65), 16u);
  EXPECT_EQ(run_tail_bytes(0), sizeof(RunFooter));
  for (std::uint64_t records = 0; records < 1'000; ++records) {
    const std::uint64_t needed =
        (records + 63) / 64 * 8 + records * sizeof(SummaryEntry) + sizeof(RunFooter);
    EXPECT_EQ(run_tail_bytes(records) % kCacheLineBytes, 0u);
    EXPECT_GE(run_tail_bytes(records), needed);
    EXPECT_LT(run_tail_bytes(records), needed + kCacheLineBytes);
  }
}

TEST(Geometry, ARunHasNoBlockTooFewAndNoneTooMany) {
  const Geometry geometry = small_geometry();
  const std::uint64_t tail = run_tail_bytes(1);
  EXPECT_EQ(geometry.blocks_for(kTestBlockBytes - tail, 1), 1u);
  EXPECT_EQ(geometry.blocks_for(kTestBlockBytes - tail + kCacheLineBytes, 1), 2u);
  EXPECT_EQ(geometry.blocks_for(2 * kTestBlockBytes - tail, 1), 2u);
  EXPECT_EQ(geometry.blocks_for(0, 0), 1u);
}

// In the table block of its group, behind the superblock page, each word in a place of its own.
TEST(Geometry, EachBlockHasItsWordInTheTableBlockOfItsGroup) {
  const Geometry geometry = small_geometry();
  const std::uint64_t group = geometry.blocks_per_group();
  std::set<std::uint64_t> words;
  for (std::uint64_t block = 0; block < 3 * group; ++block) {
    const std::uint64_t at = geometry.table_word_at(block);
    const std::uint64_t table_block = at / kTestBlockBytes;
    EXPECT_TRUE(geometry.is_table_block(table_block));
    EXPECT_EQ(table_block, block / group * group);
    EXPECT_GE(at % kTestBlockBytes, kSuperblockPageBytes);
    EXPECT_EQ(at % sizeof(std::uint64_t), 0u);
    EXPECT_TRUE(words.insert(at).second) << "block " << block;
    EXPECT_EQ(geometry.is_table_block(block), block % group == 0);
  }
}

TEST(Geometry, ValuesBeginOnAWordAndRecordsEndWithTheirValue) {
  Geometry geometry = small_geometry();
  EXPECT_EQ(geometry.value_at(0), 32u);
  EXPECT_EQ(geometry.value_at(1), 40u);
  EXPECT_EQ(geometry.value_at(8), 40u);
  EXPECT_EQ(geometry.value_at(9), 48u);
  EXPECT_EQ(geometry.record_bytes(9, 5), 53u);
  geometry.record_header_bytes += 8;  // With patchable words.
  EXPECT_EQ(geometry.value_at(0), 40u);
  EXPECT_EQ(Geometry::padded(0), 0u);
  EXPECT_EQ(Geometry::padded(64), 64u);
  EXPECT_EQ(Geometry::padded(65), 128u);
}

TEST(Geometry, TheSeedTellsGenerationsStoresAndSecretsApart) {
  Geometry geometry = small_geometry();
  std::set<std::uint64_t> seeds;
  for (std::uint64_t generation = 0; generation < 100; ++generation)
    EXPECT_TRUE(seeds.insert(geometry.seed(generation)).second);
  geometry.secret = 5;
  EXPECT_TRUE(seeds.insert(geometry.seed(1)).second);
  geometry.store_id = 78;
  EXPECT_TRUE(seeds.insert(geometry.seed(1)).second);
}

TEST(Geometry, RunsBelowTheFirstGenerationAreOfVersion1) {
  Geometry geometry = small_geometry();
  EXPECT_FALSE(geometry.is_version1(0));
  geometry.first_generation = 7;
  EXPECT_TRUE(geometry.is_version1(6));
  EXPECT_FALSE(geometry.is_version1(7));
}

}  // namespace
}  // namespace holdfast::kv
