// table_columns.hpp: the columns of the benchmark's five tables, in the order of their .tbl files.
//
// O'Neil, O'Neil and Chen, "The Star Schema Benchmark" (revision 3, 2009), section 3.
#pragma once

#include <span>
#include <string_view>

#include <holdfast/olap/star.hpp>

namespace holdfast::olap::ssb {

struct TableColumn {
  std::string_view name;
  bool text = false;  // Else a whole number; all of them fit 64 bits.
};

struct TableColumns {
  std::string_view table;
  std::span<const TableColumn> columns;
};

TableColumns columns_of(Dimension dimension);
TableColumns columns_of_lineorder();

}  // namespace holdfast::olap::ssb
