// dimension_indexes.hpp: a Dash index for each dimension of a star of rows: from a key to its row.
//
// As in the published benchmark, an index holds the whole dimension: a join asks it first and looks
// at the conditions on the row afterwards. The indexes are built anew for each opening of a star,
// in a region of their own, which may be DRAM or any other medium that Dash takes (dash.hpp).
//
// Threads  find() from any.
// Errors   of Dash; kCorrupt (a damaged dimension).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <holdfast/base/result.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>

namespace holdfast::olap {

class DimensionIndexes {
 public:
  // So large must the region be.
  static std::uint64_t bytes_needed(const StoredRows& rows);
  // `region` holds no index yet, and must outlive the result. Also kNoSpace.
  static Result<DimensionIndexes> build(const StoredRows& rows, Region& region);

  // positions[i]: which row of the dimension has keys[i]; nothing where none has.
  Status find(Dimension dimension, std::span<const std::uint64_t> keys,
              std::span<std::optional<std::uint64_t>> positions) const {
    return indexes_[static_cast<std::size_t>(dimension)]->find_many(keys, positions);
  }

 private:
  std::array<std::unique_ptr<index::Dash>, kDimensions> indexes_;
};

}  // namespace holdfast::olap
