// runtime_headers.hpp: the headers of compiled queries, as texts in the command (cmake/Embed.cmake
// writes them).
#pragma once

#include <array>
#include <string_view>

namespace holdfast::stream::compile {

extern const std::string_view kAggregatesHeader, kBagHeader, kBlocksHeader, kBytesHeader,
    kChangesHeader, kClockRowsHeader, kFurtherAggregatesHeader, kGraphHeader, kGraphGroupsHeader,
    kGraphRanksHeader, kJoinRulesHeader, kGroupsHeader, kInterfaceHeader, kIntervalJoinHeader,
    kLargePagesHeader, kMarkHeader, kOrderHeader, kOutputHeader, kOverRowsHeader, kPoolHeader,
    kRegularJoinHeader, kRowsHeader, kSessionRowsHeader, kSliceTableHeader, kSlicesHeader,
    kSortRowsHeader, kSortedRunsHeader, kStoredEntriesHeader, kTableHeader, kTemporalJoinHeader,
    kValuePartsHeader, kValuesHeader, kWindowJoinHeader;

struct RuntimeHeader {
  std::string_view name;
  const std::string_view& text;
};

inline constexpr std::array<RuntimeHeader, 33> kRuntimeHeaders = {{
    {"aggregates.hpp", kAggregatesHeader},
    {"bag.hpp", kBagHeader},
    {"blocks.hpp", kBlocksHeader},
    {"bytes.hpp", kBytesHeader},
    {"changes.hpp", kChangesHeader},
    {"clock_rows.hpp", kClockRowsHeader},
    {"further_aggregates.hpp", kFurtherAggregatesHeader},
    {"graph.hpp", kGraphHeader},
    {"graph_groups.hpp", kGraphGroupsHeader},
    {"graph_ranks.hpp", kGraphRanksHeader},
    {"groups.hpp", kGroupsHeader},
    {"interface.hpp", kInterfaceHeader},
    {"interval_join.hpp", kIntervalJoinHeader},
    {"join_rules.hpp", kJoinRulesHeader},
    {"large_pages.hpp", kLargePagesHeader},
    {"mark.hpp", kMarkHeader},
    {"order.hpp", kOrderHeader},
    {"output.hpp", kOutputHeader},
    {"over_rows.hpp", kOverRowsHeader},
    {"pool.hpp", kPoolHeader},
    {"regular_join.hpp", kRegularJoinHeader},
    {"rows.hpp", kRowsHeader},
    {"session_rows.hpp", kSessionRowsHeader},
    {"slice_table.hpp", kSliceTableHeader},
    {"slices.hpp", kSlicesHeader},
    {"sort_rows.hpp", kSortRowsHeader},
    {"sorted_runs.hpp", kSortedRunsHeader},
    {"stored_entries.hpp", kStoredEntriesHeader},
    {"table.hpp", kTableHeader},
    {"temporal_join.hpp", kTemporalJoinHeader},
    {"value_parts.hpp", kValuePartsHeader},
    {"values.hpp", kValuesHeader},
    {"window_join.hpp", kWindowJoinHeader},
}};

}  // namespace holdfast::stream::compile
