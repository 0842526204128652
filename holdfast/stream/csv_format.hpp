// csv_format.hpp: the options of 'format' = 'csv', which source and sink share.
#pragma once

#include <holdfast/stream/csv.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {

inline Result<CsvFormat> csv_format_of(TableOptions& options) {
  const auto format = options.text("format");
  if (!format || *format != "csv") return options.wrong("format", "'csv'");
  CsvFormat csv;
  if (const auto delimiter = options.text("csv.field-delimiter")) {
    const bool tab = *delimiter == "\\t";
    if (!tab && (delimiter->size() != 1 || *delimiter == "\"" || *delimiter == "\n"))
      return options.wrong("csv.field-delimiter", "one character");
    csv.delimiter = tab ? '\t' : delimiter->front();
  }
  if (const auto literal = options.text("csv.null-literal")) csv.null_literal = *literal;
  return csv;
}

}  // namespace holdfast::stream
