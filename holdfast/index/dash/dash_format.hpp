// dash_format.hpp: what a Dash index writes to its medium, byte by byte. docs/dash.md has the why.
//
//   0      superblock: header, then DashShape
//   4096   control: depth word (line 0), split word (line 1)
//   8192   directory: 2^max_depth sealed words, a segment's number each
//   then   segments, one behind the other: normal buckets, then stash buckets
//
// A bucket is four lines. A line is complete in itself: its first word says which of its three
// records count. So the last store to one line adds or removes a record.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index::dash_detail {

inline constexpr SuperblockFormat kDashFormat{"dash index", magic_of("HLDDASH1"), 1, 1, 0};

inline constexpr std::uint64_t kDepthAt = kPageBytes;
inline constexpr std::uint64_t kSplitAt = kPageBytes + kCacheLineBytes;
inline constexpr std::uint64_t kDirectoryAt = 2 * kPageBytes;

struct DashShape {              // On media, little-endian: the body of the superblock.
  std::uint32_t buckets;        // Normal ones of a segment.
  std::uint32_t stash_buckets;  // Of a segment.
  std::uint32_t segments;       // So many have a place.
  std::uint32_t max_depth;      // The directory has 2^max_depth places.

  static constexpr std::uint32_t kMaxBuckets = 1'024;
  static constexpr std::uint32_t kMaxStashBuckets = 64;
  static constexpr std::uint32_t kMaxSegments = 1u << 24;
  static constexpr std::uint32_t kMaxDepth = 28;

  // False: no build writes such a shape, and its sizes may overflow.
  constexpr bool valid() const {
    return buckets >= 2 && buckets <= kMaxBuckets && stash_buckets <= kMaxStashBuckets &&
           segments >= 1 && segments <= kMaxSegments && max_depth <= kMaxDepth;
  }
  constexpr std::uint64_t segment_bytes() const {
    return (std::uint64_t{buckets} + stash_buckets) * 256;
  }
  constexpr std::uint64_t segments_at() const {
    const auto directory = std::uint64_t{8} << max_depth;
    return kDirectoryAt + (directory + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  constexpr std::uint64_t segment_at(std::uint32_t segment) const {
    return segments_at() + segment * segment_bytes();
  }
  constexpr std::uint64_t bytes() const { return segment_at(segments); }
};
static_assert(sizeof(DashShape) == 16 && offsetof(DashShape, max_depth) == 12);
static_assert(std::has_unique_object_representations_v<DashShape>);

struct Record {
  std::uint64_t key;
  std::uint64_t value;
};

struct Line {  // On media, 64 bytes.
  static constexpr unsigned kRecords = 3;
  std::uint64_t meta;   // LineMeta. A change of records stores it last in the line.
  std::uint64_t extra;  // Line 0 of a normal bucket: its stash filter. Line 1 of a segment's first
                        // bucket: the segment word, sealed. Else zero.
  Record records[kRecords];
};
static_assert(sizeof(Line) == kCacheLineBytes && offsetof(Line, records) == 16);

struct Bucket {
  static constexpr unsigned kLines = 4;
  static constexpr unsigned kRecords = kLines * Line::kRecords;
  Line lines[kLines];
};
static_assert(sizeof(Bucket) == 256);

// A line's first word: bits 0..47 three fingerprints, 48..50 the record is there, 51..53 it is a
// visitor: its home is the bucket before. Bits 54..63 are zero, and so is the fingerprint of a
// place without a record: by that a record whose bit was lost is noticed. A word of zeros is an
// empty line.
struct LineMeta {
  std::uint64_t word = 0;

  static constexpr std::uint64_t kKnownBits = (std::uint64_t{1} << 54) - 1;
  constexpr bool holds(unsigned slot) const { return (word >> (48 + slot) & 1) != 0; }
  constexpr bool visitor(unsigned slot) const { return (word >> (51 + slot) & 1) != 0; }
  constexpr std::uint16_t fingerprint(unsigned slot) const {
    return static_cast<std::uint16_t>(word >> (16 * slot));
  }
  // Bit s: a record is in slot s and has this fingerprint.
  unsigned matching(std::uint16_t fingerprint) const {
    constexpr std::uint64_t kLow = 0x000100010001, kHigh = 0x800080008000;
    const auto differs = (word & (kLow * 0xffff)) ^ kLow * fingerprint;
    const auto zero = ~(((differs & ~kHigh) + (kLow * 0xffff & ~kHigh)) | differs) & kHigh;
    // Bits 15, 31 and 47 become 0, 1 and 2.
    const auto slots = (zero >> 15 | zero >> 30 | zero >> 45) & 7;
    return static_cast<unsigned>(slots & HF_MUTANT("D01", word >> 48 & 7, 7));
  }
  bool well_formed() const {
    const auto held = word >> 48 & 7, visitors = word >> 51 & 7;
    auto free = *this;
    for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
      if (holds(slot)) free = free.without(slot);
    }
    constexpr std::uint64_t kFingerprints = (std::uint64_t{1} << 48) - 1;
    return (word & ~kKnownBits) == 0 && (visitors & ~held) == 0 &&
           HF_MUTANT("D38", (free.word & kFingerprints) == 0, true);
  }
  // From a table of two bits each: popcount is a call where the instruction may not be used.
  constexpr unsigned count() const { return 0xe994u >> 2 * (word >> 48 & 7) & 3; }
  // kRecords: none is free.
  constexpr unsigned free_slot() const {
    return static_cast<unsigned>(std::countr_one(word >> 48 & 7));
  }
  constexpr LineMeta without(unsigned slot) const {
    return {word & ~(std::uint64_t{0xffff} << (16 * slot) | std::uint64_t{9} << (48 + slot))};
  }
  constexpr LineMeta with(unsigned slot, std::uint16_t fingerprint, bool visits) const {
    return {without(slot).word | std::uint64_t{fingerprint} << (16 * slot) |
            (std::uint64_t{1} | std::uint64_t{visits} << 3) << (48 + slot)};
  }
};

// Where a key belongs. Bits 0..27 choose the segment, bit 31 the half of a bucket, 32..47 are the
// fingerprint, 48..53 the bit of the stash filter; the bucket goes by the upper half as a whole,
// hence by its highest bits.
struct KeyHash {
  std::uint64_t value;

  static constexpr KeyHash of(std::uint64_t key, std::uint64_t id) { return {mix64(key ^ id)}; }
  constexpr std::uint32_t pattern(std::uint32_t depth) const {
    return static_cast<std::uint32_t>(value & ((std::uint64_t{1} << depth) - 1));
  }
  constexpr std::uint32_t bucket(std::uint32_t buckets) const {
    return static_cast<std::uint32_t>((value >> 32) * buckets >> 32);
  }
  constexpr std::uint16_t fingerprint() const { return static_cast<std::uint16_t>(value >> 32); }
  // The first of the two lines of a bucket where the key is looked for first.
  constexpr unsigned first_line() const { return static_cast<unsigned>(value >> 30 & 2); }
  constexpr std::uint64_t stash_bit() const { return std::uint64_t{1} << (value >> 48 & 63); }
};

// A segment holds the keys whose hash ends in the `depth` bits of `pattern`.
struct SegmentKeys {
  std::uint32_t pattern = 0;
  std::uint32_t depth = 0;

  constexpr bool has(KeyHash hash) const { return hash.pattern(depth) == pattern; }
  constexpr SegmentKeys upper_half() const {
    return {pattern | std::uint32_t{1} << depth, depth + 1};
  }
  // Of an upper half: the lower one.
  constexpr SegmentKeys lower_twin() const {
    return {pattern & ~(std::uint32_t{1} << (depth - 1)), depth};
  }
  constexpr bool is_upper_half() const { return depth >= 1 && pattern >> (depth - 1) == 1; }
  constexpr std::uint64_t word() const { return std::uint64_t{depth} << 32 | pattern; }
  static constexpr SegmentKeys of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  constexpr bool operator==(const SegmentKeys&) const = default;
};

// The last split: of segment `from`, into `from` and segment `to`, the last one that is in use.
struct SplitWord {
  std::uint32_t from = 0;
  std::uint32_t to = 0;  // 0: there was no split yet.

  constexpr std::uint64_t word() const { return std::uint64_t{from} << 24 | to; }
  static constexpr SplitWord of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 24 & 0xffffff),
            static_cast<std::uint32_t>(word & 0xffffff)};
  }
};

// What sealed words are bound to: the index's id, and what they are.
constexpr std::uint64_t depth_context(std::uint64_t id) { return mix64(id ^ 1); }
constexpr std::uint64_t split_context(std::uint64_t id) { return mix64(id ^ 2); }
constexpr std::uint64_t segment_context(std::uint64_t id, std::uint32_t segment) {
  return mix64(id ^ (std::uint64_t{3} << 32 | segment));
}
constexpr std::uint64_t entry_context(std::uint64_t id, std::uint32_t place) {
  return mix64(id ^ (std::uint64_t{4} << 32 | place));
}

}  // namespace holdfast::index::dash_detail
