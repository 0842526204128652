// planner.hpp: a query as a plan.
//
// Errors  kInvalidOption, kUnsupported, with line, column and a hint.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/sql/catalog.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/sql/syntax.hpp>

namespace holdfast::sql {

// `catalog` outlives the plan. `lateness`: of the groups of windows (plan.hpp).
Result<Plan> plan_of(const syntax::QueryStatement& statement, const Catalog& catalog,
                     const Lateness& lateness = {});

}  // namespace holdfast::sql
