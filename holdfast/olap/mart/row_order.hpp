// row_order.hpp: the order that ORDER BY gives to rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/olap/mart/star_plan.hpp>
#include <holdfast/olap/mart/vector.hpp>

namespace holdfast::olap::mart {

// Compares two rows by the values of the order's keys: below 0, 0 or above 0, as the first row
// comes before the second, beside it or behind it.
int compare_rows(const std::vector<StarPlan::Key>& order, std::span<const sql::Value> a,
                 std::span<const sql::Value> b);

// The numbers of the first `wanted` of `count` rows in their order; those that are equal in it, by
// their numbers. `keys` has the values of each key of the order, by row.
std::vector<std::uint32_t> first_in_order(const std::vector<StarPlan::Key>& order,
                                          const std::vector<Vector>& keys, std::size_t count,
                                          std::uint64_t wanted);

}  // namespace holdfast::olap::mart
