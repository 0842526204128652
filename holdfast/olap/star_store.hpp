// star_store.hpp: a star schema in a region: loaded as a whole, scanned in place.
//
// Guarantee  A star has one version at a time. Loading writes the next one beside it and switches
//            by one word; a crash before leaves the old version, or none, a crash after the new
//            one. What finish() acknowledged is durable.
// Damage     Each column of each block has a checksum. use() checks it before the column is read
//            for the first time since open(); verify() checks all of them, and the values.
// Media      Any. On page media the blocks are read through the page cache.
// Fences     create 2, open 1, load 2, whatever the size.
// Layouts    A version is columns, or rows (rows/stored_rows.hpp), the baseline.
// Threads    use() and reading from any; one StarWriter at a time, and no reader beside finish().
// Errors     kNotHoldfast, kCorrupt, kNewerFormat, kReadOnly, kBusy (another object uses the
//            region), kNoSpace (says how much is needed), and those of Region.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <holdfast/memory/claims.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/catalogue.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>

namespace holdfast::olap {

class StarStore {
 public:
  // A star without tables in a region that holds nothing of Holdfast's. Errors: kAlreadyExists.
  static Result<std::unique_ptr<StarStore>> create(Region& region);
  static Result<std::unique_ptr<StarStore>> open(Region& region);
  // The star that is there, or a new one where the region begins with zeros.
  static Result<std::unique_ptr<StarStore>> open_or_create(Region& region);

  bool loaded() const { return catalogue_.has_value(); }
  const Catalogue& catalogue() const { return *catalogue_; }  // Requires loaded().
  const std::byte* block(std::size_t number) const {
    return region_->data() + catalogue_->blocks[number].offset;
  }
  // The tables of a star of rows; null where it is one of columns. Requires loaded().
  const StoredRows* rows() const { return rows_.get(); }
  Region& region() const { return *region_; }
  std::uint64_t id() const { return id_; }

  // Before a column of a block is read. An atomic load where it was checked before.
  // Errors: kCorrupt, naming block and column.
  Status use(std::size_t block, Column column) const {
    const auto bit = std::uint32_t{1} << column;
    if ((checked_[block].load(std::memory_order_acquire) & bit) != 0) [[likely]]
      return {};
    return check(block, column);
  }

  // Reads everything. What it finds, one text each; empty: all is well.
  std::vector<std::string> verify() const;

  // For StarWriter: the version that the root word leads to from now on.
  void adopt(Catalogue catalogue);

 private:
  StarStore(Region& region, std::uint64_t id, Claim claim);
  Status read_root();
  Status check(std::size_t block, Column column) const;

  Claim claim_;
  Region* region_;
  std::uint64_t id_;
  std::optional<Catalogue> catalogue_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> checked_;  // A bit per column.
  std::unique_ptr<StoredRows> rows_;
};

// The next version, in places that the present one does not use. Without finish() nothing has
// happened.
class StarWriter {
 public:
  // The store must outlive the writer.
  explicit StarWriter(StarStore& store);

  // Any thread, one at a time; finish() on the same one. Errors: of Region, but not kNoSpace: where
  // there is no more room, it goes on counting, and finish() says how much is needed.
  Status append(const EncodedBlock& block);
  // Durable on return, and what the store shows from now on.
  Status finish(std::string source, std::vector<DimensionTable> dimensions);

  // The same for a star of rows: up to 2^32 - 1 tuples once per dimension, fact rows in runs.
  Status set_tuples(Dimension dimension, std::span<const DimensionTuple> tuples);
  Status append(std::span<const FactRow> rows);
  Status finish_rows(std::string source);

 private:
  Result<RowRun> put_run(std::span<const std::byte> bytes);
  Status switch_to(Catalogue catalogue);
  Result<std::uint64_t> allocate(std::uint64_t bytes);

  StarStore& store_;
  std::vector<Extent> free_;  // By offset; the last one ends where the region cannot grow beyond.
  bool full_ = false;
  std::uint64_t end_ = kDataAt;  // Of what was allocated, wherever there was room for it.
  std::vector<BlockInfo> blocks_;
  RowTables row_tables_;
};

}  // namespace holdfast::olap
