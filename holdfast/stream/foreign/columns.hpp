// columns.hpp: columns of values as Arrow lays them out, between this process and that of Python.
//
// Format  A node is three numbers of 8 bytes (its values; at which bit and value these begin, below
//         8; by what its numbers are divided), and then pieces of bytes, each behind 8 bytes of
//         length. First a bit per value: it is not NULL; no bits: none is. Then of BOOLEAN a bit
//         per value; of whole numbers, dates (days) and timestamps 8 bytes; of FLOAT and DOUBLE a
//         double; of DECIMAL 16 bytes; of STRING 4-byte bounds of each text, one more than values,
//         and the texts; of ARRAY and MAP such bounds and nodes of elements, or of keys and values;
//         of ROW the nodes of its fields. Bounds count from the first one on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/sql/type.hpp>
#include <holdfast/sql/value.hpp>
#include <holdfast/stream/bytes.hpp>

namespace holdfast::stream::foreign {

class ColumnReader {
 public:
  // Takes a node, which stays where it is. False: the bytes are none.
  bool take(ByteReader& bytes, const sql::Type& type);
  std::uint64_t count() const { return count_; }
  // False: the value is none of the type. It is NULL then.
  bool read(std::uint64_t number, sql::Value& value) const;

 private:
  bool bit(std::string_view bits, std::uint64_t number) const;
  // Of a text, an array or a map. False: they are none.
  bool bounds(std::uint64_t number, std::uint64_t& begin, std::uint64_t& end) const;
  bool parts(std::uint64_t begin, std::uint64_t end, sql::Value& value) const;
  bool whole(std::uint64_t number, sql::Value& value) const;
  bool plain(std::uint64_t number, sql::Value& value) const;

  sql::Type type_;
  std::uint64_t count_ = 0, offset_ = 0;
  std::int64_t divisor_ = 1;
  std::string_view valid_, bounds_, data_;
  std::vector<ColumnReader> parts_;
};

class ColumnWriter {
 public:
  explicit ColumnWriter(const sql::Type& type);
  void add(const sql::Value& value);
  // Appends the node, and begins anew.
  void end(std::string& bytes);

 private:
  static void add_bit(std::uint64_t number, bool set, std::string& bits);
  void add_bound(std::uint64_t bound);
  void add_parts(const sql::Value& value);

  sql::Type type_;
  std::uint64_t count_ = 0, elements_ = 0;
  std::string valid_, bounds_, data_;
  std::vector<ColumnWriter> parts_;
};

}  // namespace holdfast::stream::foreign
