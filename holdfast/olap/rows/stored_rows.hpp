// stored_rows.hpp: the tables of a star of rows, where they lie in a region.
//
// Damage   Each run of rows has a checksum. It is compared before the run is read for the first
//          time; verify() compares all of them again, and looks at the values.
// Threads  Any.
// Errors   kCorrupt, naming table and run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/rows/row_format.hpp>

namespace holdfast::olap {

class StoredRows {
 public:
  // The region must outlive it; the runs lie in it.
  StoredRows(const Region& region, RowTables tables);

  const RowTables& tables() const { return tables_; }
  std::size_t runs() const { return tables_.facts.size(); }
  std::uint64_t rows() const;  // Of the fact table.
  const Region& region() const { return *region_; }
  std::vector<Extent> places() const;  // Of the fact table's runs.

  Result<std::span<const FactRow>> facts(std::size_t run) const;
  Result<std::span<const DimensionTuple>> tuples(Dimension dimension) const;

  // What is wrong, one text each; empty: all is well.
  std::vector<std::string> verify() const;

 private:
  Status check(std::size_t number) const;  // Fact runs, then the dimensions.
  const RowRun& run(std::size_t number) const {
    return number < runs() ? tables_.facts[number] : tables_.dimensions[number - runs()];
  }
  std::string name(std::size_t number) const;
  Status use(std::size_t number) const {
    if (checked_[number].load(std::memory_order_acquire)) [[likely]]
      return {};
    return check(number);
  }
  template <class Row>
  std::span<const Row> view(const RowRun& run) const {
    return {reinterpret_cast<const Row*>(region_->data() + run.offset), run.rows};
  }

  const Region* region_;
  RowTables tables_;
  std::unique_ptr<std::atomic<bool>[]> checked_;
};

}  // namespace holdfast::olap
