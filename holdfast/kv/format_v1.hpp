// format_v1.hpp: what format version 1 says otherwise. Nothing of it is on the path of a verb: runs
// of version 1 are read by recovery, verification and reclamation, and vanish as they are
// reclaimed.
//
//   superblock   at offset 0 (SuperblockV1); keys are hashed by XXH3, without a key
//   records      size_word has no flags and no keyspace; the checksum is XXH3 of the body plus a
//                mix of the header's fields, and says nothing of what was fenced before
//   summaries    36 bits of sequence, 2 of kind
#pragma once

#include <span>

#include <holdfast/kv/format.hpp>

namespace holdfast::kv::v1 {

inline constexpr std::uint32_t kFormatVersion = 1;

struct SuperblockV1 {
  std::uint64_t magic;
  std::uint64_t checksum;  // XXH3 over everything of this struct behind it.
  std::uint32_t format_version;
  std::uint32_t block_bytes;
  std::uint64_t segment_bytes;
  std::uint64_t store_id;
  std::uint64_t value_bytes;
  std::uint32_t key_bytes;
  std::uint32_t patchable_count;
  std::uint64_t reserved;
  std::array<std::uint32_t, kMaxPatchableWords> patchable_words;
};
static_assert(sizeof(SuperblockV1) == 320 && offsetof(SuperblockV1, patchable_words) == 64);
static_assert(std::has_unique_object_representations_v<SuperblockV1>);

// The checksums that a record ought to have. `value` is empty for tombstones and frames.
struct Sums {
  std::uint64_t fixed;  // With the patchable words taken as zero.
  std::uint64_t whole;  // With them as they are; equal to `fixed` where there are none.
};
Sums sums_of(const RecordHeader& header, std::span<const std::byte> key_and_padding,
             std::span<const std::byte> value, std::uint64_t seed,
             std::span<const std::uint32_t> patchable);

inline std::uint64_t sequence_delta(const SummaryEntry& entry) { return entry.packed >> 28; }
inline RecordKind kind(const SummaryEntry& entry) {
  return static_cast<RecordKind>(entry.packed >> 26 & 3);
}
inline SummaryEntry summary_entry(std::uint64_t hash, std::uint64_t delta, RecordKind kind,
                                  std::uint64_t offset_bytes) {
  return {hash, delta << 28 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 26 |
                    offset_bytes / kCacheLineBytes};
}

}  // namespace holdfast::kv::v1
