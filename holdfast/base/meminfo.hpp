// meminfo.hpp: what the kernel says of this machine's memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// The line `name` of /proc/meminfo ("MemAvailable", "HugePages_Total"): in bytes where it has a
// unit, else as it is. 0 where there is no such line.
std::uint64_t meminfo(std::string_view name);

// A control group, of version 1 or 2, that bounds the memory of this process: its own, or one
// above.
struct MemoryGroup {
  std::string directory;  // With its files.
  bool version_2 = false;
  std::uint64_t limit_bytes = 0;
};
std::vector<MemoryGroup> memory_groups();

// What this process may use: the machine's memory, or less where one of these groups says so.
std::uint64_t memory_limit_bytes();

}  // namespace holdfast
