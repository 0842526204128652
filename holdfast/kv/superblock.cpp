#include <holdfast/kv/superblock.hpp>

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/format_v1.hpp>

namespace holdfast::kv {
namespace {

constexpr std::uint64_t kKnownIncompatible =
    kRunsOfVersion1 | kHasSpaces | kSharesRuns | kHasExpiry | kHasPieces | kHasMark;

// XXH3 of everything behind the checksum field, which ends at `from`.
template <class Block>
std::uint64_t checksum_of(const Block& block, std::size_t from) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&block);
  return hash64({bytes + from, sizeof block - from});
}
std::uint64_t checksum_of(const v1::SuperblockV1& block) {
  return checksum_of(block, offsetof(v1::SuperblockV1, format_version));
}
std::uint64_t checksum_of(const Superblock& block) {
  return checksum_of(block, offsetof(Superblock, format_version));
}

Status draw_random(void* to, std::size_t bytes) {
  if (getrandom(to, bytes, 0) != static_cast<ssize_t>(bytes))
    return Error{Errc::kIo, "getrandom: " + std::string(std::strerror(errno))};
  return {};
}

std::string shape_text(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes == 0 && value_bytes == 0) return "keys and values of any length";
  return "keys of " + std::to_string(key_bytes) + " and values of " + std::to_string(value_bytes) +
         " bytes";
}

// Format version and block size, in one word.
std::uint64_t version_word(const Superblock& superblock) {
  return superblock.format_version | std::uint64_t{superblock.block_bytes} << 32;
}

// Whether `region` holds no store, and nothing that ever was a record of one.
bool holds_nothing(const Region& region, std::uint32_t block_bytes) {
  Geometry geometry;
  geometry.block_bytes = block_bytes;
  const std::uint64_t blocks = region.size_bytes() / block_bytes;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    if (geometry.is_table_block(block)) continue;
    const std::uint64_t word = Persist::load(
        reinterpret_cast<const std::uint64_t*>(region.data() + geometry.table_word_at(block)));
    // A creation leaves free words of generation 0; whatever else was once in use.
    const auto state = static_cast<BlockState>(word >> 40 & 0xff);
    if ((word & kMaxGeneration) != 0 ||
        (state != BlockState::kUnformatted && state != BlockState::kFree))
      return false;
  }
  return true;
}

}  // namespace

Status create_store(Medium& medium, const StoreOptions& options, RecordShape shape) {
  const Region& region = medium.region();
  if (region.size_bytes() < options.block_bytes * 8ull ||
      region.size_bytes() < options.segment_bytes) {
    return Error{Errc::kInvalidOption,
                 "the region has " + std::to_string(region.size_bytes()) +
                     " bytes; a store needs a segment of " + std::to_string(options.segment_bytes) +
                     " and 8 blocks of " + std::to_string(options.block_bytes) +
                     ". It holds no store: remove it, or open it with the segment_bytes and "
                     "block_bytes that were meant for it"};
  }
  if (!holds_nothing(region, options.block_bytes)) {
    return Error{Errc::kCorrupt,
                 "the region has no superblock, but block words of a store that was in use: its "
                 "first page was "
                 "overwritten; restore it, or erase the region if its data is not needed"};
  }
  if (shape.value_bytes != 0 && !options.patchable_words.empty() &&
      options.patchable_words.back() + sizeof(std::uint64_t) > shape.value_bytes) {
    return Error{Errc::kInvalidOption,
                 "patchable_words=" + std::to_string(options.patchable_words.back()) +
                     "; words within the values of " + std::to_string(shape.value_bytes) +
                     " bytes are allowed"};
  }
  Superblock superblock{};
  superblock.format_version = superblock.oldest_reader = kFormatVersion;
  superblock.block_bytes = options.block_bytes;
  superblock.segment_bytes = options.segment_bytes;
  HF_RETURN_IF_ERROR(draw_random(&superblock.store_id, sizeof superblock.store_id));
  superblock.store_id |= 1;
  superblock.hash_kind = HashKind::kKeyed;
  HF_RETURN_IF_ERROR(draw_random(superblock.hash_key.data(), sizeof superblock.hash_key));
  superblock.key_bytes = shape.key_bytes;
  superblock.value_bytes = shape.value_bytes;
  superblock.patchable_count = static_cast<std::uint32_t>(options.patchable_words.size());
  std::copy(options.patchable_words.begin(), options.patchable_words.end(),
            superblock.patchable_words.begin());
  superblock.checksum = checksum_of(superblock);
  // Ordered by format_segments(), before the magic number: without that nobody looks at the rest.
  HF_RETURN_IF_ERROR(put_superblock(medium, superblock));
  BlockTable table(medium, geometry_of(superblock), region.size_bytes());
  const std::uint64_t wanted =
      (std::max(options.initial_bytes, options.segment_bytes) + options.segment_bytes - 1) /
      options.segment_bytes;
  HF_RETURN_IF_ERROR(
      table.format_segments(0, std::min(wanted, region.size_bytes() / options.segment_bytes)));
  HF_RETURN_IF_ERROR(medium.put_word(0, kMagic));
  return medium.order();  // Here the store begins.
}

Status put_superblock(Medium& medium, const Superblock& superblock) {
  // A devdax or an interrupted creation may hold anything in the words that change.
  const std::byte zeros[kSuperblockPageBytes] = {};
  HF_RETURN_IF_ERROR(
      medium.put(sizeof(std::uint64_t), zeros, sizeof zeros - sizeof(std::uint64_t)));
  HF_RETURN_IF_ERROR(medium.put(kSuperblockAt, &superblock, sizeof superblock));
  return medium.put_word(kVersionWordAt, version_word(superblock));
}

Status give_origin(Superblock& superblock, std::uint64_t first_generation) {
  superblock.parent_origin = superblock.origin != 0 ? superblock.origin : superblock.store_id;
  superblock.parent_generation = superblock.origin_generation;
  HF_RETURN_IF_ERROR(draw_random(&superblock.origin, sizeof superblock.origin));
  superblock.origin |= 1;
  superblock.origin_generation = first_generation;
  superblock.checksum = checksum_of(superblock);
  return {};
}

Status upgrade(Medium& medium, Superblock& superblock, std::uint64_t first_generation) {
  superblock.format_version = superblock.oldest_reader = kFormatVersion;
  superblock.incompatible_features |= kRunsOfVersion1;
  superblock.first_generation = first_generation;
  superblock.checksum = checksum_of(superblock);
  HF_RETURN_IF_ERROR(medium.put(kSuperblockAt, &superblock, sizeof superblock));
  HF_RETURN_IF_ERROR(medium.order());  // Before the word that sends readers to it.
  HF_RETURN_IF_ERROR(medium.put_word(kVersionWordAt, version_word(superblock)));
  return medium.order();  // Before a run of version 2 is opened.
}

Status raise_flag(Medium& medium, Superblock& superblock, std::uint64_t flags) {
  if ((superblock.incompatible_features & flags) == flags) return {};
  Superblock flagged = superblock;
  flagged.incompatible_features |= flags;
  flagged.checksum = checksum_of(flagged);
  HF_RETURN_IF_ERROR(
      HF_MUTANT("K50", medium.put(kSuperblockCopyAt, &flagged, sizeof flagged), ok_status()));
  HF_RETURN_IF_ERROR(medium.order());  // Before the one that it stands in for is touched.
  HF_RETURN_IF_ERROR(medium.put(kSuperblockAt, &flagged, sizeof flagged));
  HF_RETURN_IF_ERROR(medium.order());  // Before what it stands for is written.
  superblock.incompatible_features = flagged.incompatible_features;
  superblock.checksum = flagged.checksum;
  return {};
}

Status mend_superblock(Medium& medium, const Superblock& superblock) {
  HF_RETURN_IF_ERROR(medium.put(kSuperblockAt, &superblock, sizeof superblock));
  return medium.order();  // Before the copy is written again.
}

KeyHash key_hash_of(const Superblock& superblock) {
  if (superblock.hash_kind == HashKind::kXxh3) return {};
  return KeyHash(HashKey(std::as_bytes(std::span(superblock.hash_key)).first<HashKey::kBytes>()));
}

Geometry geometry_of(const Superblock& superblock) {
  Geometry geometry;
  geometry.block_bytes = superblock.block_bytes;
  geometry.segment_bytes = superblock.segment_bytes;
  geometry.store_id = superblock.store_id;
  geometry.secret = mix64(superblock.hash_key[0]) ^ superblock.hash_key[1];
  geometry.first_generation = superblock.format_version == v1::kFormatVersion
                                  ? kMaxGeneration + 1
                                  : superblock.first_generation;
  if (superblock.patchable_count != 0) geometry.record_header_bytes += sizeof(std::uint64_t);
  return geometry;
}

namespace {

Error contradictory() {
  return {Errc::kCorrupt,
          "superblock: its fields contradict each other; restore the first page from a copy"};
}

bool words_are_sane(const Superblock& superblock) {
  if (superblock.patchable_count > kMaxPatchableWords) return false;
  for (std::size_t i = 0; i < superblock.patchable_count; ++i) {
    const auto& words = superblock.patchable_words;
    if (words[i] % 8 != 0 || (i > 0 && words[i] <= words[i - 1])) return false;
  }
  return true;
}

bool is_sane(const Superblock& superblock) {
  return std::has_single_bit(superblock.block_bytes) && superblock.block_bytes >= 8 * KiB &&
         superblock.block_bytes <= 16 * MiB && superblock.segment_bytes != 0 &&
         superblock.segment_bytes % superblock.block_bytes == 0 && words_are_sane(superblock) &&
         (superblock.hash_kind == HashKind::kXxh3 || superblock.hash_kind == HashKind::kKeyed);
}

}  // namespace

Status check_superblock(const Superblock& superblock) {
  if (superblock.checksum != checksum_of(superblock))
    return Error{Errc::kCorrupt,
                 "superblock: its checksum does not hold; restore the first page from a copy"};
  if (superblock.oldest_reader > kFormatVersion)
    return Error{Errc::kNewerFormat, "the store needs a reader of format version " +
                                         std::to_string(superblock.oldest_reader) +
                                         "; this build reads up to " +
                                         std::to_string(kFormatVersion) + ": use a newer build"};
  if (const std::uint64_t unknown = superblock.incompatible_features & ~kKnownIncompatible;
      unknown != 0) {
    return Error{Errc::kNewerFormat, "the store uses feature " +
                                         std::to_string(std::countr_zero(unknown)) +
                                         ", which this build does not know: use a newer build"};
  }
  if (!is_sane(superblock)) return contradictory();
  return {};
}

namespace {

Result<Superblock> read_version1(const Region& region) {
  v1::SuperblockV1 old;
  std::memcpy(&old, region.data(), sizeof old);
  if (old.checksum != checksum_of(old) || old.patchable_count > kMaxPatchableWords)
    return Error{Errc::kCorrupt,
                 "superblock: its checksum does not hold; restore the first page from a copy"};
  Superblock superblock{};
  superblock.format_version = v1::kFormatVersion;
  superblock.block_bytes = old.block_bytes;
  superblock.segment_bytes = old.segment_bytes;
  superblock.store_id = old.store_id;
  superblock.key_bytes = old.key_bytes;
  superblock.value_bytes = old.value_bytes;
  superblock.hash_kind = HashKind::kXxh3;
  superblock.patchable_count = old.patchable_count;
  superblock.patchable_words = old.patchable_words;
  return superblock;
}

Result<Superblock> read_version2(const Region& region) {
  Superblock superblock;
  std::memcpy(&superblock, region.data() + kSuperblockAt, sizeof superblock);
  // Torn by a crash while a flag was raised: then its copy holds.
  if (superblock.checksum != checksum_of(superblock))
    std::memcpy(&superblock, region.data() + kSuperblockCopyAt, sizeof superblock);
  HF_RETURN_IF_ERROR(check_superblock(superblock));
  return superblock;
}

}  // namespace

Result<Superblock> read_superblock(const Region& region, const StoreOptions& options,
                                   RecordShape shape) {
  if (region.size_bytes() < kSuperblockPageBytes) {
    return Error{Errc::kNotHoldfast,
                 "the region has only " + std::to_string(region.size_bytes()) + " bytes"};
  }
  const auto word = [&](std::uint64_t at) {
    return Persist::load(reinterpret_cast<const std::uint64_t*>(region.data() + at));
  };
  const std::uint64_t magic = word(0);
  if (magic == kRestoringMagic) {
    return Error{Errc::kCorrupt,
                 "a restore into this region did not end, so it holds no store; restore into it "
                 "once more"};
  }
  if (magic != kMagic) {
    return Error{
        Errc::kNotHoldfast,
        magic == 0
            ? "there is no store in this region"
            : "the region holds something that is not a Holdfast store (magic number differs)"};
  }
  const auto version = static_cast<std::uint32_t>(word(kVersionWordAt));
  // A version between that this build cannot know, or none: the word is damaged.
  if (version == 0)
    return Error{Errc::kCorrupt,
                 "superblock: format version 0; restore the first page from a copy"};
  if (version > kFormatVersion) {
    return Error{Errc::kNewerFormat, "the store has format version " + std::to_string(version) +
                                         "; this build reads up to " +
                                         std::to_string(kFormatVersion) + ": use a newer build"};
  }
  HF_ASSIGN_OR_RETURN(const Superblock superblock, version == v1::kFormatVersion
                                                       ? read_version1(region)
                                                       : read_version2(region));
  if (!is_sane(superblock) ||
      (version != v1::kFormatVersion && word(kVersionWordAt) != version_word(superblock)))
    return contradictory();
  if (!options.any_shape &&
      (superblock.key_bytes != shape.key_bytes || superblock.value_bytes != shape.value_bytes)) {
    return Error{Errc::kWrongType, "the store was created for " +
                                       shape_text(superblock.key_bytes, superblock.value_bytes) +
                                       " and is opened for " +
                                       shape_text(shape.key_bytes, shape.value_bytes)};
  }
  if (!options.patchable_words.empty() &&
      !std::equal(options.patchable_words.begin(), options.patchable_words.end(),
                  superblock.patchable_words.begin(),
                  superblock.patchable_words.begin() + superblock.patchable_count)) {
    return Error{Errc::kWrongType,
                 "patchable_words: the store was created with others; leave the option empty to "
                 "use the store's"};
  }
  return superblock;
}

}  // namespace holdfast::kv
