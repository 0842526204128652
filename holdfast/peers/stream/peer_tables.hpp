// peer_tables.hpp: events as files of columns, which other engines load.
//
//   TABLE.COLUMN        of a number or a time: 8 bytes for each row; of a text: its bytes, rows one
//                       behind the other
//   TABLE.COLUMN.ends   of a text: 0, then where each row's bytes end, 8 bytes each
//
// Numbers are little-endian. The events have no NULL.
//
// Threads  One at a time.   Errors  kIo.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>

namespace holdfast::bench::stream {

// A new directory, which is removed with all it holds.
class PeerTables {
 public:
  // Below `parent`; empty: below that of temporary files.
  static Result<std::unique_ptr<PeerTables>> make(const std::string& parent = {});
  ~PeerTables();
  PeerTables(const PeerTables&) = delete;
  PeerTables& operator=(const PeerTables&) = delete;

  // The columns of `table` that are not computed, from records in its layout. Each is 8 bytes wide
  // or a text.
  Status write(const sql::Table& table, std::span<const std::byte> records) const;
  void remove(const sql::Table& table) const;
  const std::string& path() const { return path_; }
  // A file for an answer.
  std::string answer_path() const { return path_ + "/answer"; }

 private:
  explicit PeerTables(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace holdfast::bench::stream
