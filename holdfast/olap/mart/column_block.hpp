// column_block.hpp: rows of one table of a star as columns: how they are encoded, and read.
//
// A column of a block is a code per row, in 0, 8, 16, 32 or 64 bits, whichever is the least:
//
//   no NULL among them   value - min
//   NULL among them      0: NULL; else value - min + 1. (Indexes have none: their 0 is a value.)
//   width 0              all are `min`, or, where there are only NULLs, NULL; no bytes
//
// A column's bytes begin at a multiple of 64 and are followed by at least kSlackBytes of zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/schema.hpp>

namespace holdfast::olap::mart {

inline constexpr std::uint32_t kBlockRows = 64 * 1024;

// The words of one column. Where `null` is not empty it has a 1 for each row that is NULL.
struct Words {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> null;

  std::size_t size() const { return values.size(); }
  bool is_null(std::size_t row) const { return !null.empty() && null[row] != 0; }
  void add(std::int64_t value) {
    values.push_back(value);
    if (!null.empty()) null.push_back(0);
  }
  void add_null() {
    null.resize(values.size());
    values.push_back(0);
    null.push_back(1);
  }
  void clear() { values.clear(), null.clear(); }
};

struct ColumnInfo {
  std::int64_t min = 0;  // Above `max`: there are only NULLs.
  std::int64_t max = 0;
  std::uint32_t width = 0;     // Bits per row.
  std::uint32_t has_null = 0;  // 0 or 1.
  std::uint64_t offset = 0;    // From the start of the block.
  std::uint64_t checksum = 0;

  bool operator==(const ColumnInfo&) const = default;
  bool only_null() const { return min > max; }
  std::uint64_t bytes(std::uint32_t rows) const { return std::uint64_t{rows} * width / 8; }
};

struct BlockInfo {
  std::uint64_t offset = 0;  // In the region.
  std::uint64_t bytes = 0;
  std::uint32_t rows = 0;
  std::vector<ColumnInfo> columns;

  bool operator==(const BlockInfo&) const = default;
  // Checks that widths, places and bounds fit each other and the table. Errors: kCorrupt.
  Status check(const Table& table) const;
};

struct EncodedBlock {
  BlockInfo info;  // Without its offset.
  std::vector<std::byte> bytes;
};

// Rows [first, first + count) of the columns of a table; count is 1 to kBlockRows.
EncodedBlock encode_block(const Table& table, std::span<const Words> columns, std::size_t first,
                          std::size_t count);

// Appends rows [first, first + count) of a column whose block lies at `block`.
void decode(const std::byte* block, const ColumnInfo& info, std::uint32_t first,
            std::uint32_t count, Words& to);

}  // namespace holdfast::olap::mart
