// runtime_headers.hpp: the headers of compiled queries, as texts in the command (cmake/Embed.cmake
// writes them).
#pragma once

#include <array>
#include <string_view>

namespace holdfast::stream::compile {

extern const std::string_view kAggregatesHeader, kBytesHeader, kGroupsHeader, kInterfaceHeader,
    kOrderHeader, kRowsHeader, kTableHeader, kValuesHeader;

struct RuntimeHeader {
  std::string_view name;
  const std::string_view& text;
};

inline constexpr std::array<RuntimeHeader, 8> kRuntimeHeaders = {{
    {"aggregates.hpp", kAggregatesHeader},
    {"bytes.hpp", kBytesHeader},
    {"groups.hpp", kGroupsHeader},
    {"interface.hpp", kInterfaceHeader},
    {"order.hpp", kOrderHeader},
    {"rows.hpp", kRowsHeader},
    {"table.hpp", kTableHeader},
    {"values.hpp", kValuesHeader},
}};

}  // namespace holdfast::stream::compile
