#include <holdfast/kv/create.hpp>

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <holdfast/kv/block_table.hpp>

namespace holdfast::kv {
namespace {

std::uint64_t checksum_of(const Superblock& superblock) {
  constexpr std::size_t kFrom = offsetof(Superblock, format_version);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&superblock);
  return hash64({bytes + kFrom, sizeof superblock - kFrom});
}

Result<std::uint64_t> random_id() {
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof id, 0) != sizeof id)
    return Error{Errc::kIo, "getrandom: " + std::string(std::strerror(errno))};
  return id | 1;
}

std::string shape_text(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes == 0 && value_bytes == 0) return "keys and values of any length";
  return "keys of " + std::to_string(key_bytes) + " and values of " + std::to_string(value_bytes) +
         " bytes";
}

}  // namespace

namespace {

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
                     " and 8 blocks of " + std::to_string(options.block_bytes)};
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
  superblock.format_version = kFormatVersion;
  superblock.block_bytes = options.block_bytes;
  superblock.segment_bytes = options.segment_bytes;
  HF_ASSIGN_OR_RETURN(superblock.store_id, random_id());
  superblock.key_bytes = shape.key_bytes;
  superblock.value_bytes = shape.value_bytes;
  superblock.patchable_count = static_cast<std::uint32_t>(options.patchable_words.size());
  std::copy(options.patchable_words.begin(), options.patchable_words.end(),
            superblock.patchable_words.begin());
  superblock.checksum = checksum_of(superblock);
  // A devdax or an interrupted creation may hold anything in the words that change.
  const std::byte zeros[kSuperblockPageBytes] = {};
  HF_RETURN_IF_ERROR(
      medium.put(sizeof superblock, zeros, kSuperblockPageBytes - sizeof superblock));
  // Ordered by format_segments(), before the magic number: without that nobody looks at the rest.
  HF_RETURN_IF_ERROR(medium.put(0, &superblock, sizeof superblock));
  Geometry geometry;
  geometry.block_bytes = options.block_bytes;
  geometry.segment_bytes = options.segment_bytes;
  BlockTable table(medium, geometry, superblock.store_id, region.size_bytes());
  const std::uint64_t wanted =
      (std::max(options.initial_bytes, options.segment_bytes) + options.segment_bytes - 1) /
      options.segment_bytes;
  HF_RETURN_IF_ERROR(
      table.format_segments(0, std::min(wanted, region.size_bytes() / options.segment_bytes)));
  HF_RETURN_IF_ERROR(medium.put_word(offsetof(Superblock, magic), kMagic));
  return medium.order();
}

Result<Superblock> read_superblock(const Region& region, const StoreOptions& options,
                                   RecordShape shape) {
  if (region.size_bytes() < kSuperblockPageBytes) {
    return Error{Errc::kNotHoldfast,
                 "the region has only " + std::to_string(region.size_bytes()) + " bytes"};
  }
  Superblock superblock;
  std::memcpy(&superblock, region.data(), sizeof superblock);
  if (superblock.magic != kMagic) {
    return Error{
        Errc::kNotHoldfast,
        superblock.magic == 0
            ? "there is no store in this region"
            : "the region holds something that is not a Holdfast store (magic number differs)"};
  }
  if (superblock.format_version > kFormatVersion) {
    return Error{Errc::kNewerFormat, "the store has format version " +
                                         std::to_string(superblock.format_version) +
                                         "; this build reads up to " +
                                         std::to_string(kFormatVersion) + ": use a newer build"};
  }
  const bool sane = superblock.checksum == checksum_of(superblock) &&
                    std::has_single_bit(superblock.block_bytes) &&
                    superblock.block_bytes >= 8 * KiB && superblock.block_bytes <= 16 * MiB &&
                    superblock.segment_bytes != 0 &&
                    superblock.segment_bytes % superblock.block_bytes == 0 &&
                    superblock.patchable_count <= kMaxPatchableWords;
  if (!sane)
    return Error{Errc::kCorrupt,
                 "superblock: its checksum does not hold; restore the first page from a copy"};
  const bool fits =
      superblock.key_bytes == shape.key_bytes && superblock.value_bytes == shape.value_bytes;
  if (!fits && !options.any_shape) {
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
