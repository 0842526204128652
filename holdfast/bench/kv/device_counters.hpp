// device_counters.hpp: what a phase asked of the disk below a path.
//
//   device_reads_per_op, device_read_bytes_per_op       requests and bytes that the device served,
//   device_writes_per_op, device_write_bytes_per_op     /proc/diskstats: of all processes
//   process_read_bytes_per_op, process_write_bytes_per_op   /proc/self/io: bytes that this process
//                                    had read from a device, and bytes of pages that it made dirty
//
// Writes reach the device when the kernel writes pages back, which may be in a later phase.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/results/result.hpp>

namespace holdfast::bench::kv {

struct DeviceCounts {
  bool device_known = false, process_known = false;
  std::uint64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0;
  std::uint64_t process_read_bytes = 0, process_write_bytes = 0;
};

// Since the system and the process began. Unknown is what the kernel does not tell, and the device
// of a file system that has none (tmpfs, overlay).
DeviceCounts device_counts(const std::string& path);

// The members above; those that are not known are left out.
results::Fields per_operation(const DeviceCounts& before, const DeviceCounts& after,
                              std::uint64_t operations);

}  // namespace holdfast::bench::kv
