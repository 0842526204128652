// medium.hpp: what a file or device lies on and what of it survives a power loss. Internal.
//
//   found                                          granularity
//   granularity= in the spec                       that; "assumed"
//   DAX (MAP_SYNC granted, or a devdax):
//     sysfs persistence_domain=cpu_cache           byte: eADR; platforms whose Global Persistent
//                                                  Flush covers the CPU caches report it so
//     sysfs persistence_domain=memory_controller   line: ADR; also how Linux reports CXL memory
//     none or "unknown" there                      line: the careful reading
//   devdax over volatile memory (hmem)             none
//   tmpfs, ramfs, hugetlbfs                        none
//   any other file                                 page
#pragma once

#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::memory_detail {

struct Medium {
  std::string file_system;      // "ext4", "tmpfs", …; empty for a device.
  bool in_memory = false;       // tmpfs and its kin: pages are all there is.
  bool map_sync = false;        // MAP_SYNC mappings are granted.
  std::string map_sync_reason;  // Why not: "EOPNOTSUPP".
  Granularity granularity = Granularity::kNone;
  std::string granularity_source;
};

// `fd` is an open regular file, of any size, that nobody maps yet. Errors: kIo.
Result<Medium> examine_file(int fd, const RegionSpec& spec);
// `fd` is an open character device. Errors: kUnsupported (not a devdax), kIo.
Result<Medium> examine_device(int fd, const RegionSpec& spec);

// The first file `name` in `directory` or a directory above it, and what it says; empty if none.
struct FoundAttribute {
  std::string path;
  std::string value;
};
FoundAttribute attribute_above(std::string directory, const std::string& name);

// The persist primitives for a granularity on this CPU, with the spec's override of nt_evicts.
Persist persist_for(Granularity granularity, const RegionSpec& spec);
std::string nt_evicts_source_for(const RegionSpec& spec);

}  // namespace holdfast::memory_detail
