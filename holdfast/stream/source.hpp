// source.hpp: where rows come from.
//
// Threads  One at a time.
// Errors   kIo, kCorrupt (a malformed row, named), kInvalidOption (options of the table, with line
//          and column).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::stream {

class Source {
 public:
  virtual ~Source() = default;
  // Fills the columns that are not computed; `row` has the table's width. False: there are no more.
  virtual Result<bool> next(sql::Row& row) = 0;
  // Between two rows, so that a source of the same table that seeks it gives the rows behind it.
  virtual std::string position() const = 0;
  virtual Status seek(std::string_view position) = 0;
  // For people: "byte 4711, row 12".
  virtual std::string place() const = 0;
  // Rows that were skipped, or had a field set to NULL, since they were malformed.
  virtual std::uint64_t malformed() const { return 0; }
};

// By the option 'connector'. `table` outlives the source.
Result<std::unique_ptr<Source>> open_source(const sql::Table& table);

}  // namespace holdfast::stream
