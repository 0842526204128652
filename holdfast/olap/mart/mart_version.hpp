// mart_version.hpp: what a query sees of a star: one catalogue, which does not change.
//
// Damage   Each column of each block, and each piece of a dictionary, has a checksum. It is checked
//          before the bytes are read for the first time since the star was opened, and that values
//          keep to their bounds; verify() checks all of them.
// Memory   Texts stay in the region. Of a dimension, columns that a query uses are unpacked into
//          DRAM, 8 bytes per row and one more where there are NULLs.
// Threads  Any. What a version that somebody holds reads is not overwritten.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/mart/catalogue.hpp>

namespace holdfast::olap::mart {

// Texts by their number less 1.
using Dictionary = std::vector<std::string_view>;

class MartVersion {
 public:
  MartVersion(const Region& region, Catalogue catalogue);

  const Catalogue& catalogue() const { return catalogue_; }
  const Schema& schema() const { return catalogue_.schema; }
  const Region& region() const { return *region_; }
  const std::byte* block(std::uint32_t table, std::size_t number) const {
    return region_->data() + catalogue_.tables[table].blocks[number].offset;
  }

  // Before a column of a block is read. An atomic load where it was checked before. Errors:
  // kCorrupt, naming table, block and column.
  Status use(std::uint32_t table, std::size_t block, std::uint32_t column) const;

  // Of a column of texts. Errors: kCorrupt.
  Result<std::shared_ptr<const Dictionary>> dictionary(std::uint32_t table,
                                                       std::uint32_t column) const;
  // All words of a column. Errors: kCorrupt.
  Result<std::shared_ptr<const Words>> words(std::uint32_t table, std::uint32_t column) const;

  // Reads everything. What it finds, one text each; empty: all is well.
  std::vector<std::string> verify() const;

 private:
  using Place = std::pair<std::uint32_t, std::uint32_t>;

  Status check(std::uint32_t table, std::size_t block, std::uint32_t column) const;
  Result<Dictionary> read_dictionary(std::uint32_t table, std::uint32_t column) const;
  void verify_table(std::uint32_t table, std::vector<std::string>& found) const;

  const Region* region_;
  Catalogue catalogue_;
  // By table: a byte per block and column, block by block.
  std::vector<std::unique_ptr<std::atomic<std::uint8_t>[]>> checked_;
  mutable KernelMutex mutex_;
  mutable std::map<Place, std::shared_ptr<const Dictionary>> dictionaries_ HF_GUARDED_BY(mutex_);
  mutable std::map<Place, std::shared_ptr<const Words>> words_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::olap::mart
