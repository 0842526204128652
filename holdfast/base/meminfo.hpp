// meminfo.hpp: what the kernel says of this machine's memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

// The line `name` of /proc/meminfo ("MemAvailable", "HugePages_Total"): in bytes where it has a
// unit, else as it is. 0 where there is no such line.
std::uint64_t meminfo(std::string_view name);

}  // namespace holdfast
