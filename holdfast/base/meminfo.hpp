// meminfo.hpp: what the kernel says of this machine's memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

// The line `name` of /proc/meminfo ("MemAvailable", "HugePages_Total"): in bytes where it has a
// unit, else as it is. 0 where there is no such line.
std::uint64_t meminfo(std::string_view name);

// What this process may use: the machine's memory, or less where one of its control groups (version
// 2) says so.
std::uint64_t memory_limit_bytes();

}  // namespace holdfast
