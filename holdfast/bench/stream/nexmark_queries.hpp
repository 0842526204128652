// nexmark_queries.hpp: workloads/stream/nexmark, in the command (cmake/Embed.cmake writes it).
#pragma once

#include <string_view>

namespace holdfast::bench::stream {

extern const std::string_view kNexmarkTables, kNexmarkQ0, kNexmarkQ1, kNexmarkQ2, kNexmarkQ3,
    kNexmarkQ4, kNexmarkQ5, kNexmarkQ6, kNexmarkQ7, kNexmarkQ8, kNexmarkQ9, kNexmarkQ10,
    kNexmarkQ11, kNexmarkQ12, kNexmarkQ13, kNexmarkQ14, kNexmarkQ15, kNexmarkQ16, kNexmarkQ17,
    kNexmarkQ18, kNexmarkQ19, kNexmarkQ20, kNexmarkQ21, kNexmarkQ22;

}  // namespace holdfast::bench::stream
