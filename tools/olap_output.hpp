// olap_output.hpp: the answer of `holdfast olap query` as a table, CSV, JSON, Parquet or a page.
//
// CSV   A header, then rows; texts with quotes where they need them, and a text without characters
//       as "". NULL is an empty field without quotes.
// JSON  {"columns": [{"name", "type"}], "rows": [[…]], "rows_passed", "seconds"}; whole numbers and
//       doubles as numbers, decimals and times as texts, so that no digit is lost.
#pragma once

#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/star_answer.hpp>

namespace holdfast::tools {

enum class QuoteTexts : bool { kAsNeeded, kAll };

std::string csv_of(const olap::mart::StarAnswer& answer, QuoteTexts quotes, bool header);
std::string json_of(const olap::mart::StarAnswer& answer, double seconds);
// For people: columns under each other, numbers to the right.
std::string table_of(const olap::mart::StarAnswer& answer);
// By pyarrow; errors of parquet_process.hpp.
Status write_parquet(const olap::mart::StarAnswer& answer, const std::string& python,
                     const std::string& path);

}  // namespace holdfast::tools
