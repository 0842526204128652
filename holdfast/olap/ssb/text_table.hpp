// text_table.hpp: a .tbl file in pieces of whole lines, and what is wrong with lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::olap::ssb {

// Lines by their number within a piece, or, once pieces were added up, within the file.
class BadLines {
 public:
  struct Line {
    std::uint64_t number;  // From 1.
    std::string what;      // "lo_quantity 'x': …"
  };
  void add(std::uint64_t number, std::string what);
  // Those of a piece that begins behind `lines_before` lines.
  void add(const BadLines& piece, std::uint64_t lines_before);
  std::uint64_t count() const { return count_; }
  // kCorrupt with all that is known, or success where there are none.
  Status status(const std::string& path) const;

 private:
  static constexpr std::size_t kShown = 10;
  std::uint64_t count_ = 0;
  std::vector<Line> first_;
};

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
