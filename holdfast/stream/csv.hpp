// csv.hpp: records of RFC 4180, read and written.
//
// A field may stand in quotes, which may hold the delimiter, line ends and, doubled, the quote. A
// record ends with LF or CRLF; the last needs neither. An empty line is a record of one empty
// field. Only a field without quotes can be the null literal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::stream {

struct CsvFormat {
  char delimiter = ',';
  std::string null_literal = "\\N";
};

struct CsvField {
  std::string_view text;
  bool quoted = false;
};

// Takes records off a file, forward.
//
// Errors  kIo; kCorrupt, with the number of the record: a quote without a partner, or with more
//         behind it; a record longer than kMaxRecordBytes.
class CsvReader {
 public:
  static constexpr std::size_t kMaxRecordBytes = 16 << 20;

  static Result<CsvReader> open(const std::string& path, CsvFormat format);
  CsvReader(CsvReader&& other) noexcept;
  CsvReader& operator=(CsvReader&&) = delete;
  ~CsvReader();

  // False at the end. The fields live until the next call.
  Result<bool> next(std::vector<CsvField>& fields);
  // Where the next record begins, and how many there were before.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t records() const { return records_; }
  // Errors: kInvalidOption: the file is shorter.
  Status seek(std::uint64_t offset, std::uint64_t records);
  bool is_null(const CsvField& field) const {
    return !field.quoted && field.text == format_.null_literal;
  }

 private:
  CsvReader(int file, std::string path, CsvFormat format);
  Result<bool> fill();  // False: the file has no more.
  Result<std::size_t> find_end();
  Error broken(std::string_view what) const;
  Status split(std::string_view record, std::vector<CsvField>& fields);

  int file_;
  std::string path_;
  CsvFormat format_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // Of what was read and not taken.
  bool at_end_ = false;
  std::uint64_t offset_ = 0, records_ = 0;
  std::string unquoted_;  // Fields whose doubled quotes became single ones.
};

// `text` as a field, quoted if it must be.
void append_csv_field(std::string_view text, const CsvFormat& format, std::string& line);

}  // namespace holdfast::stream
