// record_reader.hpp: takes records off an input, forward.
//
// Threads  One at a time.
// Errors   Those of the input; kCorrupt, with the number of the record: it is longer than
//          kMaxRecordBytes, or the input ends within it. The next call goes on behind it; behind
//          one that is too long with the line after its first kMaxRecordBytes, whatever its quotes,
//          so that no byte is read twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/csv.hpp>
#include <holdfast/stream/input.hpp>

namespace holdfast::stream {

enum class Framing : std::uint8_t {
  kLines,       // Up to LF or CRLF; the last line needs neither.
  kPlainLines,  // The same; a byte order mark is kept.
  kQuoted,      // The same, but a LF in a field that begins with a quote ends no record: RFC 4180.
  kFixed,       // Of so many bytes each.
};

class RecordReader {
 public:
  static constexpr std::size_t kMaxRecordBytes = 16 << 20;

  RecordReader(std::unique_ptr<Input> input, Framing framing, std::size_t record_bytes = 0,
               Quoting quoting = {});

  // The record lives until the next call. False: there are no more, or none for now.
  Result<bool> next(std::string_view& record);
  bool at_end() const { return no_more_ && begin_ == end_; }
  // Where the next record begins, and how many there were before.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t records() const { return records_; }
  // Errors: those of the input.
  Status seek(std::uint64_t offset, std::uint64_t records);
  const std::string& name() const { return input_->name(); }
  // What a kCorrupt error of next() says behind the place, which others have in their own words.
  std::string reason_of(const Error& error) const;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  Result<bool> fill();          // False: nothing came.
  std::size_t find_line_end();  // In what was read; kNone: it has none.
  bool opens(const char* quote) const;
  bool is_escaped(const char* sign) const;
  bool at_comment() const;
  std::string_view line_of(std::size_t size) const;
  void take(std::size_t bytes);
  Error broken(std::string_view what) const;
  Error too_long() const { return broken("it is longer than 16 MiB"); }
  Result<bool> skip_to_line_end();

  std::unique_ptr<Input> input_;
  Framing framing_;
  std::size_t record_bytes_;
  Quoting quoting_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // Of what was read and not taken.
  std::size_t seen_ = 0;             // Bytes from begin_ in which no record ends.
  bool in_quotes_ = false;           // Behind these.
  std::size_t closed_ = kNone;       // Where the last closing quote in them is.
  bool skipping_ = false;            // The rest of a record that was too long.
  bool no_more_ = false;
  std::uint64_t offset_ = 0, records_ = 0;
};

}  // namespace holdfast::stream
