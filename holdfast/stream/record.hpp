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

// Of records one behind the other, from an address that any vector of bytes has.
struct RecordLayout {
  static constexpr std::size_t kColumnsMax = 64;
  static constexpr std::uint32_t kAlignmentMax = 16;
  static_assert(kAlignmentMax <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  std::vector<std::uint32_t> offsets;  // By column; 0 for one that is computed.
  std::uint32_t bytes = 0;

  // None: the table has more than kColumnsMax columns.
  static std::optional<RecordLayout> of(const sql::Table& table);
};

// Bytes of a value of this type in a record.
std::uint32_t record_width(const sql::Type& type);

// `row` as a record at `out`. Texts point into the row.
void write_record(const sql::Table& table, const RecordLayout& layout, const sql::Row& row,
                  std::byte* out);

// A source whose rows are records already, in the layout of its table.
class RecordSource : public Source {
 public:
  // Some of the records that follow, valid until the next call; none: there are no more.
  virtual Result<std::span<const std::byte>> next_records() = 0;
  // The last so many of the records that were given come again: they were not taken.
  virtual void give_back(std::size_t records) = 0;
};

}  // namespace holdfast::stream
