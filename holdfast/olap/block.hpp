// block.hpp: rows of the fact table as columns: how a block is encoded, and how it is read.
//
// Each column of a block stands for itself: its smallest and largest value, its width, its bytes.
//
//   width 0            all values are `min`; no bytes
//   a byte column      a byte per row (width 8)
//   any other column   value - min, in `width` bits each, one behind the other, lowest bit first
//
// A column's bytes begin at a multiple of 64 and are followed by at least kSlackBytes of zeros, so
// that readers may load whole words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/olap/star.hpp>

namespace holdfast::olap {

inline constexpr std::uint32_t kMaxBlockRows = 128 * 1024;
inline constexpr std::uint32_t kUsualBlockRows = 64 * 1024;
inline constexpr std::size_t kSlackBytes = 64;

// Rows that are to become blocks, column by column.
struct FactRows {
  std::array<std::vector<std::uint32_t>, kColumns> columns;

  std::size_t size() const { return columns[kQuantity].size(); }
  void clear() {
    for (auto& column : columns)
      column.clear();
  }
  void drop_first(std::size_t rows) {
    for (auto& column : columns)
      column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(rows));
  }
  void reserve(std::size_t rows) {
    for (auto& column : columns)
      column.reserve(rows);
  }
};

struct ColumnInfo {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  std::uint32_t width = 0;   // Bits per row.
  std::uint32_t offset = 0;  // From the start of the block.
  std::uint64_t checksum = 0;

  bool operator==(const ColumnInfo&) const = default;
  bool constant() const { return width == 0; }
};

// Bytes of a column without its slack.
constexpr std::uint64_t column_bytes(std::uint32_t rows, std::uint32_t width) {
  return (std::uint64_t{rows} * width + 7) / 8;
}
// With it, up to where the next column begins.
constexpr std::uint64_t column_room(std::uint32_t rows, std::uint32_t width) {
  return width == 0 ? 0 : round_up(column_bytes(rows, width) + kSlackBytes, kCacheLineBytes);
}

struct BlockInfo {
  std::uint64_t offset = 0;  // In the region.
  std::uint64_t bytes = 0;
  std::uint32_t rows = 0;
  std::array<ColumnInfo, kColumns> columns;

  bool operator==(const BlockInfo&) const = default;
  // Checks that widths, places and bounds fit each other. Errors: kCorrupt.
  Status check() const;
};

struct EncodedBlock {
  BlockInfo info;  // Without its offset.
  std::vector<std::byte> bytes;
};

// Rows [first, first + count) of `rows`; count is 1 to kMaxBlockRows. Values of byte columns are at
// most 255.
EncodedBlock encode_block(const FactRows& rows, std::size_t first, std::size_t count);

// The values of a packed column, without a branch.
class PackedView {
 public:
  PackedView() = default;
  PackedView(const std::byte* bytes, const ColumnInfo& info)
      : bytes_(info.constant() ? kNothing : bytes),
        width_(info.width),
        min_(info.min),
        mask_((std::uint64_t{1} << info.width) - 1) {}

  std::uint32_t operator[](std::uint32_t row) const {
    const std::uint64_t bit = std::uint64_t{row} * width_;
    std::uint64_t word;
    std::memcpy(&word, bytes_ + (bit >> 3), sizeof word);
    return min_ + static_cast<std::uint32_t>(word >> (bit & 7) & mask_);
  }
  std::uint32_t width() const { return width_; }

 private:
  static constexpr std::byte kNothing[8]{};
  const std::byte* bytes_ = kNothing;
  std::uint32_t width_ = 0;
  std::uint32_t min_ = 0;
  std::uint64_t mask_ = 0;
};

// Any column of a block that lies at `block`, for callers that are not in a hurry.
std::uint32_t value_at(const std::byte* block, const BlockInfo& info, Column column,
                       std::uint32_t row);

}  // namespace holdfast::olap
