// source.hpp: where rows come from.
//
// Rows are asked for one by one, so a source never has more of them in memory than it chose to read
// ahead. What carries the bytes holds back the sender: a file waits, a socket's window fills, a
// consumer stops fetching.
//
// A source of several splits (files, partitions) has one position for all of them. Wherever event
// time matters, the order of its rows depends on the rows alone: docs/connectors.md.
//
// Threads  One at a time.
// Errors   kIo, kCorrupt (a malformed row, named), kInvalidOption (options of the table, with line
//          and column).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::stream {

class Source {
 public:
  virtual ~Source() = default;
  // Fills the columns that are not computed; `row` has the table's width. False: there are no more,
  // or none for now: ended() says which. Waits 100 ms at most.
  virtual Result<bool> next(sql::Row& row) = 0;
  // After a next() that gave no row: whether there will be none any more.
  virtual bool ended() const { return true; }
  // The place between two rows. A source of the same table that seeks it gives the rows behind it.
  virtual std::string position() const = 0;
  virtual Status seek(std::string_view position) = 0;
  // The checkpoint with the last position() is complete.
  virtual Status checkpointed() { return {}; }
  // For people: "byte 4711, row 12".
  virtual std::string place() const = 0;
  // How many rows were skipped, or had a field set to NULL, since they were malformed.
  virtual std::uint64_t malformed() const { return 0; }
  // What was wrong with some of them: "record 12: 'one' is no BIGINT for column v".
  virtual std::vector<std::string> malformed_samples() const { return {}; }
};

// Opens the source that the option 'connector' names. `table` outlives the source. `split`: one of
// splits_of(), to read it alone; empty: all. Errors: kUnsupported: the connector has no splits.
Result<std::unique_ptr<Source>> open_source(const sql::Table& table, std::string_view split = {});
// Parts of the table's rows that can be read each alone: "orders-3", a partition.
Result<std::vector<std::string>> splits_of(const sql::Table& table);

}  // namespace holdfast::stream
