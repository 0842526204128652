// query_source.hpp: the C++ source of a plan: one function object over the runtime headers, in
// which conditions, windows, aggregates and projections are fused.
#pragma once

#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/expression_source.hpp>
#include <holdfast/stream/record.hpp>

namespace holdfast::stream::compile {

// The run that a source is for. What such a run has no use for is not in the code: a compiler takes
// nearly half of its time for it.
struct RunShape {
  bool stored = true;   // There is a state store: checkpoints are written and read back.
  bool forgets = true;  // State ends that no row has changed for long.
};

struct QuerySource {
  std::string text;
  RunShape shape;
  QueryParts parts;                   // Points into the plan.
  std::vector<RecordLayout> layouts;  // Of the tables, in the order of their scans.
  RecordLayout result;                // Of the rows for the sink.
  bool graph = false;                 // It is a Graph, else a Query (runtime/interface.hpp).
};

// The same plan and shape give the same source. Errors: kUnsupported, what of the plan has no
// compiled form: the interpreter does it.
Result<QuerySource> query_source(const sql::Plan& plan, const RunShape& shape = {});

}  // namespace holdfast::stream::compile
