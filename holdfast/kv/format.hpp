// format.hpp: every byte of a store on its medium, format version 2. Prose and a worked example:
// docs/media_format.md.
//
//   region  = group*                      group = table block, then the blocks it describes
//   group 0's table block begins with the superblock page; in the others that page is zero
//   run     = one or more consecutive blocks of one group: records, then dead bits, summary, footer
//
// All integers little-endian. A store that version 1 made may hold runs of version 1; format_v1.hpp
// has what differs in them. Versions 1 and 2 are frozen: golden stores in tests/kv/golden must
// open.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::kv {

// The first line of the region: which version reads on, and where.
//
//   bytes 0-7    kMagic; kRestoringMagic, while a restore into the region has not ended
//   bytes 16-19  format version, bytes 20-23 block_bytes: one aligned word, so that a store of
//                version 1 becomes one of version 2 by a single store (superblock.hpp)
inline constexpr std::uint64_t kMagic = 0x3154'5341'4644'4c48;           // "HLDFAST1"
inline constexpr std::uint64_t kRestoringMagic = 0x5453'4552'4644'4c48;  // "HLDFREST"
inline constexpr std::uint64_t kVersionWordAt = 16;
inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr std::size_t kMaxPatchableWords = 64;

// ---- Superblock: in the first page of the region ----

inline constexpr std::uint64_t kSuperblockAt = 2048;

enum class HashKind : std::uint32_t {  // Never renumber.
  kXxh3 = 1,                           // Of stores that version 1 made: without a key.
  kKeyed = 2,                          // base/keyed_hash.hpp.
};

// What a reader must know to read the store at all; it refuses a store with a flag that it does not
// know (kNewerFormat).
inline constexpr std::uint64_t kRunsOfVersion1 = 1 << 0;  // Generations below first_generation are.
inline constexpr std::uint64_t kHasSpaces = 1 << 1;       // There may be records of keyspaces.
inline constexpr std::uint64_t kSharesRuns = 1 << 2;      // See kSharedLimitWordAt.
inline constexpr std::uint64_t kHasExpiry = 1 << 3;       // The system space has rules of expiry.
inline constexpr std::uint64_t kHasPieces = 1 << 4;       // There may be values in pieces.
inline constexpr std::uint64_t kHasMark = 1 << 5;         // See kMarkWordAt.
// A second superblock, written before the first one is replaced: one of them always holds.
inline constexpr std::uint64_t kSuperblockCopyAt = kSuperblockAt + 512;

struct Superblock {        // Written at creation, or when a store of version 1 is first written.
  std::uint64_t checksum;  // Over everything of this struct behind it.
  std::uint32_t format_version;
  std::uint32_t oldest_reader;          // Least format version whose readers understand the store.
  std::uint64_t compatible_features;    // Unknown ones are ignored ...
  std::uint64_t incompatible_features;  // ... these are not.
  std::uint64_t store_id;               // Random; seeds the checks of the block table.
  std::uint64_t segment_bytes;
  std::uint64_t value_bytes;  // Typed stores; 0 otherwise.
  std::uint32_t key_bytes;
  std::uint32_t block_bytes;
  std::uint64_t first_generation;  // Of runs of version 2.
  HashKind hash_kind;
  std::uint32_t patchable_count;
  std::array<std::uint64_t, 2> hash_key;  // Random and secret: see base/keyed_hash.hpp.
  // The id in the names of runs in checkpoints; see RunName. 0: store_id is used, since the store
  // was never restored.
  std::uint64_t origin;
  std::uint64_t origin_generation;  // Those of this generation and above; the parent those below.
  std::uint64_t parent_origin;
  std::uint64_t parent_generation;                                // From here on.
  std::array<std::uint32_t, kMaxPatchableWords> patchable_words;  // Byte offsets into the value.
};
static_assert(sizeof(Superblock) == 384 && offsetof(Superblock, patchable_words) == 128);
static_assert(std::has_unique_object_representations_v<Superblock>);

// Words that change while the store lives, each durable by a single aligned store, each on its own
// line (offsets into the superblock page).
inline constexpr std::uint64_t kSegmentsWordAt = 1024;  // Segments whose table words are formatted.
// All generations, and all sequences, that were handed out are below.
inline constexpr std::uint64_t kGenerationLimitWordAt = 1088;
inline constexpr std::uint64_t kSequenceLimitWordAt = 1152;
inline constexpr std::uint64_t kCleanMarkAt = 1216;
// Runs of generations below may be part of a checkpoint: their words are updated in place no more.
inline constexpr std::uint64_t kSharedLimitWordAt = 1280;
// First block of the image of the store's mark (mark.hpp); 0: it has none. The runs that the image
// names are not freed.
inline constexpr std::uint64_t kMarkWordAt = 1344;
inline constexpr std::uint64_t kReturningBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kSuperblockPageBytes = 4096;

// The store was closed in order and its index lies in a run of its own. Zero first word: it was
// not.
struct CleanMark {
  std::uint64_t checksum;  // Over the rest; stored last of the line. 0 is never valid.
  std::uint64_t next_sequence;
  std::uint64_t next_generation;
  std::uint64_t image_block;  // First block of the run with the index image; 0: none was written.
  std::uint64_t image_bytes;
  std::uint64_t image_checksum;
  std::uint64_t records;
  std::uint64_t order_block;  // The same of the run with the keys in order (order_image.hpp).
};
static_assert(sizeof(CleanMark) == kCacheLineBytes);
static_assert(std::has_unique_object_representations_v<CleanMark>);

// Of a mark: over all of it behind its checksum, bound to the store. 0 is never valid.
template <class Mark>
std::uint64_t mark_checksum(const Mark& mark, std::uint64_t store_id) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&mark);
  const std::uint64_t sum =
      hash64({bytes + sizeof mark.checksum, sizeof mark - sizeof mark.checksum}) ^ mix64(store_id);
  return sum + (sum == 0);
}

// ---- Block table: one word per block ----

enum class BlockState : std::uint8_t {  // Never renumber. 0 is what unformatted media contain.
  kUnformatted = 0,
  kFree = 1,    // Durable before the block is opened again.
  kOpen = 2,    // Records are appended; sealed all the same if its footer is valid.
  kSealed = 3,  // Its footer was durable before this word: one that is not valid is damage.
  kTail = 4,    // Belongs to the run that begins before it.
  kImage = 5,   // Head of a run with an image: of a clean close (index, order), or of a mark.
};

// A block's word: generation (40 bits), state (8), check (16). One aligned store: it cannot tear.
struct BlockWord {
  std::uint64_t generation;
  BlockState state;
};
inline constexpr std::uint64_t kMaxGeneration = (std::uint64_t{1} << 40) - 1;
// A limit word beyond is damage: at a hundred million writes a second it is 2,900 years away.
inline constexpr std::uint64_t kMaxSequence = std::uint64_t{1} << 63;

// The check binds the word to its store and its block, so that swapped files show themselves. Every
// single flipped bit changes it: no window of 16 bits of the multiplier is all zero or all one.
inline std::uint64_t encode_block_word(BlockWord word, std::uint64_t store_id,
                                       std::uint64_t block) {
  const std::uint64_t low = word.generation | std::uint64_t{static_cast<std::uint8_t>(word.state)}
                                                  << 40;
  const std::uint64_t check = ((low ^ mix64(store_id + block)) * 0x9E3779B97F4A7C15) >> 48;
  return low | check << 48;
}
// False if the check does not hold. `bits` of 0 decode to kUnformatted.
inline bool decode_block_word(std::uint64_t bits, std::uint64_t store_id, std::uint64_t block,
                              BlockWord& word) {
  word = {bits & kMaxGeneration, static_cast<BlockState>(bits >> 40 & 0xff)};
  if (bits == 0) return true;
  return word.state != BlockState::kUnformatted && word.state <= BlockState::kImage &&
         encode_block_word(word, store_id, block) == bits;
}

// ---- Records ----

enum class RecordKind : std::uint8_t {  // Never renumber.
  kUnwritten = 0,
  kPut = 1,
  kErase = 2,     // A tombstone: key only.
  kBatch = 3,     // A frame: the next `value_bytes` bytes are the members of one atomic batch.
  kInPieces = 4,  // A put, but for its value: InPieces, and where the pieces lie.
};
// Whether a key that leads to such a record has a value.
constexpr bool is_put(RecordKind kind) {
  return kind == RecordKind::kPut || kind == RecordKind::kInPieces;
}

// In RecordHeader::size_word, behind the 40 bits of value_bytes.
// 8 flags, none of which is used.
inline constexpr unsigned kSpaceShift = 48;  // The upper 16 bits: the record's keyspace.
inline constexpr std::uint64_t kValueBytesMask = (std::uint64_t{1} << 40) - 1;

// Keyspaces. Never renumber.
inline constexpr std::uint16_t kDefaultSpace = 0;  // The store's own keys.
inline constexpr std::uint16_t kSystemSpace = 1;   // Names of the others: spaces.hpp.
inline constexpr std::uint16_t kFirstSpace = 2, kLastSpace = 0xfffd;
inline constexpr std::uint16_t kPieceSpace = 0xfffe;   // Pieces of values: pieces.hpp.
inline constexpr std::uint16_t kMixedSpaces = 0xffff;  // Of a run; its records say which.

// In RecordHeader::key_bytes_and_kind: all that lies before the record in its run was durable when
// it was written. So a whole record behind damage proves that the damage is none that a crash
// leaves.
inline constexpr unsigned kFencedBeforeBit = 31;

// Begins on a line. Then, in stores with patchable words, the fixed checksum (8 bytes); then the
// key; then, on the next multiple of 8, the value; then zeros up to the next line.
struct RecordHeader {
  std::uint64_t checksum;  // Of everything behind it, seeded with store and generation.
  std::uint64_t sequence;
  std::uint64_t size_word;           // Value bytes, flags, keyspace.
  std::uint32_t key_bytes_and_kind;  // 24 bits, 7 bits; above them kFencedBeforeBit.
  // Its place among the run's records; a frame has its first member's.
  std::uint32_t ordinal;

  std::uint64_t value_bytes() const { return size_word & kValueBytesMask; }
  std::uint16_t space() const { return static_cast<std::uint16_t>(size_word >> kSpaceShift); }
  std::uint32_t key_bytes() const { return key_bytes_and_kind & 0xffffff; }
  RecordKind kind() const { return static_cast<RecordKind>(key_bytes_and_kind >> 24 & 0x7f); }
  bool is_put_of(std::uint32_t bytes_of_key) const {
    return (key_bytes_and_kind & 0x7fffffff) == (bytes_of_key | 1u << 24);
  }
};
static_assert(sizeof(RecordHeader) == 32 && offsetof(RecordHeader, ordinal) == 28);
static_assert(std::has_unique_object_representations_v<RecordHeader>);

// What a record of kInPieces has in front of its value, which is: the front, then the pieces in
// their order, then what is behind the front here. Pieces are puts of kPieceSpace.
struct InPieces {
  std::uint64_t lineage;      // Of these pieces among all that the key ever had.
  std::uint64_t piece_bytes;  // Of all pieces.
  std::uint32_t pieces;
  std::uint32_t front_bytes;

  std::uint64_t value_bytes(std::uint64_t record_value_bytes) const {
    return record_value_bytes - sizeof(InPieces) + piece_bytes;
  }
};
static_assert(sizeof(InPieces) == 24 && std::has_unique_object_representations_v<InPieces>);

// ---- The end of a sealed run ----
//
//   … records | dead bits: a bit per record, up to the next 8 bytes | SummaryEntry per record |
//   RunFooter

struct SummaryEntry {
  std::uint64_t hash;    // Of the key.
  std::uint64_t packed;  // sequence - base_sequence (34 bits), kind (4), offset in lines (26).

  std::uint64_t sequence_delta() const { return packed >> 30; }
  RecordKind kind() const { return static_cast<RecordKind>(packed >> 26 & 15); }
  std::uint64_t offset_bytes() const { return (packed & 0x3ffffff) * kCacheLineBytes; }
  static SummaryEntry of(std::uint64_t hash, std::uint64_t delta, RecordKind kind,
                         std::uint64_t offset_bytes) {
    return {hash, delta << 30 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 26 |
                      offset_bytes / kCacheLineBytes};
  }
};
static_assert(sizeof(SummaryEntry) == 16 && std::has_unique_object_representations_v<SummaryEntry>);
inline constexpr std::uint64_t kMaxSequenceSpan = (std::uint64_t{1} << 34) - 1;
// 26 bits of lines. See max_value_bytes().
inline constexpr std::uint64_t kMaxRunBytes = std::uint64_t{1} << 32;

struct RunFooter {
  // Over the summary, then the footer behind this field; seeded with the generation.
  std::uint64_t checksum;
  std::uint64_t generation;
  std::uint64_t base_sequence;
  std::uint64_t max_sequence;
  std::uint32_t run_blocks;
  std::uint16_t space;  // All its records are of this keyspace, or kMixedSpaces.
  std::uint16_t reserved;
  std::uint64_t used_bytes;  // End of the last record, from the start of the run.
  std::uint32_t records;
  std::uint32_t tombstones;
  std::uint64_t frame_bytes;  // Of batch frames among the records; they are dead from the start.
};
static_assert(sizeof(RunFooter) == kCacheLineBytes &&
              std::has_unique_object_representations_v<RunFooter>);

// Page media: the last bytes of a run that is open, until its footer takes their place. It says how
// much of the run was synced (synced_mark.hpp).
struct SyncedMark {
  std::uint64_t checksum;
  std::uint64_t generation;
  std::uint64_t bytes;  // From the beginning of the run.
};
static_assert(sizeof(SyncedMark) <= sizeof(RunFooter) &&
              std::has_unique_object_representations_v<SyncedMark>);

inline constexpr std::uint64_t dead_bits_bytes(std::uint64_t records) {
  return (records + 63) / 64 * 8;
}
// What must stay free at the end of a run for `records` records.
inline constexpr std::uint64_t run_tail_bytes(std::uint64_t records) {
  return round_up(dead_bits_bytes(records) + records * sizeof(SummaryEntry), kCacheLineBytes) +
         sizeof(RunFooter);
}
inline constexpr std::uint64_t kMaxRecordsPerRun = std::uint64_t{1} << 26;

// ---- Where things lie ----

// Arithmetic of one store's geometry. A group's table block describes the `blocks_per_group - 1`
// blocks behind it (and itself, with a word that is never used).
struct Geometry {
  std::uint64_t block_bytes = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t store_id = 0;
  std::uint64_t first_generation = 0;  // Runs of lower generations are of version 1.
  std::uint32_t record_header_bytes = sizeof(RecordHeader);  // 8 more with patchable words.

  bool is_version1(std::uint64_t generation) const { return generation < first_generation; }

  std::uint64_t secret = 0;  // Made of the hash key: the store's id alone forges no record.

  // Of the checksums in a run: neither an earlier generation's bytes nor another store's pass for
  // ours.
  std::uint64_t seed(std::uint64_t generation) const {
    return mix64(generation ^ mix64(store_id ^ secret));
  }

  std::uint64_t blocks_per_group() const { return (block_bytes - kSuperblockPageBytes) / 8; }
  std::uint64_t blocks_per_segment() const { return segment_bytes / block_bytes; }
  bool is_table_block(std::uint64_t block) const { return block % blocks_per_group() == 0; }
  std::uint64_t table_word_at(std::uint64_t block) const {
    const std::uint64_t group = block / blocks_per_group();
    return group * blocks_per_group() * block_bytes + kSuperblockPageBytes +
           block % blocks_per_group() * 8;
  }
  std::uint64_t value_at(std::uint64_t key_bytes) const {
    return round_up(record_header_bytes + key_bytes, 8);
  }
  std::uint64_t record_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes) const {
    return value_at(key_bytes) + value_bytes;
  }
  static std::uint64_t padded(std::uint64_t bytes) { return round_up(bytes, kCacheLineBytes); }
  // Blocks that a run with one record of this size takes.
  std::uint64_t blocks_for(std::uint64_t record_area_bytes, std::uint64_t records) const {
    return (record_area_bytes + run_tail_bytes(records) + block_bytes - 1) / block_bytes;
  }
};

}  // namespace holdfast::kv
