// csv.hpp: records of RFC 4180, taken apart and written.
//
// A field may stand in quotes, which may hold the delimiter, line ends and, doubled, the quote. An
// empty line is a record of one empty field. Only a field without quotes can be the null literal.
// record_reader.hpp finds where records end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::stream {

struct CsvOptions {
  char delimiter = ',';
  std::string null_literal = "\\N";
};

struct CsvField {
  std::string_view text;
  bool quoted = false;
};

class CsvFields {
 public:
  explicit CsvFields(CsvOptions options) : options_(std::move(options)) {}

  // The fields of a record; they point into it and into this, until the next call. The error is a
  // text that is not empty: something stands behind a closing quote, or a quote within a field.
  std::string_view split(std::string_view record);
  const std::vector<CsvField>& fields() const { return fields_; }
  bool is_null(const CsvField& field) const {
    return !field.quoted && field.text == options_.null_literal;
  }

 private:
  CsvOptions options_;
  std::vector<CsvField> fields_;
  std::string unquoted_;  // Fields whose doubled quotes became single ones.
};

// `text` as a field, quoted if it must be.
void append_csv_field(std::string_view text, const CsvOptions& options, std::string& line);

}  // namespace holdfast::stream
