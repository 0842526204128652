// load.hpp: fills a star from the generator, or from the five .tbl files; appends more lines.
//
// Guarantee  The star that results holds exactly the rows of the input, or the load fails and the
//            version before stays.
// Bad lines  A field that is missing, too many, empty, no number or too large; a foreign key that
//            no row of its dimension has; a dimension key that was there before. There are no
//            NULLs. The whole file is read, and the error names file, line, column and value of the
//            first ten and says how many there are.
// Kept       The columns that the thirteen queries use: of lineorder nine of seventeen. The others
//            are counted and not looked at.
// Threads    Of the caller's choice; the same input gives the same bytes with any of them.
// Errors     kNotFound, kIo, kCorrupt (bad lines), kUnsupported (limits of dimension_table.hpp),
//            kNoSpace (says how much is needed).
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/ssb/generator.hpp>
#include <holdfast/olap/star_store.hpp>

namespace holdfast::olap::ssb {

// The order of the fact's rows: as they come, or by their days (date_order.hpp), which takes DRAM
// for all of them.
enum class FactOrder : std::uint8_t { kAsLoaded, kByDate };

Status load_generated(const Generator& generator, const std::string& source, StarStore& store,
                      unsigned threads, FactOrder order = FactOrder::kAsLoaded);
Status load_tables(const std::string& directory, StarStore& store, unsigned threads,
                   FactOrder order = FactOrder::kAsLoaded);

// Appends the lines of a file in the form of lineorder.tbl to a star of columns, all or none. Their
// keys are those of the dimensions that are there. Returns how many. Errors: also those of
// StarStore::append.
Result<std::uint64_t> append_lines(const std::string& path, StarStore& store, unsigned threads);

}  // namespace holdfast::olap::ssb
