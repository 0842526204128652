// star_columns.hpp: the columns of a query, and how programs reach their values.
//
// A query reads one table, and rows of others that its index columns lead to. Of the table these
// have a slot, which is the number of the index column: a text, whose dictionary has the values; a
// key of a dimension, which leads to the attributes; a number of few different values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <holdfast/olap/mart/index_kernels.hpp>
#include <holdfast/olap/mart/mart_version.hpp>
#include <holdfast/olap/mart/program.hpp>

namespace holdfast::olap::mart {

// Where a column of a query is. Of a joined table: the column of the key that leads to it.
struct ColumnSource {
  std::uint32_t table = 0;
  std::uint32_t column = 0;
  std::optional<std::uint32_t> joined_by;
};

// A number for each index, and the values that the numbers stand for.
struct Coded {
  std::vector<std::uint32_t> codes;
  std::shared_ptr<const Vector> values;
};

class StarColumns : public Columns {
 public:
  // `table` is the one that is read. The version must outlive this.
  StarColumns(const MartVersion& version, std::uint32_t table, std::vector<ColumnSource> sources);

  std::optional<std::uint32_t> slot(std::uint32_t column) const override;
  Result<Vector> over(std::uint32_t slot, const sql::Expression& expression) const override;
  // As over(), with equal values as one number.
  Result<Coded> codes(std::uint32_t slot, const sql::Expression& expression) const;
  // As codes(), as whole numbers for COUNT(DISTINCT …): NULL where the value is.
  Result<Vector> numbers(std::uint32_t slot, const sql::Expression& expression) const;

  const MartVersion& version() const { return version_; }
  std::uint32_t table() const { return table_; }
  // Indexes of a slot: 0 and those up to the largest.
  std::uint32_t indexes(std::uint32_t slot) const;
  // The column of a block as indexes. It must have been used.
  IndexView view(std::uint32_t slot, std::size_t block) const;
  // The column of the table that a query's column is; it has no slot.
  std::uint32_t place(std::uint32_t column) const { return sources_[column].column; }

 private:
  const Column& column(std::uint32_t number) const {
    return version_.schema().tables[table_].columns[number];
  }
  // Whether each index has a value that no other one has.
  bool all_differ(std::uint32_t slot, const sql::Expression& expression) const;

  const MartVersion& version_;
  std::uint32_t table_;
  std::vector<ColumnSource> sources_;
  // By column of the table, of numbers: the least, and how many there are from it to the largest;
  // 0: so many that they have no slot.
  std::vector<std::int64_t> least_;
  std::vector<std::uint32_t> spans_;
};

// The rows of one block, for programs of its table.
class BlockInput : public Input {
 public:
  BlockInput(const StarColumns& columns, std::size_t block) : columns_(columns), block_(block) {}
  Status values(std::uint32_t column, std::span<const std::uint32_t> rows,
                Vector& to) const override;
  Status indexes(std::uint32_t slot, std::span<const std::uint32_t> rows,
                 std::vector<std::uint32_t>& to) const override;

 private:
  const StarColumns& columns_;
  std::size_t block_;
};

}  // namespace holdfast::olap::mart
