// write_tables.hpp: the generated tables as text, .tbl or CSV, and loaded rows as a .tbl file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>
#include <holdfast/olap/ssb/generator.hpp>
#include <holdfast/olap/ssb/table_columns.hpp>

namespace holdfast::olap::ssb {

struct WrittenTables {
  std::uint64_t lines = 0;  // Of lineorder.
  std::uint64_t bytes = 0;  // Of all files.
};

// Where the text of a table goes.
class TableSink {
 public:
  virtual ~TableSink() = default;
  virtual Status append(std::string_view text) = 0;
  // After the last text. Without it the table is not whole.
  virtual Status close() = 0;
};

// `path` is created or replaced. Errors: kNotFound, kIo, kNoSpace; append and close have them, too.
Result<std::unique_ptr<TableSink>> file_sink(const std::string& path);

enum class TableText : std::uint8_t {
  kTbl,  // Fields with | behind each.
  kCsv,  // RFC 4180 with \n as the end of a line; texts have quotes, numbers have none. No header.
};

// Each table to the sink that open() gives for it, dimensions first. Any thread count gives the
// same text. Errors: of open() and the sinks.
using OpenTable = std::function<Result<std::unique_ptr<TableSink>>(const TableColumns& table)>;
Result<WrittenTables> write_tables(const Generator& generator, TableText form,
                                   const OpenTable& open, unsigned threads);

// customer.tbl, supplier.tbl, part.tbl, date.tbl and lineorder.tbl in `directory`, which must
// exist. Files that are there are replaced. Any thread count gives the same bytes. Not synced.
// Errors: kNotFound, kIo, kNoSpace.
Result<WrittenTables> write_tables(const Generator& generator, const std::string& directory,
                                   unsigned threads);

// The fact table of a star of rows as lineorder.tbl, all fields of all lines in their order: what
// was loaded, but for zeros in front of numbers. Nothing is written if a run is damaged. Errors:
// also kCorrupt.
Result<WrittenTables> export_lines(const StoredRows& rows, const std::string& path,
                                   unsigned threads);

}  // namespace holdfast::olap::ssb
