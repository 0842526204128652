// text_table.hpp: a .tbl file in pieces of whole lines, and what is wrong with lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/bad_lines.hpp>

namespace holdfast::olap::ssb {

// Threads: read() from any.
class TextTable {
 public:
  static constexpr std::uint64_t kMaxLineBytes = 64 * 1024;

  // Errors: kNotFound, kIo.
  static Result<TextTable> open(std::string path);
  TextTable(TextTable&& other) noexcept;
  TextTable& operator=(TextTable&&) = delete;
  ~TextTable();

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t pieces() const { return (bytes_ + kPieceBytes - 1) / kPieceBytes; }
  // The lines that begin in the piece, with their newlines. Errors: kIo, kCorrupt (a line too
  // long).
  Result<std::string> read(std::uint64_t piece) const;

 private:
  static constexpr std::uint64_t kPieceBytes = 6 * 1024 * 1024;
  TextTable(std::string path, int file, std::uint64_t bytes)
      : path_(std::move(path)), file_(file), bytes_(bytes) {}
  std::string path_;
  int file_;
  std::uint64_t bytes_;
};

// The next line of `text` without its end, taken off it.
std::string_view take_line(std::string_view& text);
// Exactly `fields.size()` fields, each followed by '|' (the last one may do without it where it is
// not empty).
bool split_fields(std::string_view line, std::vector<std::string_view>& fields);
// All of `text` as a number of at most `most`.
bool parse_number(std::string_view text, std::uint32_t most, std::uint32_t& number);

// What is wrong with a line, for BadLines: a field, or the number of fields.
std::string bad_field(std::string_view name, std::string_view value, std::string_view wanted);
std::string bad_count(std::size_t wanted);

}  // namespace holdfast::olap::ssb
