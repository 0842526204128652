// csv.hpp: records of RFC 4180, taken apart and written.
//
// A field may stand in quotes, which may hold the delimiter, line ends and, doubled, the quote. An
// empty line is a record of one empty field. Only a field without quotes can be the null literal.
// Behind an escape n, r, t and 0 are control characters, and any other sign is itself.
// record_reader.hpp finds where records end.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::stream {

// How records are told apart, and their fields.
struct Quoting {
  char delimiter = ',';   // Of fields.
  char quote = '"';       // None: 0.
  char escape = '\0';     // The sign behind it means nothing. None: 0.
  bool comments = false;  // A line that begins with # is no record.
};

struct CsvOptions {
  Quoting quoting;
  std::string null_literal = "\\N";
};

struct CsvField {
  std::string_view text;
  bool null = false;
};

class CsvFields {
 public:
  explicit CsvFields(CsvOptions options) : options_(std::move(options)) {}

  // The fields of a record; they point into it and into this, until the next call. The error is a
  // text that is not empty: something stands behind a closing quote, or a quote within a field.
  std::string_view split(std::string_view record);
  const std::vector<CsvField>& fields() const { return fields_; }

 private:
  // From `at` on, which moves behind it. The error is as above.
  std::string_view take_quoted(std::string_view record, std::size_t& at, CsvField& field);
  std::string_view take_plain(std::string_view record, std::size_t& at, CsvField& field);
  bool take_escaped(std::string_view record, std::size_t& at);

  CsvOptions options_;
  std::vector<CsvField> fields_;
  std::string unquoted_;  // Fields that are not as they stand in the record.
};

class CsvFieldWriter {
 public:
  explicit CsvFieldWriter(CsvOptions options = {});

  // What stands in `line` from `begin` on becomes a field, quoted if it must be. False: it cannot
  // be one, since there are no quotes; it is gone then.
  bool end_field(std::size_t begin, std::string& line) const;
  bool append(std::string_view text, std::string& line) const;
  const CsvOptions& options() const { return options_; }

 private:
  bool must_be_quoted(std::string_view text) const;

  CsvOptions options_;
  std::array<bool, 256> special_{};  // By sign.
};

}  // namespace holdfast::stream
