// Machines that we do not have, as trees of files; and this one, which must make sense.
#include <holdfast/memory/topology.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <holdfast/base/units.hpp>
#include <holdfast/memory/medium.hpp>

#include "scratch.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

class Machine {
 public:
  void file(const std::string& path, const std::string& text) {
    const auto whole = root() + path;
    fs::create_directories(fs::path(whole).parent_path());
    std::ofstream(whole) << text << "\n";
  }
  void link(const std::string& path, const std::string& target) {
    fs::create_directories(root() + target);
    fs::create_directories(fs::path(root() + path).parent_path());
    fs::create_directory_symlink(root() + target, root() + path);
  }
  std::string root() const { return scratch_.directory(); }

 private:
  Scratch scratch_ = Scratch::tmpfs();
};

// BEN-4: no count of sockets and cores, no clock, no memory of the whole.
TEST(Topology, CountsSocketsAndCoresThatAreOnlineAndTheMemoryOfTheWhole) {
  Machine machine;
  const std::string cpus = "/sys/devices/system/cpu/";
  machine.file(cpus + "online", "0-3,5");
  for (const int cpu : {0, 1, 2, 3, 4, 5}) {
    const auto path = cpus + "cpu" + std::to_string(cpu) + "/";
    machine.file(path + "topology/physical_package_id", cpu < 4 ? "0" : "1");
    machine.file(path + "topology/core_id", std::to_string(cpu % 2));
    machine.file(path + "cpufreq/cpuinfo_max_freq", cpu == 5 ? "3500000" : "2100000");
  }
  machine.file("/proc/meminfo", "MemTotal:       4096 kB\nMemFree: 7 kB\nMemAvailable:   1024 kB");
  const auto topology = read_topology(machine.root());
  EXPECT_EQ(topology.cpus, 5u);
  EXPECT_EQ(topology.sockets, 2u);
  EXPECT_EQ(topology.cores, 3u) << "0 and 1 of the first, 1 of the second";
  EXPECT_EQ(topology.core_cpus, (std::vector<std::string>{"0,2", "1,3", "5"}));
  EXPECT_EQ(topology.clock_mhz_max, 3500u);
  EXPECT_EQ(topology.memory_bytes, 4 * MiB);
  EXPECT_EQ(topology.available_bytes, 1 * MiB);
}

// Without it {0-3}, {4-5} of a machine of two clusters were four cores: numbers begin anew in each.
TEST(Topology, ACoreIsKnownByTheCpusThatShareIt) {
  Machine machine;
  const std::string cpus = "/sys/devices/system/cpu/";
  machine.file(cpus + "online", "0-5");
  for (const int cpu : {0, 1, 2, 3, 4, 5}) {
    const auto path = cpus + "cpu" + std::to_string(cpu) + "/topology/";
    machine.file(path + "physical_package_id", "0");
    machine.file(path + "core_id", std::to_string(cpu % 4));
    machine.file(path + "core_cpus_list", cpu < 4 ? std::to_string(cpu) : "4-5");
  }
  const auto topology = read_topology(machine.root());
  EXPECT_EQ(topology.cores, 5u);
  EXPECT_EQ(topology.core_cpus, (std::vector<std::string>{"0", "1", "2", "3", "4-5"}));
}

TEST(Topology, ReadsNodesTiersAndWhatTheFirmwareTells) {
  Machine machine;
  const std::string nodes = "/sys/devices/system/node/";
  machine.file("/sys/devices/system/cpu/online", "0-2,8");
  machine.file(nodes + "node0/cpulist", "0-2,8");
  machine.file(nodes + "node0/meminfo",
               "Node 0 MemTotal:       1024 kB\nNode 0 MemFree:    512 kB");
  machine.file(nodes + "node0/distance", "10 30");
  machine.file(nodes + "node10/cpulist", "");
  machine.file(nodes + "node10/meminfo", "Node 10 MemTotal:       2048 kB");
  machine.file(nodes + "node10/distance", "30 10");
  machine.file(nodes + "node10/access0/initiators/read_latency", "350");
  machine.file(nodes + "node10/access0/initiators/read_bandwidth", "20000");
  machine.file(nodes + "nodelist/cpulist", "not a node");
  machine.file("/sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0");
  machine.file("/sys/devices/virtual/memory_tiering/memory_tier22/nodelist", "9-10");
  const auto topology = read_topology(machine.root());
  EXPECT_EQ(topology.cpus, 4u);
  ASSERT_EQ(topology.nodes.size(), 2u);
  EXPECT_EQ(topology.nodes[0].memory_bytes, 1 * MiB);
  EXPECT_EQ(topology.nodes[0].free_bytes, 512 * KiB);
  EXPECT_EQ(topology.nodes[0].tier, 0);
  EXPECT_EQ(topology.nodes[1].id, 10);
  EXPECT_EQ(topology.nodes[1].cpus, "");
  EXPECT_EQ(topology.nodes[1].distances, (std::vector<int>{30, 10}));
  EXPECT_EQ(topology.nodes[1].tier, 1);
  EXPECT_EQ(topology.nodes[1].read_latency_ns, 350u);
  EXPECT_EQ(topology.nodes[1].read_bandwidth_mb_per_s, 20'000u);
  EXPECT_EQ(topology.nodes[1].write_latency_ns, 0u);
  EXPECT_EQ(topology.tiers[1].nodes, (std::vector<int>{9, 10}));
}

TEST(Topology, CountsEachCacheOnce) {
  Machine machine;
  for (const std::string cpu : {"0", "1"}) {
    const auto cache = "/sys/devices/system/cpu/cpu" + cpu + "/cache/";
    machine.file(cache + "index0/level", "1");
    machine.file(cache + "index0/type", "Data");
    machine.file(cache + "index0/size", "32K");
    machine.file(cache + "index0/coherency_line_size", "64");
    machine.file(cache + "index0/shared_cpu_list", cpu);
    machine.file(cache + "index3/level", "3");
    machine.file(cache + "index3/type", "Unified");
    machine.file(cache + "index3/size", "32768K");
    machine.file(cache + "index3/shared_cpu_list", "0-1");
  }
  const auto caches = read_topology(machine.root()).caches;
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_EQ(caches[0].count, 2u);
  EXPECT_EQ(caches[0].bytes, 32 * KiB);
  EXPECT_EQ(caches[0].line_bytes, 64u);
  EXPECT_EQ(caches[1].count, 1u);
  EXPECT_EQ(caches[1].bytes, 32 * MiB);
  EXPECT_EQ(caches[1].shared_cpus, "0-1");
}

TEST(Topology, FindsPersistentAndCxlDevicesAndTheirDomain) {
  Machine machine;
  const std::string region = "/sys/devices/LNXSYSTM:00/ndbus0/region0";
  machine.file(region + "/persistence_domain", "cpu_cache");
  machine.file(region + "/numa_node", "1");
  machine.file(region + "/dax0.0/size", "1073741824");
  machine.file(region + "/dax0.0/align", "2097152");
  machine.file(region + "/dax0.0/target_node", "2");
  machine.link(region + "/dax0.0/driver", "/sys/bus/dax/drivers/device_dax");
  machine.link("/sys/bus/dax/devices/dax0.0", region + "/dax0.0");
  machine.file(region + "/namespace0.1/block/pmem0/size", "4096");
  machine.file(region + "/namespace0.1/block/pmem0/queue/dax", "1");
  machine.link("/sys/class/block/pmem0", region + "/namespace0.1/block/pmem0");
  machine.file("/proc/self/mounts", "/dev/pmem0 /mnt/pmem ext4 rw,dax=always 0 0");
  machine.file("/sys/bus/cxl/devices/mem0/pmem/size", "0x10000000");
  machine.file("/sys/bus/cxl/devices/mem0/ram/size", "0x0");
  machine.file("/sys/bus/cxl/devices/mem0/numa_node", "-1");
  machine.file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "8");
  machine.file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3");
  machine.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  const auto topology = read_topology(machine.root());
  ASSERT_EQ(topology.dax.size(), 1u);
  EXPECT_EQ(topology.dax[0].name, "dax0.0");
  EXPECT_EQ(topology.dax[0].driver, "device_dax");
  EXPECT_EQ(topology.dax[0].bytes, 1 * GiB);
  EXPECT_EQ(topology.dax[0].node, 2);
  EXPECT_EQ(topology.dax[0].persistence_domain, "cpu_cache");
  ASSERT_EQ(topology.pmem.size(), 1u);
  EXPECT_EQ(topology.pmem[0].bytes, 2 * MiB);
  EXPECT_TRUE(topology.pmem[0].dax);
  EXPECT_EQ(topology.pmem[0].node, 1);
  EXPECT_EQ(topology.pmem[0].mount_point, "/mnt/pmem");
  EXPECT_EQ(topology.pmem[0].mount_options, "ext4 rw,dax=always");
  ASSERT_EQ(topology.cxl.size(), 1u);
  EXPECT_EQ(topology.cxl[0].pmem_bytes, 256 * MiB);
  EXPECT_EQ(topology.cxl[0].node, -1);
  ASSERT_EQ(topology.pools.size(), 1u);
  EXPECT_EQ(topology.pools[0].page_bytes, 2 * MiB);
  EXPECT_EQ(topology.pools[0].pages_free, 3u);
  EXPECT_EQ(topology.transparent_huge_pages, "madvise");
}

TEST(Topology, AMachineThatTellsNothingHasOneNode) {
  Machine machine;
  machine.file("/proc/meminfo", "MemTotal:        100 kB\nMemFree:     50 kB");
  const auto topology = read_topology(machine.root());
  ASSERT_EQ(topology.nodes.size(), 1u);
  EXPECT_EQ(topology.nodes[0].memory_bytes, 100 * KiB);
  EXPECT_TRUE(topology.caches.empty());
  EXPECT_TRUE(topology.dax.empty());
}

TEST(Topology, ThisMachineMakesSense) {
  const auto topology = read_topology();
  EXPECT_GE(topology.cpus, 1u);
  ASSERT_GE(topology.nodes.size(), 1u);
  std::uint64_t memory_bytes = 0;
  for (const auto& node : topology.nodes)
    memory_bytes += node.memory_bytes;
  EXPECT_GT(memory_bytes, 64 * MiB);
  for (const auto& cache : topology.caches)
    EXPECT_GT(cache.bytes, 0u);
}

TEST(AttributeAbove, IsFoundAnyNumberOfDirectoriesUp) {
  Machine machine;
  machine.file("/a/persistence_domain", "memory_controller");
  machine.file("/a/b/c/d", "x");
  const auto found =
      memory_detail::attribute_above(machine.root() + "/a/b/c", "persistence_domain");
  EXPECT_EQ(found.value, "memory_controller");
  EXPECT_EQ(found.path, machine.root() + "/a/persistence_domain");
  EXPECT_EQ(memory_detail::attribute_above(machine.root() + "/a", "nothing").value, "");
  EXPECT_EQ(memory_detail::attribute_above("", "nothing").path, "");
}

}  // namespace
}  // namespace holdfast
