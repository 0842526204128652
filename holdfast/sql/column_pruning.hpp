// column_pruning.hpp: columns that nobody reads go before the operators that keep rows.
//
// Joins, rankings, sessions and OVER hold rows, in memory and in checkpoints: a projection below
// each drops what neither it nor what stands above it reads. The rows that come out, and how often
// each does, stay what they were.
#pragma once

#include <vector>

#include <holdfast/sql/plan.hpp>

namespace holdfast::sql {

Plan without_unread_columns(Plan plan);
// By node and column: whether a node reads it.
std::vector<std::vector<bool>> read_columns(const Plan& plan);

}  // namespace holdfast::sql
