// star_version.hpp: what a query sees of a star: one catalogue, with the rows that were appended
// until it was taken. It does not change.
//
// Damage   Each column of each block has a checksum. use() checks it before the column is read for
//          the first time since the star was opened; verify() checks all of them, and the values.
// Threads  Any. What a version that somebody holds reads is not overwritten.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/catalogue.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>

namespace holdfast::olap {

class StarVersion {
 public:
  // Blocks that `before` has, too, at the same number, stay checked.
  StarVersion(const Region& region, Catalogue catalogue, const StarVersion* before);

  const Catalogue& catalogue() const { return catalogue_; }
  const Region& region() const { return *region_; }
  const std::byte* block(std::size_t number) const {
    return region_->data() + catalogue_.blocks[number].offset;
  }
  // The tables of a star of rows; null where it is one of columns.
  const StoredRows* rows() const { return rows_.get(); }

  // Before a column of a block is read. An atomic load where it was checked before.
  // Errors: kCorrupt, naming block and column.
  Status use(std::size_t block, Column column) const {
    const auto bit = std::uint32_t{1} << column;
    if ((checked_[block]->load(std::memory_order_acquire) & bit) != 0) [[likely]]
      return {};
    return check(block, column);
  }

  // Reads everything. What it finds, one text each; empty: all is well.
  std::vector<std::string> verify() const;

 private:
  Status check(std::size_t block, Column column) const;

  const Region* region_;
  Catalogue catalogue_;
  // A bit per column of each block; versions share them.
  std::vector<std::shared_ptr<std::atomic<std::uint32_t>>> checked_;
  std::unique_ptr<StoredRows> rows_;
};

}  // namespace holdfast::olap
