// record.hpp: rows as bytes in memory, each column in its type's own width: what compiled code
// reads.
//
//   bytes 0-7   bit i is set: column i is NULL
//   behind it   the columns that a connector reads, in order, each aligned to its width
//
// A record is as long as its last column and its strictest alignment want: three BIGINT make 32
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/value.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

// A text in a record: its bytes are elsewhere.
struct RecordText {
  const char* data = nullptr;
  std::uint64_t bytes = 0;
};

struct RecordLayout {
  static constexpr std::size_t kColumnsMax = 64;

  std::vector<std::uint32_t> offsets;  // By column; 0 for one that is computed.
  std::uint32_t bytes = 0;
  std::uint32_t alignment = 8;

  // None: the table has more than kColumnsMax columns.
  static std::optional<RecordLayout> of(const sql::Table& table);
};

// Bytes of a value of this type in a record.
std::uint32_t record_width(const sql::Type& type);

// `row` as a record at `out`. Texts point into the row.
void write_record(const sql::Table& table, const RecordLayout& layout, const sql::Row& row,
                  std::byte* out);

// Records that were taken off a source and not yet read: numbers that only the source
// understands.
struct RecordClaim {
  std::uint64_t at = 0, round = 0;
  std::size_t count = 0;
};

// A source whose rows are records already, in the layout of its table.
class RecordSource : public Source {
 public:
  // The same in two steps, so that several workers read at a time. `count` is 0: there are no more.
  virtual RecordClaim claim(std::size_t most) = 0;
  // Any number of threads.
  virtual void read(const RecordClaim& claim, std::byte* out) const = 0;
  // Some of the records that follow, valid until the next call; none: there are no more.
  virtual Result<std::span<const std::byte>> next_records() = 0;
};

}  // namespace holdfast::stream
