// batch.hpp: rows that the process of Python has read: its answer D (serve.py).
//
// The answer is input. Whatever it holds, rows are of their types, or malformed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/sql/catalog.hpp>
#include <holdfast/stream/foreign/columns.hpp>

namespace holdfast::stream::foreign {

class Batch {
 public:
  // Of a table, which outlives it, the columns that are chosen.
  Batch(const sql::Table& table, std::vector<std::size_t> chosen)
      : table_(table), chosen_(std::move(chosen)), columns_(chosen_.size()) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Where the answer goes before take().
  std::string& answer() { return answer_; }
  // False: it is no batch. There are no rows then.
  bool take();
  void clear() { rows_ = 0; }

  std::uint64_t rows() const { return rows_; }
  // Of a file: where its rows begin, as a number and for people.
  std::uint64_t block() const { return block_; }
  std::string_view place() const { return place_; }

  // Fills the chosen columns. `wrong` is empty, or says what is malformed: with true, what could
  // not be read is NULL; with false, there is no row.
  bool read(std::uint64_t number, sql::Row& row, std::string& wrong) const;

 private:
  bool take_errors(ByteReader& bytes);

  const sql::Table& table_;
  std::vector<std::size_t> chosen_;
  std::string answer_;
  std::vector<ColumnReader> columns_;
  std::vector<std::pair<std::uint64_t, std::string_view>> errors_;  // By their rows.
  std::uint64_t rows_ = 0, block_ = 0;
  std::string_view place_;
};

}  // namespace holdfast::stream::foreign
