// node_source.hpp: one operator of a graph as C++ over runtime/graph.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/expression_source.hpp>
#include <holdfast/stream/compile/query_source.hpp>

namespace holdfast::stream::compile {

// Rows are called RowN, N the number of the node that they come from; what goes out of this one is
// given to fromN(change, row).
struct NodeSource {
  std::string definition;                      // A struct NodeN, if it has a state.
  std::string member;                          // "RegularJoin<NodeN>"; empty: it has none.
  std::vector<std::vector<std::string>> take;  // Statements that take `row`, by input.
  bool passes = false;                         // It does something when time goes on.
  bool follows_clock = false;                  // Its watermark is the clock's; it has no state.
  bool ticks = false;                          // It looks at the clock, also where no row comes.
  bool walls = false;                          // Its watermark is one of the wall clock.
  bool slices = false;                         // Its state is merged by slices.
  bool fetches = false;                        // Its entries by groups, where memory has not all.
  bool counts_times = false;                   // It drops rows without a time itself.
  bool texts_move = false;                     // Those of a row, once it has been given.
  std::int64_t held_back_ms = 0;               // So much older than the watermark rows may go out.
};

// Errors: kUnsupported.
Result<NodeSource> node_source(const sql::Plan& plan, std::size_t node, const RunShape& shape,
                               QueryParts& parts);

}  // namespace holdfast::stream::compile
