// Any bytes as an answer of the process of Python (stream/foreign), of a table with columns of every
// type: rows, malformed rows, or no batch. What was read is written as columns, and reads back as
// the same rows.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/foreign/batch.hpp>

namespace {

using namespace holdfast;
using stream::foreign::Batch;
using stream::foreign::ColumnWriter;

// Two tables: bytes that are wrong early leave the later columns unread.
constexpr const char* kTables[] = {
    "CREATE TABLE t (i INT, n BIGINT, s STRING, b BOOLEAN, f FLOAT, d DOUBLE, m DECIMAL(20, 4),"
    " at_ TIMESTAMP(3), day_ DATE, v ARRAY<INT>,"
    " r ROW<a INT, w ARRAY<ROW<x STRING, y BIGINT>>>, p MAP<STRING, DOUBLE>)"
    " WITH ('connector' = 'none')",
    "CREATE TABLE t (p MAP<VARCHAR(3), ARRAY<BOOLEAN>>) WITH ('connector' = 'none')"};

struct Case {
  sql::Catalog catalog;
  const sql::Table* table = nullptr;
  std::vector<std::size_t> columns;

  explicit Case(const char* text) {
    const auto statements = sql::parse(text).value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
    table = catalog.find("t", {}).value();
    for (std::size_t i = 0; i < table->columns.size(); ++i)
      columns.push_back(i);
  }
};

// The row's bytes, of which each must be a value of its column.
std::string bytes_of(const sql::Row& row, const sql::Table& table) {
  std::string bytes;
  for (std::size_t i = 0; i < row.size(); ++i)
    sql::append_bytes(row[i], table.columns[i].type, bytes);
  std::string_view rest = bytes;
  for (const auto& column : table.columns) {
    sql::Value value;
    if (!sql::take_bytes(rest, column.type, value)) std::abort();
  }
  return bytes;
}

void read(const Case& one, std::string_view bytes) {
  Batch batch(*one.table, one.columns);
  batch.answer() = bytes;
  if (!batch.take()) {
    if (batch.rows() != 0) std::abort();
    return;
  }
  std::vector<ColumnWriter> writers;
  for (const auto& column : one.table->columns)
    writers.emplace_back(column.type);
  sql::Row row(one.columns.size());
  std::string wrong;
  std::vector<std::string> rows;
  // A list may name the same elements for each row: so few of them, however many there are.
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(batch.rows(), 32); ++i) {
    const bool made = batch.read(i, row, wrong);
    if (!made && wrong.empty()) std::abort();
    if (!made) continue;
    rows.push_back(bytes_of(row, *one.table));
    for (std::size_t column = 0; column < row.size(); ++column)
      writers[column].add(row[column]);
  }
  stream::ByteWriter head;
  head.number(7);
  head.text("here");
  head.number(0);
  head.number(rows.size());
  Batch again(*one.table, one.columns);
  again.answer() = head.take();
  for (auto& writer : writers)
    writer.end(again.answer());
  if (!again.take() || again.rows() != rows.size() || again.block() != 7) std::abort();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!again.read(i, row, wrong) || !wrong.empty()) std::abort();
    if (bytes_of(row, *one.table) != rows[i]) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Case cases[] = {Case(kTables[0]), Case(kTables[1])};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto& one : cases)
    read(one, bytes);
  return 0;
}
