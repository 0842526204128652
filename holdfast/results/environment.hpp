// environment.hpp: the machine, the system and the build that a result belongs to.
#pragma once

#include <holdfast/results/result.hpp>

namespace holdfast::results {

// utc_time, command_line, host, cpu_model, cpus_usable, cpu_flags (those that matter here),
// cpu_governor, caches, memory_bytes, memory_available_bytes, huge_page_*, numa_nodes, kernel,
// hypervisor, load_average_1min, compiler, build_type, holdfast_version, git_revision,
// clock_source. What cannot be found out is "unknown".
Fields environment();

// Bytes of the largest cache, as sysfs tells; 32 MiB where it does not.
std::uint64_t last_level_cache_bytes();

// What this process may still take: what the system has available, and not more than the limits of
// its control groups leave.
std::uint64_t available_memory_bytes();

}  // namespace holdfast::results
