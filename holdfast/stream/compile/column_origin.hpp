// column_origin.hpp: where the columns of a plan's node come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <holdfast/sql/plan.hpp>

namespace holdfast::stream::compile {

struct ColumnPlace {
  std::size_t node;
  std::uint32_t column;
};

// The first node that has the column as it is, behind projections and filters.
ColumnPlace origin_of(const sql::Plan& plan, ColumnPlace place);

// A regular join, and the side (0, 1) whose columns are all keys of a group behind it.
struct GroupedJoin {
  std::size_t join, side;
};
// Of the node of a group that changes with each row. None: its keys are of both sides, or computed;
// or something else stands between.
std::optional<GroupedJoin> grouped_join(const sql::Plan& plan, std::size_t group);

}  // namespace holdfast::stream::compile
