// catalogue.hpp: what a star of a user's own consists of, and how that lies on the medium.
//
//   0      superblock: header only
//   4096   root word, sealed: where the catalogue begins, in lines; 0: nothing is loaded
//   8192   blocks, dictionaries and catalogues
//
// A catalogue is a header line and a body that its checksum covers: the schema, the directory of
// the blocks of each table, and of the pieces of each dictionary. It is written once. Whatever
// changes a star writes what is new and a catalogue, and then the root word leads to that.
//
// A piece of a dictionary is the lengths of its texts, 32 bits each, and the texts, one behind the
// other. The texts of a column are numbered through its pieces, from 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/superblock.hpp>
#include <holdfast/olap/mart/column_block.hpp>

namespace holdfast::olap::mart {

inline constexpr SuperblockFormat kMartFormat{"star", magic_of("HLDMART1"), 1, 1, 0};
inline constexpr std::uint64_t kMartRootAt = kPageBytes;
inline constexpr std::uint64_t kMartDataAt = 2 * kPageBytes;

struct MartHeader {        // On media, little-endian, one line.
  std::uint64_t magic;     // kMartMagic
  std::uint64_t checksum;  // Of the body, seeded with the star's id.
  std::uint64_t body_bytes;
  std::uint64_t reserved[5];  // Zero.
};
static_assert(sizeof(MartHeader) == kCacheLineBytes);
inline constexpr std::uint64_t kMartMagic = magic_of("HLDMARTC");

struct DictionaryPiece {
  Extent place;
  std::uint32_t texts = 0;
  std::uint64_t checksum = 0;

  bool operator==(const DictionaryPiece&) const = default;
};

struct TableData {
  std::vector<BlockInfo> blocks;
  std::vector<std::vector<DictionaryPiece>> dictionaries;  // By column; of texts only.

  bool operator==(const TableData&) const = default;
  std::uint64_t rows() const;
  std::uint64_t texts(std::uint32_t column) const;
};

struct Catalogue {
  std::string source;  // For people.
  Schema schema;
  std::vector<TableData> tables;  // As in the schema.
  Extent place;                   // Its own.

  std::uint64_t fact_rows() const { return tables.empty() ? 0 : tables[0].rows(); }
  std::uint64_t fact_bytes() const;
  // All that the version takes in the region, the catalogue too; in no order.
  std::vector<Extent> extents() const;
};

// Header and body. `id` is the superblock's.
std::vector<std::byte> to_bytes(const Catalogue& catalogue, std::uint64_t id);
// `region` is all of it; the catalogue begins at `offset`. Errors: kCorrupt, saying what.
Result<Catalogue> read_mart_catalogue(std::span<const std::byte> region, std::uint64_t offset,
                                      std::uint64_t id);

// What the root word is bound to.
constexpr std::uint64_t mart_root_context(std::uint64_t id) { return mix64(id ^ 0x4d415254); }

}  // namespace holdfast::olap::mart
