// schema.hpp: a star schema that a user describes: one fact table, and dimensions that its keys
// lead to.
//
// A value is a word: whole numbers, booleans, dates, timestamps and decimals as they are, doubles
// in an order-preserving form. A text is its number in the column's dictionary, counted from 1; a
// column of the fact that references a dimension holds the number of the dimension's row, counted
// from 1. Of these two kinds, which are called indexes, 0 is NULL.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/type.hpp>

namespace holdfast::olap::mart {

inline constexpr std::size_t kMaxColumns = 1000;  // Of a table.
inline constexpr std::size_t kMaxTables = 100;
inline constexpr std::uint32_t kMaxStoredDigits = 18;  // Of a decimal.
// Of BIGINT one value is not stored, so that every block has room for NULL.
inline constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() + 1;

struct Column {
  std::string name;
  sql::Type type;
  // For a column of the fact: the dimension whose key it holds, by its number in Schema::tables.
  // The column's type is that of the key. 0: none.
  std::uint32_t references = 0;

  bool operator==(const Column&) const = default;
  bool is_text() const { return references == 0 && type.kind == sql::Kind::kString; }
  bool is_index() const { return references != 0 || is_text(); }
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::uint32_t key = 0;             // Of a dimension: its key column.
  std::vector<std::uint32_t> order;  // Columns by which the first load orders the rows.

  bool operator==(const Table&) const = default;
  std::optional<std::uint32_t> find(std::string_view column) const;
};

struct Schema {
  std::vector<Table> tables;  // The fact is the first.

  bool operator==(const Schema&) const = default;
  std::optional<std::uint32_t> find(std::string_view table) const;
  // Errors: kInvalidOption, kUnsupported; naming table and column.
  Status validate() const;
};

// ---- Doubles as words of the same order ----

// NaN is above all numbers. Both zeros are one value.
inline std::int64_t word_of(double value) {
  if (value != value) value = std::numeric_limits<double>::quiet_NaN();
  const auto bits = std::bit_cast<std::int64_t>(value == 0 ? 0.0 : value);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}
inline double double_of(std::int64_t word) {
  return std::bit_cast<double>(word >= 0 ? word : std::numeric_limits<std::int64_t>::min() - word);
}

}  // namespace holdfast::olap::mart
