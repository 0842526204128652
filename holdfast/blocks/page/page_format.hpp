// page_format.hpp: every byte of a page store on its medium.
//
//   superblock | slot headers | words of freed pages | micro logs | slots
//
// A slot holds one version of one page; there are more slots than pages, so that a new version can
// be written beside the old one. All integers little-endian.
//
// Format versions 2 and 3 are frozen: golden stores in tests/blocks/golden must open. They differ
// in the superblock only. 1 had another checksum64 and is not read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::blocks {

// A page's number, 0 … pages - 1.
struct PageId {
  std::uint32_t value = 0;
  auto operator<=>(const PageId&) const = default;
};

namespace page_detail {

inline constexpr SuperblockFormat kPageStoreFormat{.name = "page store",
                                                   .magic = magic_of("HLDPAGE2"),
                                                   .version = 3,
                                                   .oldest_version = 3,
                                                   .known_incompatible = 0};
inline constexpr std::uint64_t kSuperblockBytes = 4096;
// Slots are counted in 32 bits, and the number behind the last of these says "none".
inline constexpr std::uint64_t kMostSlots = ~std::uint32_t{0};

// ---- Superblock of version 3: SuperblockHeader, then this ----

struct PageStoreShape {
  std::uint32_t page_bytes;
  std::uint32_t micro_logs;
  std::uint64_t pages;
  std::uint64_t slots;
};
static_assert(sizeof(PageStoreShape) == 24 && offsetof(PageStoreShape, slots) == 16);
static_assert(std::has_unique_object_representations_v<PageStoreShape>);
// How often the store was opened for writing, sealed (place 0); in the superblock page, on a line
// of its own.
inline constexpr std::uint64_t kEpochAt = 128;

// ---- Superblock of version 2: one line ----

inline constexpr std::uint64_t kVersion2Magic = magic_of("HLDPAGE1");
inline constexpr std::uint32_t kVersion2 = 2;

struct Version2Superblock {  // `magic` was stored last, so it is there or all of it is.
  std::uint64_t checksum;    // hash64 of everything behind it but the magic.
  std::uint32_t format_version;
  std::uint32_t page_bytes;
  std::uint64_t store_id;
  std::uint64_t pages;
  std::uint64_t slots;
  std::uint32_t micro_logs;
  std::uint32_t reserved_word;
  std::uint64_t reserved;  // Zero, as is reserved_word.
  std::uint64_t magic;
};
static_assert(sizeof(Version2Superblock) == kCacheLineBytes);
static_assert(offsetof(Version2Superblock, magic) == 56);
static_assert(std::has_unique_object_representations_v<Version2Superblock>);
inline constexpr std::uint64_t kVersion2EpochAt = 64;

// ---- Sealed words (memory/sealed_word.hpp): bound to their store, their kind and their place ----

inline constexpr std::uint64_t kMaxSealed = MixedWord::kMaxValue;

enum class WordKind : std::uint64_t { kPage = 0, kVersion = 1, kFreed = 2, kEpoch = 3 };

inline std::uint64_t word_context(std::uint64_t store_id, WordKind kind, std::uint64_t place) {
  return mix64(store_id ^ (place * 4 + static_cast<std::uint64_t>(kind)));
}
inline std::uint64_t seal_word(std::uint64_t value, std::uint64_t store_id, WordKind kind,
                               std::uint64_t place) {
  return holdfast::seal_word<MixedWord>(value, word_context(store_id, kind, place));
}
// Nothing if the check does not hold. 0 for a word that was never written.
inline std::optional<std::uint64_t> open_word(std::uint64_t word, std::uint64_t store_id,
                                              WordKind kind, std::uint64_t place) {
  return open_or_unwritten<MixedWord>(word, word_context(store_id, kind, place));
}

// ---- Slot header: a line of its own ----
//
// A new version is committed by two stores to this line, page first: what a crash can leave is the
// old header, (new page, old version), or the new one. Versions are unique in the store and grow,
// and the contents were durable before; so the middle state is either older than the page's
// present version, or names the new contents by a number that no other slot has.
struct SlotHeader {
  std::uint64_t page;                     // PageId + 1, sealed with the slot's number.
  std::uint64_t version;                  // Sealed likewise.
  std::array<std::uint64_t, 6> reserved;  // Zero.
};
static_assert(sizeof(SlotHeader) == kCacheLineBytes && offsetof(SlotHeader, version) == 8);
static_assert(std::has_unique_object_representations_v<SlotHeader>);

// ---- Micro log: the changed lines of one page, on their way to its slot ----
//
//   RecordHeader | line numbers, 2 bytes each | zeros up to a line | the lines
//
// It is valid iff its checksum holds, and is replayed iff its slot still holds that page and the
// slot's version is not newer, the newest of the page only. While the store is open it is never
// invalidated: the next record overwrites it. Opening raises the epoch, after which no record of
// before is valid: one that a crash tore could otherwise be completed by words of a later one, and
// revive.
struct RecordHeader {
  std::uint64_t checksum;  // Over all that follows; seeded with store, epoch and the log's number.
  std::uint64_t version;   // What the slot's header gets together with the lines.
  std::uint32_t slot;
  std::uint32_t page;
  std::uint32_t lines;
  std::uint32_t reserved;  // Zero.
};
static_assert(sizeof(RecordHeader) == 32 && std::has_unique_object_representations_v<RecordHeader>);

inline constexpr std::uint64_t record_data_at(std::uint64_t lines) {
  return round_up(sizeof(RecordHeader) + lines * sizeof(std::uint16_t), kCacheLineBytes);
}
inline constexpr std::uint64_t record_bytes(std::uint64_t lines) {
  return record_data_at(lines) + lines * kCacheLineBytes;
}
inline std::uint64_t record_seed(std::uint64_t store_id, std::uint64_t epoch, std::uint64_t log) {
  return mix64(store_id ^ mix64(epoch << 12 | log));  // At most 4,096 logs.
}

// ---- Where things lie, from the start of the extent ----

struct Geometry {
  std::uint32_t page_bytes = 0;
  std::uint32_t micro_logs = 0;
  std::uint64_t pages = 0;
  std::uint64_t slots = 0;

  std::uint32_t lines_per_page() const {
    return page_bytes / static_cast<std::uint32_t>(kCacheLineBytes);
  }
  std::uint64_t header_at(std::uint64_t slot) const {
    return kSuperblockBytes + slot * sizeof(SlotHeader);
  }
  std::uint64_t freed_at(std::uint64_t page) const {
    return kSuperblockBytes + round_up(slots * sizeof(SlotHeader), kPageBytes) + page * 8;
  }
  std::uint64_t log_at(std::uint64_t log) const {
    return round_up(freed_at(pages), kPageBytes) + log * record_bytes(lines_per_page());
  }
  std::uint64_t slot_at(std::uint64_t slot) const {
    return round_up(log_at(micro_logs), kPageBytes) + slot * page_bytes;
  }
  std::uint64_t bytes() const { return round_up(slot_at(slots), kPageBytes); }
};

}  // namespace page_detail
}  // namespace holdfast::blocks
