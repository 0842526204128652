// operations.hpp: one operation of an expression over arrays of its operands' values.
#pragma once

#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/vector.hpp>
#include <holdfast/sql/expression.hpp>

namespace holdfast::olap::mart {

// Any but columns, literals, AND, OR and CASE. The common ones in loops over arrays, all others
// value by value through sql::evaluate(). Errors: kInvalidOption.
Status run_operation(const sql::Expression& expression, const std::vector<Vector>& arguments,
                     std::size_t size, Vector& out);

}  // namespace holdfast::olap::mart
