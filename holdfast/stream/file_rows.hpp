// file_rows.hpp: the rows of one file, whatever its format.
//
// Position  Two numbers, as the format understands them: the byte and the number of the next
//           record; the byte of a block and how many of its records were given.
// Threads   One at a time.
// Errors    Those of the input. What is damaged or malformed is no error: it is in `misread`, and
//           the next call goes on behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::stream {

struct Misread {
  std::string wrong;       // "'one' is no BIGINT for column v"; empty: all is well.
  std::string_view bytes;  // As they are in the file, until the next call. Null: there are none.
  bool made = false;       // There is a row all the same: what could not be read is NULL.
};

class FileRows {
 public:
  virtual ~FileRows() = default;
  // False: there are no more. True: a row, or something in `misread`.
  virtual Result<bool> next(sql::Row& row, Misread& misread) = 0;

  struct Position {
    std::uint64_t offset = 0, records = 0;
  };
  // The place behind the last row.
  virtual Position position() const = 0;
  virtual Status seek(Position position) = 0;
  // Where the row is that next() gave last: "record 12".
  virtual std::string where() const = 0;
  // For people: "record 12, byte 4711".
  virtual std::string place() const = 0;
};

// Errors: those of the file, and what of it does not fit the table.
using OpenFileRows = std::function<Result<std::unique_ptr<FileRows>>(const std::string& path)>;

}  // namespace holdfast::stream
