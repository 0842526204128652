// extreme_join.hpp: joins of rows with the MIN or MAX of their window.
//
// Most rows of such a join have no partner: once the window has seen a greater value, a row with
// `x = MAX(y)` or `x >= MAX(y)` can have none, and need be neither looked up nor kept. The join
// asks the group, which has what its window has seen, before it takes a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <holdfast/sql/plan.hpp>

namespace holdfast::stream::compile {

// What rows of one input are compared with. Columns are those of the row.
struct ExtremePartner {
  std::size_t group = 0, aggregate = 0;  // The node that has the extreme; which of its aggregates.
  std::vector<std::uint32_t> keys;       // Of the group.
  std::uint32_t value = 0;               // What is compared with the extreme.
  // For a regular join: a time in the window. For a join of windows: the window's bounds.
  std::uint32_t time = 0, start = 0, end = 0;
};

// None: rows of this input (0, 1) of the join `node` may have other partners.
std::optional<ExtremePartner> extreme_partner(const sql::Plan& plan, std::size_t node,
                                              std::size_t input);

}  // namespace holdfast::stream::compile
