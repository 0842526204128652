// catalogue.hpp: what a loaded star consists of, and how that lies on the medium.
//
//   0      superblock: header only
//   4096   root word, sealed: where the catalogue begins, in lines; 0: nothing is loaded
//   8192   blocks and catalogues
//
// A catalogue is a header line and a body that its checksum covers: scale, layout, and of columns
// the dimensions and the directory of blocks, of rows (rows/row_format.hpp) where each table lies.
// It is written once; the root word says which one counts. Of a catalogue that counts one word
// changes, which leads to the rows that were appended (delta.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/superblock.hpp>
#include <holdfast/olap/block.hpp>
#include <holdfast/olap/dimension_table.hpp>
#include <holdfast/olap/rows/row_format.hpp>

namespace holdfast::olap {

inline constexpr SuperblockFormat kStarFormat{"star", magic_of("HLDSTAR1"), 1, 1, 0};
inline constexpr std::uint64_t kRootAt = kPageBytes;
inline constexpr std::uint64_t kDataAt = 2 * kPageBytes;

struct CatalogueHeader {   // On media, little-endian, one line.
  std::uint64_t magic;     // kCatalogueMagic
  std::uint64_t checksum;  // Of the body, seeded with the star's id.
  std::uint64_t body_bytes;
  std::uint64_t deltas;       // The one word that changes: delta.hpp.
  std::uint64_t reserved[4];  // Zero.
};
static_assert(sizeof(CatalogueHeader) == kCacheLineBytes &&
              offsetof(CatalogueHeader, deltas) == 24);
inline constexpr std::uint64_t kCatalogueMagic = magic_of("HLDSTARC");

enum class Layout : std::uint32_t { kByColumn = 0, kByRow = 1 };  // On media: never renumber.

struct Catalogue {
  std::string source;  // For people: "generated, scale 1, seed 1", or a directory.
  std::vector<DimensionTable> dimensions;  // These two: of columns,
  std::vector<BlockInfo> blocks;
  Extent place;  // Its own; each block has one, too.
  Layout layout = Layout::kByColumn;
  RowTables row_tables{};  // and this one of rows.
  // Entries of what was appended since, in order; their blocks are the last of `blocks`.
  std::vector<Extent> deltas{};
  std::size_t delta_blocks = 0;

  std::uint64_t rows() const;         // Of the fact table.
  std::uint64_t block_bytes() const;  // Of the fact table.
  // All that the version takes in the region, with the catalogue itself; in no order.
  std::vector<Extent> extents() const;
  const DimensionTable& dimension(Dimension dimension) const {
    return dimensions[static_cast<std::size_t>(dimension)];
  }
};

// Header and body, whatever its place, without what was appended. `id` is the superblock's.
std::vector<std::byte> to_bytes(const Catalogue& catalogue, std::uint64_t id);
// `region` is all of it; the catalogue begins at `offset`. Errors: kCorrupt, saying what.
Result<Catalogue> read_catalogue(std::span<const std::byte> region, std::uint64_t offset,
                                 std::uint64_t id);

// What the root word is bound to.
constexpr std::uint64_t root_context(std::uint64_t id) { return mix64(id ^ 0x53544152); }

}  // namespace holdfast::olap
