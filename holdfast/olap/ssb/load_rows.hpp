// load_rows.hpp: fills a star of rows (rows/row_format.hpp), the baseline of columns.
//
// Guarantee  As load.hpp. A table that one of the two refuses, the other refuses, too, but for the
//            limits below.
// Kept       All fields of lineorder; of the dimensions the attributes that queries use.
// Limits     Texts of up to 30 bytes in dimensions; lo_orderpriority and lo_shipmode of up to 16,
//            lo_shippriority of up to 4. No text has a zero byte. lo_orderkey has 64 bits, other
//            numbers 32. A dimension may have any number of different values.
// Errors     As load.hpp.
#pragma once

#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/ssb/generator.hpp>
#include <holdfast/olap/ssb/load.hpp>
#include <holdfast/olap/star_store.hpp>

namespace holdfast::olap::ssb {

// Ordered by date: all rows are in DRAM until it has returned.
Status load_generated_rows(const Generator& generator, const std::string& source, StarStore& store,
                           unsigned threads, FactOrder order = FactOrder::kAsLoaded);
Status load_table_rows(const std::string& directory, StarStore& store, unsigned threads,
                       FactOrder order = FactOrder::kAsLoaded);

}  // namespace holdfast::olap::ssb
