// csv_reader.hpp: records of a text file: CSV as in RFC 4180, or .tbl, from a file or a pipe.
//
// Quotes  A field that begins with '"' ends at the next '"' that is not doubled; it may have
//         delimiters and newlines in it. Lines end with \n or \r\n. Empty lines are skipped, and so
//         is a byte order mark before the first.
// Errors  kNotFound, kIo; kCorrupt, naming file and line: a quote without an end, text behind a
//         closing quote, a record of more than kMaxRecordBytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::olap::mart {

struct CsvFormat {
  char delimiter = ',';
  bool header = true;               // The first line has the names of the columns.
  bool trailing_delimiter = false;  // One behind the last field, as .tbl files have it.
  std::string null;                 // A field without quotes that is this text is NULL.
  bool skips_empty_lines = true;    // Else one is a record of one field.

  bool operator==(const CsvFormat&) const = default;
  Status validate() const;
};

struct Field {
  std::string_view text;
  bool null = false;
};

class CsvReader {
 public:
  static constexpr std::size_t kMaxRecordBytes = 16 * 1024 * 1024;

  static Result<CsvReader> open(const std::string& path, const CsvFormat& format);
  // Takes the descriptor over; `name` is for messages.
  CsvReader(int file, std::string name, const CsvFormat& format);
  CsvReader(CsvReader&& other) noexcept;
  CsvReader& operator=(CsvReader&&) = delete;
  ~CsvReader();

  const std::string& name() const { return name_; }
  // False: the end. Fields are there until the next call.
  Result<bool> next(std::vector<Field>& fields);
  // Of the record that next() gave: the line it begins in, from 1.
  std::uint64_t line() const { return record_line_; }

 private:
  // What a field of the record at hand is, while the buffer may still move.
  struct Part {
    std::size_t begin, end;
    bool quoted;
  };
  Status fill();
  Result<bool> has(std::size_t at);
  Status skip_mark();
  Result<bool> take_record();
  Result<std::size_t> take_quoted(std::size_t at);
  Error wrong(const std::string& what) const;

  std::string name_;
  int file_;
  CsvFormat format_;
  std::string buffer_;
  std::size_t begin_ = 0;  // Of the record at hand, in the buffer.
  bool at_end_ = false, begun_ = false;
  std::uint64_t line_ = 1, record_line_ = 1;
  std::vector<Part> parts_;
};

}  // namespace holdfast::olap::mart
