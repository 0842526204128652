// topology.hpp: what memory this machine has: nodes, tiers, caches, persistent and CXL devices,
// huge pages. For people and for results; nothing durable depends on it.
//
// Read from sysfs, which is where libnuma and hwloc have it from: with another root it describes
// another machine, and so tests can have CXL. What a kernel does not say stays at its default.
// Cold: some ms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

struct CacheLevel {
  int level = 0;            // 1, 2, 3.
  std::string type;         // "Data", "Instruction", "Unified".
  std::uint64_t bytes = 0;  // Of one.
  unsigned line_bytes = 0;
  unsigned count = 0;       // How many the machine has.
  std::string shared_cpus;  // The CPUs that share the first of them: "0-1".
};

struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t pages_total = 0;  // Set aside for MAP_HUGETLB,
  std::uint64_t pages_free = 0;   // and of them unused.
};

struct NumaNode {
  int id = 0;
  std::string cpus;  // "0-15"; empty: memory only, as CXL memory used as RAM is.
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::vector<int> distances;  // To each node, in the order of Topology::nodes; 10 is local.
  int tier = -1;               // Index into Topology::tiers, -1: unknown.
  // From the firmware's table (HMAT), as seen by the nearest CPUs; 0: not told.
  std::uint64_t read_bandwidth_mb_per_s = 0;
  std::uint64_t write_bandwidth_mb_per_s = 0;
  std::uint64_t read_latency_ns = 0;
  std::uint64_t write_latency_ns = 0;
};

// As the kernel ranks them; a lower number is the faster one.
struct MemoryTier {
  std::string name;  // "memory_tier4".
  std::vector<int> nodes;
};

// A devdax. /dev/<name> is a region spec while its driver is device_dax.
struct DaxDevice {
  std::string name;    // "dax0.0".
  std::string driver;  // "device_dax"; "kmem": used as RAM of `node`; empty: none.
  std::uint64_t bytes = 0;
  std::uint64_t align_bytes = 0;
  int node = -1;
  std::string persistence_domain;  // "memory_controller", "cpu_cache", "unknown"; empty: not told.
};

// A block device over persistent memory, for a file system with -o dax.
struct PmemDevice {
  std::string name;  // "pmem0".
  std::uint64_t bytes = 0;
  bool dax = false;  // The device offers DAX.
  int node = -1;
  std::string persistence_domain;
  std::string mount_point;  // Empty: not mounted.
  std::string mount_options;
};

struct CxlDevice {
  std::string name;  // "mem0".
  std::uint64_t pmem_bytes = 0;
  std::uint64_t ram_bytes = 0;
  int node = -1;
  std::string firmware;
};

struct Topology {
  unsigned cpus = 0;                   // Online. With `cores` below it, some share a core.
  unsigned sockets = 0;                // 0: not told, as below.
  unsigned cores = 0;                  // Of all sockets.
  std::vector<std::string> core_cpus;  // The CPUs of each core: "0,64". Empty: not told.
  unsigned clock_mhz_max = 0;
  // Of the system, however its nodes share it.
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::vector<CacheLevel> caches;
  std::vector<NumaNode> nodes;
  std::vector<MemoryTier> tiers;
  std::vector<HugePagePool> pools;
  // The selected word of each: "always", "madvise", "never", … Empty: not in this kernel.
  std::string transparent_huge_pages;
  std::string tmpfs_huge_pages;
  std::vector<DaxDevice> dax;
  std::vector<PmemDevice> pmem;
  std::vector<CxlDevice> cxl;
};

// `root` is where /sys and /proc are looked for: "" is this machine.
Topology read_topology(const std::string& root = "");

}  // namespace holdfast
