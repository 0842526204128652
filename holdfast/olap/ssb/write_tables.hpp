// write_tables.hpp: the generated tables as the customary five .tbl files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <holdfast/base/result.hpp>
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

}  // namespace holdfast::olap::ssb
