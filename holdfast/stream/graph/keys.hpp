// keys.hpp: keys of state as bytes whose order is that of their parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/plan.hpp>

namespace holdfast::stream::graph {

// Times in their order, and numbers that count up.
inline void append_ordered(std::int64_t value, std::string& key) {
  const auto bits = static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
  for (int shift = 56; shift >= 0; shift -= 8)
    key += static_cast<char>(bits >> shift);
}

inline std::int64_t take_ordered(std::string_view& key) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8 && i < key.size(); ++i)
    bits = bits << 8 | static_cast<unsigned char>(key[i]);
  key.remove_prefix(key.size() < 8 ? key.size() : 8);
  return static_cast<std::int64_t>(bits ^ (std::uint64_t{1} << 63));
}

// What the keys of a table are made of: numbers in front, at least so many bytes, numbers behind.
struct KeyForm {
  std::size_t front = 0, bytes = 0, behind = 0;

  // Whether these are a key; asked of what a store has.
  bool fits(std::string_view key) const {
    if (key.size() < 8 * front + bytes + 8 * behind) return false;
    std::string_view first = key, last = key.substr(key.size() - 8 * behind);
    for (std::size_t i = 0; i < front; ++i)
      if (!sql::is_summable(take_ordered(first))) return false;
    while (!last.empty())
      if (!sql::is_summable(take_ordered(last))) return false;
    return true;
  }
};

// A part that others follow: its length comes first, so that none is the beginning of another.
inline void append_part(std::string_view part, std::string& key) {
  const auto size = static_cast<std::uint32_t>(part.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    key += static_cast<char>(size >> shift);
  key += part;
}

// False: there is none.
inline bool take_part(std::string_view& key, std::string_view& part) {
  if (key.size() < 4) return false;
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size = size << 8 | static_cast<unsigned char>(key[i]);
  if (key.size() - 4 < size) return false;
  part = key.substr(4, size);
  key.remove_prefix(4 + size);
  return true;
}

// The values of `expressions` for `row`. `null`: one of them is NULL.
inline Status append_values(const std::vector<sql::ExpressionPointer>& expressions,
                            const sql::Row& row, std::string& key, bool& null) {
  sql::Value value;
  null = false;
  for (const auto& expression : expressions) {
    HF_RETURN_IF_ERROR(sql::evaluate(*expression, row, value));
    null = null || value.null;
    sql::append_bytes(value, expression->type, key);
  }
  return {};
}

inline std::string bytes_of(const sql::Row& row, const std::vector<sql::Column>& columns) {
  std::string bytes;
  for (std::size_t i = 0; i < columns.size(); ++i)
    sql::append_bytes(row[i], columns[i].type, bytes);
  return bytes;
}

inline bool take_row(std::string_view& bytes, const std::vector<sql::Column>& columns,
                     sql::Row& row) {
  row.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!sql::take_bytes(bytes, columns[i].type, row[i])) return false;
  }
  return true;
}

}  // namespace holdfast::stream::graph
