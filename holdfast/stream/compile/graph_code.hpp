// graph_code.hpp: the C++ source of a plan that is more than a chain: one class over
// runtime/graph.hpp. Operators without a state are fused into those before them.
#pragma once

#include <holdfast/stream/compile/query_source.hpp>

namespace holdfast::stream::compile {

// As query_source(). Errors: kUnsupported, what of the plan has no compiled form.
Result<QuerySource> graph_code(const sql::Plan& plan, const RunShape& shape);

}  // namespace holdfast::stream::compile
