// record.hpp: rows as bytes in memory, each column in its type's own width: what compiled code
// reads and writes.
//
//   bytes 0-7   bit i is set: column i is NULL
//   behind it   the columns that a connector reads, in order, each aligned to its width; what is
//               NULL is 0, and no text
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
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

// A text in a record: its bytes are elsewhere.
struct RecordText {
  const char* data = nullptr;
  std::uint64_t bytes = 0;
};

// The layout of records one behind the other, from an address that any vector of bytes has.
struct RecordLayout {
  static constexpr std::size_t kColumnsMax = 64;
  static constexpr std::uint32_t kAlignmentMax = 16;
  static_assert(kAlignmentMax <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  std::vector<std::uint32_t> offsets;  // By column; 0 for one that is computed.
  std::uint32_t bytes = 0;

  // None: there are more than kColumnsMax columns.
  static std::optional<RecordLayout> of(const sql::Table& table);
  static std::optional<RecordLayout> of(const std::vector<sql::Column>& columns);
};

// Bytes of a value of this type in a record.
std::uint32_t record_width(const sql::Type& type);

// `row` as a record at `out`. Texts point into the row.
void write_record(const sql::Table& table, const RecordLayout& layout, const sql::Row& row,
                  std::byte* out);
// A record that has all of the columns, as a row of them.
void read_record(const std::vector<sql::Column>& columns, const RecordLayout& layout,
                 const std::byte* record, sql::Row& row);

// A source whose rows are records already, in the layout of its table.
class RecordSource : public Source {
 public:
  // Some of the records that follow, valid until the next call; none: there are no more.
  virtual Result<std::span<const std::byte>> next_records() = 0;
  // The last so many of the records that were given come again: they were not taken.
  virtual void give_back(std::size_t records) = 0;
};

// Records of a source that somebody is to read, counted from its first.
struct RecordClaim {
  std::uint64_t first = 0;
  std::size_t count = 0;
};

// A source of records in memory, which several workers read beside one another: each takes some off
// the source, under a lock, and then reads them.
class SharedRecordSource : public RecordSource {
 public:
  // Takes those that follow, at most `most`; none: there are no more.
  virtual RecordClaim claim(std::size_t most) = 0;
  // Writes what was claimed to `out`. Threads: any, beside each other and beside a claim. Texts
  // live as long as the source.
  virtual void read(const RecordClaim& claim, std::byte* out) const = 0;
};

// A sink that takes records, too, in the layout of its columns: compiled code gives it these.
class RecordSink : public Sink {
 public:
  // One or more of them, in their order, and the kind of each. Their texts are gone when it
  // returns.
  virtual Status write_records(std::span<const RowKind> kinds,
                               std::span<const std::byte> records) = 0;
};

}  // namespace holdfast::stream
