// runtime_headers.hpp: the headers of compiled queries, as texts in the command (cmake/Embed.cmake
// writes them).
#pragma once

#include <array>
#include <string_view>

namespace holdfast::stream::compile {

extern const std::string_view kAggregatesHeader, kBagHeader, kBytesHeader, kChangesHeader,
    kGraphHeader, kGraphGroupsHeader, kGraphJoinsHeader, kGraphRanksHeader, kGroupsHeader,
    kInterfaceHeader, kOrderHeader, kOutputHeader, kPoolHeader, kRowsHeader, kSlicesHeader,
    kTableHeader, kValuesHeader;

struct RuntimeHeader {
  std::string_view name;
  const std::string_view& text;
};

inline constexpr std::array<RuntimeHeader, 17> kRuntimeHeaders = {{
    {"aggregates.hpp", kAggregatesHeader},
    {"bag.hpp", kBagHeader},
    {"bytes.hpp", kBytesHeader},
    {"changes.hpp", kChangesHeader},
    {"graph.hpp", kGraphHeader},
    {"graph_groups.hpp", kGraphGroupsHeader},
    {"graph_joins.hpp", kGraphJoinsHeader},
    {"graph_ranks.hpp", kGraphRanksHeader},
    {"groups.hpp", kGroupsHeader},
    {"interface.hpp", kInterfaceHeader},
    {"order.hpp", kOrderHeader},
    {"output.hpp", kOutputHeader},
    {"pool.hpp", kPoolHeader},
    {"rows.hpp", kRowsHeader},
    {"slices.hpp", kSlicesHeader},
    {"table.hpp", kTableHeader},
    {"values.hpp", kValuesHeader},
}};

}  // namespace holdfast::stream::compile
