// row_order.hpp: the order that ORDER BY gives to rows.
#pragma once

#include <span>
#include <vector>

#include <holdfast/olap/mart/star_plan.hpp>

namespace holdfast::olap::mart {

// Compares two rows by the values of the order's keys: below 0, 0 or above 0, as the first row
// comes before the second, beside it or behind it.
int compare_rows(const std::vector<StarPlan::Key>& order, std::span<const sql::Value> a,
                 std::span<const sql::Value> b);

}  // namespace holdfast::olap::mart
