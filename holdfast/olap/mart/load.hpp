// load.hpp: rows of text into a star: a load of all tables, or more rows of those that are there.
//
//   load     all dimensions, whole, then the fact. It replaces what the star had. The rows of a
//            dimension get the order of its schema, so that a condition on these columns is a range
//            of rows.
//   append   any of the tables, dimensions first. New rows come behind those that are there.
//
// NULL     Any value may be NULL but the key of a dimension. A NULL in a key of the fact is the key
//          of no row: an inner join drops it, a left join gives NULLs.
// Keys     A key that is there twice is a bad line. So is a key of the fact that no row of the
//          dimension has, unless UnknownKeys::kNull: then it becomes NULL, and is counted.
// Memory   A dimension as a whole, the texts of all dictionaries, and a block of the fact.
// Errors   kCorrupt: bad lines, with file, line, column and value of the first ten, and how many
//          there are. kInvalidOption: the header has not the columns. Nothing was changed then.
// Threads  One.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/olap/mart/csv_reader.hpp>
#include <holdfast/olap/mart/mart_store.hpp>

namespace holdfast::olap::mart {

enum class UnknownKeys : std::uint8_t { kRefuse, kNull };

struct LoadReport {
  std::vector<std::uint64_t> rows;  // By table, of this load.
  std::uint64_t unknown_keys = 0;   // That became NULL.
};

class Load {
 public:
  // All anew. Errors: those of Schema::validate().
  static Result<Load> replace(MartStore& store, Schema schema, UnknownKeys unknown);
  // More of what is there. Errors: kNotFound (nothing is loaded), kCorrupt.
  static Result<Load> append(MartStore& store, UnknownKeys unknown);
  Load(Load&&) noexcept;
  ~Load();

  const Schema& schema() const;
  // All records of one table; a fact's after its dimensions'. `header`: the first one names the
  // columns, of which the table has all. Else the columns are those of the table.
  Status read(std::uint32_t table, CsvReader& reader, bool header);
  // Durable on return.
  Result<LoadReport> finish(const std::string& source);

  struct State;  // load.cpp

 private:
  explicit Load(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::olap::mart
