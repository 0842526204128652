// grouping_sets.hpp: the keys of GROUP BY, and GROUPING SETS, ROLLUP and CUBE of them: each row is
// in one group of each set. It goes to the group once per set, with the number of the set as a key.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan_graph.hpp>
#include <holdfast/sql/scope.hpp>

namespace holdfast::sql {

inline constexpr std::uint32_t kNoWindowColumn = ~std::uint32_t{0};

using GroupingSets = std::vector<std::vector<bool>>;  // Which keys each has.

struct GroupKeys {
  std::vector<ExpressionPointer> all;
  std::uint32_t start = kNoWindowColumn,
                end = kNoWindowColumn;  // Columns of the window among them.
  bool computes_window = false;         // An expression of the window is a key.
  GroupingSets sets;                    // Empty: one, of all.
};

// GROUP BY 1 is refused: to some engines it is the first column, to Flink one group of all rows.
Error group_by_number(Position at);
// GROUP BY TUMBLE(…) and its like.
bool is_group_window(const syntax::Expression& e);
// TUMBLE_ROWS(…) or HOP_ROWS(…) of GROUP BY (ours).
bool is_row_window(const syntax::Expression& e);
// Its size and slide, into `group`.
Status bind_row_window(const syntax::Expression& call, Group& group);

// The keys of a SELECT that has grouping sets. Each set says what the window is; other keys are in
// some sets. `first_window_column`: of the three columns of a window that is not assigned yet;
// `group_window`: TUMBLE, HOP or SESSION of GROUP BY; empty: there is none.
Result<GroupKeys> bind_grouping_sets(const syntax::Select& select, const Scope& scope,
                                     std::uint32_t first_window_column,
                                     std::string_view group_window);

// The last key of a group that has sets.
ExpressionPointer number_of_set(Position at);

// Rows of `node`, each once for each set, with the keys and the number of the set behind them. The
// keys of `group` read these then.
Result<NodeId> expanded(PlanGraph& graph, NodeId node, const GroupingSets& sets, Group& group);

// GROUPING(key, …) or GROUPING_ID, bound: its keys are those of rows before they are grouped.
Result<ExpressionPointer> bind_grouping(const syntax::Expression& e, const Scope& scope);
// GROUPING(key, …) of the group's row: CASE by the number of its set.
Result<ExpressionPointer> grouping_of(const Expression& call, const Group& group,
                                      const GroupingSets& sets);
// The first such call in `e`; null: there is none.
const Expression* grouping_in(const Expression& e);

}  // namespace holdfast::sql
