// runtime_headers.hpp: the headers of compiled queries, as texts in the command (cmake/Embed.cmake
// writes them). Those of sql are what the interpreter has, too.
#pragma once

#include <array>
#include <string_view>

namespace holdfast::stream::compile {

extern const std::string_view kAggregatesHeader, kApartHeader, kBagHeader, kBlocksHeader,
    kBytesHeader, kChangesHeader, kCivilHeader, kClockRowsHeader, kCorrectedGroupsHeader,
    kDelayedChangesHeader, kDueRowsHeader, kEarliestRowHeader, kFurtherAggregatesHeader,
    kGraphGroupsHeader, kGraphHeader, kGraphRanksHeader, kGroupWindowsHeader, kGroupsHeader,
    kInterfaceHeader, kIntervalJoinHeader, kJoinRulesHeader, kLargePagesHeader, kLeastRowsHeader,
    kLetterCasesHeader, kMarkHeader, kOrderHeader, kOutputHeader, kOverFramesHeader,
    kOverRowsHeader, kPoolHeader, kRankedRowsHeader, kRegularJoinHeader, kRowWindowsHeader,
    kRowsHeader, kSessionRowsHeader, kSeveralHeader, kSliceTableHeader, kSlicesHeader,
    kSortRowsHeader, kSortedRunsHeader, kStateOfHeader, kStoredEntriesHeader, kTableHeader,
    kTemporalJoinHeader, kTextArenaHeader, kTextPartsHeader, kTextsHeader, kTimeSlicesHeader,
    kUserFunctionsHeader, kValuePartsHeader, kValuesHeader, kWindowJoinHeader, kWindowMapHeader;

struct RuntimeHeader {
  std::string_view path;
  const std::string_view& text;
};

inline constexpr std::array<RuntimeHeader, 53> kRuntimeHeaders = {{
    {"holdfast/sql/civil.hpp", kCivilHeader},
    {"holdfast/sql/letter_cases.hpp", kLetterCasesHeader},
    {"holdfast/sql/text_parts.hpp", kTextPartsHeader},
    {"holdfast/stream/compile/runtime/aggregates.hpp", kAggregatesHeader},
    {"holdfast/stream/compile/runtime/apart.hpp", kApartHeader},
    {"holdfast/stream/compile/runtime/bag.hpp", kBagHeader},
    {"holdfast/stream/compile/runtime/blocks.hpp", kBlocksHeader},
    {"holdfast/stream/compile/runtime/bytes.hpp", kBytesHeader},
    {"holdfast/stream/compile/runtime/changes.hpp", kChangesHeader},
    {"holdfast/stream/compile/runtime/clock_rows.hpp", kClockRowsHeader},
    {"holdfast/stream/compile/runtime/corrected_groups.hpp", kCorrectedGroupsHeader},
    {"holdfast/stream/compile/runtime/delayed_changes.hpp", kDelayedChangesHeader},
    {"holdfast/stream/compile/runtime/due_rows.hpp", kDueRowsHeader},
    {"holdfast/stream/compile/runtime/earliest_row.hpp", kEarliestRowHeader},
    {"holdfast/stream/compile/runtime/further_aggregates.hpp", kFurtherAggregatesHeader},
    {"holdfast/stream/compile/runtime/graph.hpp", kGraphHeader},
    {"holdfast/stream/compile/runtime/graph_groups.hpp", kGraphGroupsHeader},
    {"holdfast/stream/compile/runtime/graph_ranks.hpp", kGraphRanksHeader},
    {"holdfast/stream/compile/runtime/group_windows.hpp", kGroupWindowsHeader},
    {"holdfast/stream/compile/runtime/groups.hpp", kGroupsHeader},
    {"holdfast/stream/compile/runtime/interface.hpp", kInterfaceHeader},
    {"holdfast/stream/compile/runtime/interval_join.hpp", kIntervalJoinHeader},
    {"holdfast/stream/compile/runtime/join_rules.hpp", kJoinRulesHeader},
    {"holdfast/stream/compile/runtime/large_pages.hpp", kLargePagesHeader},
    {"holdfast/stream/compile/runtime/least_rows.hpp", kLeastRowsHeader},
    {"holdfast/stream/compile/runtime/mark.hpp", kMarkHeader},
    {"holdfast/stream/compile/runtime/order.hpp", kOrderHeader},
    {"holdfast/stream/compile/runtime/output.hpp", kOutputHeader},
    {"holdfast/stream/compile/runtime/over_frames.hpp", kOverFramesHeader},
    {"holdfast/stream/compile/runtime/over_rows.hpp", kOverRowsHeader},
    {"holdfast/stream/compile/runtime/pool.hpp", kPoolHeader},
    {"holdfast/stream/compile/runtime/ranked_rows.hpp", kRankedRowsHeader},
    {"holdfast/stream/compile/runtime/regular_join.hpp", kRegularJoinHeader},
    {"holdfast/stream/compile/runtime/row_windows.hpp", kRowWindowsHeader},
    {"holdfast/stream/compile/runtime/rows.hpp", kRowsHeader},
    {"holdfast/stream/compile/runtime/session_rows.hpp", kSessionRowsHeader},
    {"holdfast/stream/compile/runtime/several.hpp", kSeveralHeader},
    {"holdfast/stream/compile/runtime/slice_table.hpp", kSliceTableHeader},
    {"holdfast/stream/compile/runtime/slices.hpp", kSlicesHeader},
    {"holdfast/stream/compile/runtime/sort_rows.hpp", kSortRowsHeader},
    {"holdfast/stream/compile/runtime/sorted_runs.hpp", kSortedRunsHeader},
    {"holdfast/stream/compile/runtime/state_of.hpp", kStateOfHeader},
    {"holdfast/stream/compile/runtime/stored_entries.hpp", kStoredEntriesHeader},
    {"holdfast/stream/compile/runtime/table.hpp", kTableHeader},
    {"holdfast/stream/compile/runtime/temporal_join.hpp", kTemporalJoinHeader},
    {"holdfast/stream/compile/runtime/text_arena.hpp", kTextArenaHeader},
    {"holdfast/stream/compile/runtime/texts.hpp", kTextsHeader},
    {"holdfast/stream/compile/runtime/time_slices.hpp", kTimeSlicesHeader},
    {"holdfast/stream/compile/runtime/user_functions.hpp", kUserFunctionsHeader},
    {"holdfast/stream/compile/runtime/value_parts.hpp", kValuePartsHeader},
    {"holdfast/stream/compile/runtime/values.hpp", kValuesHeader},
    {"holdfast/stream/compile/runtime/window_join.hpp", kWindowJoinHeader},
    {"holdfast/stream/compile/runtime/window_map.hpp", kWindowMapHeader},
}};

}  // namespace holdfast::stream::compile
