// Any bytes as a record of the format json, of a table with arrays, rows and maps: read, or malformed.
// What was read is written, and reads back as the same row.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/format.hpp>

namespace {

using namespace holdfast;

constexpr const char* kTable =
    "CREATE TABLE t (k STRING, n BIGINT, v ARRAY<BIGINT>, s ARRAY<STRING>,"
    " r ROW<f INT, g STRING, h ARRAY<ROW<z DECIMAL(5, 2), d DOUBLE, b BOOLEAN>>>,"
    " m MAP<STRING, INT>, o MAP<INT, ARRAY<TIMESTAMP(3)>>, a ARRAY<ARRAY<DATE>>)"
    " WITH ('connector' = 'none', 'format' = 'json')";

struct Formats {
  sql::Catalog catalog;
  const sql::Table* table = nullptr;
  stream::ReadFormat reads;
  stream::WriteFormat writes;

  Formats() {
    const auto statements = sql::parse(kTable).value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
    table = catalog.find("t", {}).value();
    const auto scope = stream::all_physical(*table, stream::Carrier::kMessage);
    stream::TableOptions options(*table);
    reads = stream::read_format_of(*table, scope, options).value();
    stream::TableOptions again(*table);
    writes = stream::write_format_of(table->columns, scope, again).value();
  }
};

std::string bytes_of(const sql::Row& row, const sql::Table& table) {
  std::string bytes;
  for (std::size_t i = 0; i < row.size(); ++i)
    sql::append_bytes(row[i], table.columns[i].type, bytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Formats formats;
  const auto& table = *formats.table;
  sql::Row row(table.columns.size());
  std::string wrong;
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  if (!formats.reads.reader->read(record, row, wrong)) {
    if (wrong.empty()) std::abort();
    return 0;
  }
  const auto bytes = bytes_of(row, table);
  std::string_view rest = bytes;
  for (const auto& column : table.columns) {
    sql::Value value;
    if (!sql::take_bytes(rest, column.type, value)) std::abort();
  }
  std::string written;
  if (!formats.writes.writer->append(row, written)) std::abort();
  sql::Row again(row.size());
  if (!formats.reads.reader->read(written, again, wrong) || !wrong.empty()) std::abort();
  if (bytes_of(again, table) != bytes) std::abort();
  return 0;
}
