// format.hpp: from the bytes of a record to a row, and back: 'format' = 'csv', 'json', 'raw',
// 'binary', 'avro', 'parquet'. The last two have more than records in a file: they read and write
// it whole.
//
// Threads  One at a time.
// Errors   kInvalidOption, kUnsupported: options of the table, with line and column.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/value.hpp>
#include <holdfast/stream/file_rows.hpp>
#include <holdfast/stream/record_reader.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {

class RowReader {
 public:
  virtual ~RowReader() = default;
  // Fills this format's columns of `row`, which has the table's width. `wrong` is empty, or says
  // what is malformed ("'one' is no BIGINT for column v"): with true, what could not be read is
  // NULL; with false, there is no row.
  virtual bool read(std::string_view record, sql::Row& row, std::string& wrong) = 0;
  // Some are faster with many at once: with so many, of which expect() says that read() will be
  // asked for them next, most likely in this order. How many of them it took.
  virtual std::size_t at_once() const { return 1; }
  virtual std::size_t expect(std::span<const std::string_view>) { return 0; }
  // Why the last record was not read, if that is not the record's fault.
  virtual Status status() const { return {}; }
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // The row as a record, appended. Not what ends a record in a file: that is `record_end`. Errors:
  // kInvalidOption: the format cannot say this value.
  virtual Status append(const sql::Row& row, std::string& bytes) = 0;
  virtual std::string_view record_end() const { return "\n"; }
  // Appends what belongs behind the last record of a file. The next append() begins another file.
  virtual Status end_file(std::string&) { return {}; }
};

struct ReadFormat {
  std::unique_ptr<RowReader> reader;
  Framing framing = Framing::kLines;  // In a file or a socket. A message is one record.
  std::size_t record_bytes = 0;       // Of kFixed.
  Quoting quoting;                    // Of kQuoted.
  bool header = false;                // The first record of a file is none.
  OpenFileRows open_file;             // Of a file, instead of all these, where it is set.
  bool ignore_errors = false;
};

// What the bytes are part of.
enum class Carrier : std::uint8_t { kFile, kStream, kMessage };

// Which columns of a table a format reads or writes, and how its options begin: "" for 'format' and
// 'json.…', "key." for 'key.format' and 'key.json.…'.
struct FormatScope {
  std::vector<std::size_t> columns;
  std::string prefix;
  Carrier carrier = Carrier::kMessage;
};
// Those that the connector reads: not computed.
FormatScope all_physical(const sql::Table& table, Carrier carrier);
FormatScope all_of(const std::vector<sql::Column>& columns, Carrier carrier);

Result<ReadFormat> read_format_of(const sql::Table& table, const FormatScope& scope,
                                  TableOptions& options);

struct WriteFormat {
  std::unique_ptr<RowWriter> writer;
  std::string suffix;  // Of a file: "csv".
};
// `columns` are those of the rows, and outlive it.
Result<WriteFormat> write_format_of(const std::vector<sql::Column>& columns,
                                    const FormatScope& scope, TableOptions& options);

// For the rows of a plain SELECT: all columns as CSV, or as JSON.
std::unique_ptr<RowWriter> plain_writer(bool csv, const std::vector<sql::Column>& columns);

// The formats there are.
Result<ReadFormat> read_csv_format(const sql::Table&, const FormatScope&, TableOptions&);
Result<ReadFormat> read_json_format(const sql::Table&, const FormatScope&, TableOptions&);
Result<ReadFormat> read_raw_format(const sql::Table&, const FormatScope&, TableOptions&);
Result<ReadFormat> read_binary_format(const sql::Table&, const FormatScope&, TableOptions&);
Result<ReadFormat> read_avro_format(const sql::Table&, const FormatScope&, TableOptions&);
Result<ReadFormat> read_parquet_format(const sql::Table&, const FormatScope&, TableOptions&);
using ColumnList = std::vector<sql::Column>;
// Refuses ARRAY, ROW and MAP: fields of CSV have no parts.
Status check_flat(const ColumnList& columns, const FormatScope& scope, const TableOptions& options);
Result<std::unique_ptr<RowWriter>> write_csv_format(const ColumnList&, const FormatScope&,
                                                    TableOptions&);
Result<std::unique_ptr<RowWriter>> write_json_format(const ColumnList&, const FormatScope&,
                                                     TableOptions&);
Result<std::unique_ptr<RowWriter>> write_raw_format(const ColumnList&, const FormatScope&,
                                                    TableOptions&);
Result<std::unique_ptr<RowWriter>> write_binary_format(const ColumnList&, const FormatScope&,
                                                       TableOptions&);
Result<std::unique_ptr<RowWriter>> write_avro_format(const ColumnList&, const FormatScope&,
                                                     TableOptions&);
Result<std::unique_ptr<RowWriter>> write_parquet_format(const ColumnList&, const FormatScope&,
                                                        TableOptions&);

// "'one' is no BIGINT for column v"
std::string no_value_of(std::string_view text, const sql::Column& column);

}  // namespace holdfast::stream
