// group_by_parser.hpp: what stands behind GROUP BY: keys, GROUPING SETS, ROLLUP and CUBE.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/sql/syntax.hpp>
#include <holdfast/sql/token_reader.hpp>

namespace holdfast::sql {

// Fills `group_by` and `grouping_sets` of `select`.
Status parse_group_by(TokenReader& tokens, syntax::Select& select);

}  // namespace holdfast::sql
