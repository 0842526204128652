// dimension_rows.hpp: all rows of a dimension, from its .tbl file or from the generator.
#pragma once

#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/ssb/generator.hpp>
#include <holdfast/olap/star.hpp>

namespace holdfast::olap::ssb {

// Reads the rows from the file in this directory. Numbers are in one form: '07' is '7'. Errors:
// kNotFound, kIo, kCorrupt (bad lines: load.hpp).
Result<std::vector<DimensionRow>> read_dimension(Dimension dimension, const std::string& directory);

std::vector<DimensionRow> all_rows(const Generator& generator, Dimension dimension);

}  // namespace holdfast::olap::ssb
