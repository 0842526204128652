// fact_line.hpp: a line of lineorder.tbl as a row of all its fields, and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/olap/rows/key_set.hpp>
#include <holdfast/olap/rows/row_format.hpp>

namespace holdfast::olap::ssb {

inline constexpr std::size_t kFactFields = 17;

// `fields` are the line's. What is wrong with it, or nothing; `keys` are those of the dimensions.
std::string parse_fact(const std::vector<std::string_view>& fields, const std::vector<KeySet>& keys,
                       FactRow& row);
// The line with its newline. Numbers have no zeros in front.
void append_line(const FactRow& row, std::string& text);

}  // namespace holdfast::olap::ssb
