// olap_schema.hpp: the YAML description of a star: fact, dimensions, keys and files.
//
//   fact:
//     name: sales
//     file: sales.csv              # or .parquet; relative to the description
//     columns: {id: BIGINT, customer: BIGINT, sold: DATE, price: "DECIMAL(12, 2)"}
//     keys: {customer: customers, sold: days}
//   dimensions:
//     customers: {file: customers.csv, key: ckey, columns: {ckey: BIGINT, region: STRING}, order: [region]}
//     days: …
//   csv: {delimiter: ",", header: true, trailing_delimiter: false, null_text: ""}
//   unknown_keys: refuse           # or null
//
// Errors  kInvalidOption: all that is wrong, with file, line and column.
#pragma once

#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/csv_reader.hpp>
#include <holdfast/olap/mart/load.hpp>
#include <holdfast/olap/mart/schema.hpp>

namespace holdfast::tools {

struct OlapSchema {
  olap::mart::Schema schema;
  std::vector<std::string> files;  // By table; empty: none is named.
  olap::mart::CsvFormat csv;
  olap::mart::UnknownKeys unknown = olap::mart::UnknownKeys::kRefuse;
};

Result<OlapSchema> read_olap_schema(const std::string& path);

}  // namespace holdfast::tools
