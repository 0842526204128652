// write_tables.hpp: the generated tables as the customary five .tbl files, and loaded rows as one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/rows/stored_rows.hpp>
#include <holdfast/olap/ssb/generator.hpp>

namespace holdfast::olap::ssb {

struct WrittenTables {
  std::uint64_t lines = 0;  // Of lineorder.
  std::uint64_t bytes = 0;  // Of all files.
};

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
