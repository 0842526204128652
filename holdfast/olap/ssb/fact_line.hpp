// fact_line.hpp: a line of lineorder.tbl as a row of all its fields, and back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/olap/rows/key_set.hpp>
#include <holdfast/olap/rows/row_format.hpp>

namespace holdfast::olap::ssb {

inline constexpr std::size_t kFactFields = 17;
// The fields that are keys of the dimensions, in their order.
struct KeyField {
  std::uint8_t field;
  std::string_view name;
};
inline constexpr std::array<KeyField, kDimensions> kKeyFields{
    {{5, "lo_orderdate"}, {2, "lo_custkey"}, {4, "lo_suppkey"}, {3, "lo_partkey"}}};

// `fields` are the line's. What is wrong with it, or nothing; `keys` are those of the dimensions.
std::string parse_fact(const std::vector<std::string_view>& fields, const std::vector<KeySet>& keys,
                       FactRow& row);
// The line with its newline. Numbers have no zeros in front.
void append_line(const FactRow& row, std::string& text);

}  // namespace holdfast::olap::ssb
