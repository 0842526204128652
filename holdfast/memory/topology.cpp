#include <holdfast/memory/topology.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include <holdfast/base/units.hpp>
#include <holdfast/memory/medium.hpp>
#include <holdfast/memory/pages.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using memory_detail::read_text;

// Names in a directory that start with `prefix` and a digit ("node0", not "node_x"), by their
// number; nothing if there is no such directory.
std::vector<std::string> numbered(const std::string& directory, const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= '0' &&
        name[prefix.size()] <= '9') {
      names.push_back(name);
    }
  }
  const auto number = [&](const std::string& name) {
    return std::strtod(name.c_str() + prefix.size(), nullptr);  // "0.1" too.
  };
  std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return std::pair(number(a), a) < std::pair(number(b), b);
  });
  return names;
}

std::uint64_t number_in(const std::string& path) {
  return std::strtoull(read_text(path).c_str(), nullptr, 0);
}

int node_in(const std::string& path) {
  const auto text = read_text(path);
  return text.empty() ? -1 : static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
}

// "0-2,5" is 0, 1, 2, 5.
std::vector<int> parse_list(const std::string& text) {
  std::vector<int> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    char* rest = nullptr;
    const auto first = std::strtol(part.c_str(), &rest, 10);
    if (rest == part.c_str()) continue;
    const auto last = *rest == '-' ? std::strtol(rest + 1, nullptr, 10) : first;
    for (auto value = first; value <= last; ++value)
      values.push_back(static_cast<int>(value));
  }
  return values;
}

// "32K", "1024K", "32M" as caches write it.
std::uint64_t cache_bytes(const std::string& text) {
  char* unit = nullptr;
  const auto value = std::strtoull(text.c_str(), &unit, 10);
  return value * (*unit == 'K' ? KiB : *unit == 'M' ? MiB : *unit == 'G' ? GiB : 1);
}

std::vector<CacheLevel> read_caches(const std::string& cpus) {
  std::vector<CacheLevel> caches;
  std::set<std::tuple<int, std::string, std::string>> seen;
  for (const auto& cpu : numbered(cpus, "cpu")) {
    const auto directory = cpus + "/" + cpu + "/cache";
    for (const auto& index : numbered(directory, "index")) {
      const auto path = directory + "/" + index + "/";
      CacheLevel cache;
      cache.level = static_cast<int>(number_in(path + "level"));
      cache.type = read_text(path + "type");
      cache.bytes = cache_bytes(read_text(path + "size"));
      cache.line_bytes = static_cast<unsigned>(number_in(path + "coherency_line_size"));
      cache.shared_cpus = read_text(path + "shared_cpu_list");
      if (!seen.emplace(cache.level, cache.type, cache.shared_cpus).second) continue;
      // Cores of several kinds have caches of several sizes.
      const auto same = std::find_if(caches.begin(), caches.end(), [&](const CacheLevel& other) {
        return other.level == cache.level && other.type == cache.type && other.bytes == cache.bytes;
      });
      if (same == caches.end()) {
        cache.count = 1;
        caches.push_back(cache);
      } else {
        ++same->count;
      }
    }
  }
  std::stable_sort(caches.begin(), caches.end(),
                   [](const auto& a, const auto& b) { return a.level < b.level; });
  return caches;
}

// "Node 0 MemTotal:        7956696 kB"
std::uint64_t meminfo(const std::string& text, const std::string& key) {
  const auto at = text.find(key + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + key.size() + 1, nullptr, 10) * KiB;
}

std::vector<NumaNode> read_nodes(const std::string& root) {
  const auto directory = root + "/sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const auto& name : numbered(directory, "node")) {
    const auto path = directory + "/" + name + "/";
    NumaNode node;
    node.id = static_cast<int>(std::strtol(name.c_str() + 4, nullptr, 10));
    node.cpus = read_text(path + "cpulist");
    const auto info = read_text(path + "meminfo");
    node.memory_bytes = meminfo(info, "MemTotal");
    node.free_bytes = meminfo(info, "MemFree");
    std::istringstream distances(read_text(path + "distance"));
    for (int distance = 0; distances >> distance;)
      node.distances.push_back(distance);
    const auto access = path + "access0/initiators/";
    node.read_bandwidth_mb_per_s = number_in(access + "read_bandwidth");
    node.write_bandwidth_mb_per_s = number_in(access + "write_bandwidth");
    node.read_latency_ns = number_in(access + "read_latency");
    node.write_latency_ns = number_in(access + "write_latency");
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) {  // A kernel without NUMA: one node that is everything.
    const auto info = read_text(root + "/proc/meminfo");
    NumaNode node;
    node.cpus = read_text(root + "/sys/devices/system/cpu/online");
    node.memory_bytes = meminfo(info, "MemTotal");
    node.free_bytes = meminfo(info, "MemFree");
    node.distances = {10};
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void read_cpus(const std::string& root, Topology& topology) {
  const auto directory = root + "/sys/devices/system/cpu/";
  const auto online = parse_list(read_text(directory + "online"));
  topology.cpus = static_cast<unsigned>(online.size());
  std::set<std::string> sockets;
  std::map<std::pair<std::string, std::string>, std::string> cores;  // The CPUs of each.
  for (const int cpu : online) {
    const auto path = directory + "cpu" + std::to_string(cpu) + "/";
    const auto socket = read_text(path + "topology/physical_package_id");
    const auto core = read_text(path + "topology/core_id");
    if (!socket.empty()) sockets.insert(socket);
    // The list is a core's own; a number need not be, where CPUs form clusters.
    const auto list = read_text(path + "topology/core_cpus_list");
    if (!list.empty()) {
      cores[{list, ""}] = list;
    } else if (!socket.empty() && !core.empty()) {
      auto& of_core = cores[{socket, core}];
      of_core += (of_core.empty() ? "" : ",") + std::to_string(cpu);
    }
    topology.clock_mhz_max =
        std::max(topology.clock_mhz_max,
                 static_cast<unsigned>(number_in(path + "cpufreq/cpuinfo_max_freq") / 1000));
  }
  topology.sockets = static_cast<unsigned>(sockets.size());
  topology.cores = static_cast<unsigned>(cores.size());
  for (auto& core : cores)
    topology.core_cpus.push_back(std::move(core.second));
  const auto info = read_text(root + "/proc/meminfo");
  topology.memory_bytes = meminfo(info, "MemTotal");
  topology.available_bytes = meminfo(info, "MemAvailable");
}

void read_tiers(const std::string& directory, Topology& topology) {
  for (const auto& name : numbered(directory, "memory_tier")) {
    topology.tiers.push_back({name, parse_list(read_text(directory + "/" + name + "/nodelist"))});
    for (auto& node : topology.nodes) {
      const auto& nodes = topology.tiers.back().nodes;
      if (std::find(nodes.begin(), nodes.end(), node.id) != nodes.end()) {
        node.tier = static_cast<int>(topology.tiers.size()) - 1;
      }
    }
  }
}

std::vector<HugePagePool> read_pools(const std::string& directory) {
  std::vector<HugePagePool> pools;
  for (const auto& name : numbered(directory, "hugepages-")) {
    const auto kib =
        std::strtoull(name.c_str() + std::string_view("hugepages-").size(), nullptr, 10);
    pools.push_back({kib * KiB, number_in(directory + "/" + name + "/nr_hugepages"),
                     number_in(directory + "/" + name + "/free_hugepages")});
  }
  return pools;
}

std::string resolved(const std::string& path) {
  std::error_code error;
  const auto real = fs::canonical(path, error);
  return error ? std::string{} : real.string();
}

std::vector<DaxDevice> read_dax(const std::string& directory) {
  std::vector<DaxDevice> devices;
  for (const auto& name : numbered(directory, "dax")) {
    const auto path = directory + "/" + name;
    DaxDevice device;
    device.name = name;
    device.driver = fs::path(resolved(path + "/driver")).filename().string();
    device.bytes = number_in(path + "/size");
    device.align_bytes = number_in(path + "/align");
    device.node = node_in(path + "/target_node");
    device.persistence_domain =
        memory_detail::attribute_above(resolved(path), "persistence_domain").value;
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<PmemDevice> read_pmem(const std::string& root) {
  const auto directory = root + "/sys/class/block";
  std::vector<PmemDevice> devices;
  for (const auto& name : numbered(directory, "pmem")) {
    const auto path = directory + "/" + name;
    PmemDevice device;
    device.name = name;
    device.bytes = number_in(path + "/size") * 512;
    device.dax = number_in(path + "/queue/dax") != 0;
    const auto node = memory_detail::attribute_above(resolved(path), "numa_node").value;
    device.node = node.empty() ? -1 : static_cast<int>(std::strtol(node.c_str(), nullptr, 10));
    device.persistence_domain =
        memory_detail::attribute_above(resolved(path), "persistence_domain").value;
    std::istringstream mounts(read_text(root + "/proc/self/mounts"));
    for (std::string line; std::getline(mounts, line);) {
      std::istringstream words(line);
      std::string source, target, type, options;
      if (words >> source >> target >> type >> options && source == "/dev/" + name) {
        device.mount_point = target;
        device.mount_options = type + " " + options;
      }
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<CxlDevice> read_cxl(const std::string& directory) {
  std::vector<CxlDevice> devices;
  for (const auto& name : numbered(directory, "mem")) {
    const auto path = directory + "/" + name + "/";
    devices.push_back({name, number_in(path + "pmem/size"), number_in(path + "ram/size"),
                       node_in(path + "numa_node"), read_text(path + "firmware_version")});
  }
  return devices;
}

}  // namespace

Topology read_topology(const std::string& root) {
  const auto sys = root + "/sys";
  Topology topology;
  read_cpus(root, topology);
  topology.caches = read_caches(sys + "/devices/system/cpu");
  topology.nodes = read_nodes(root);
  read_tiers(sys + "/devices/virtual/memory_tiering", topology);
  topology.pools = read_pools(sys + "/kernel/mm/hugepages");
  const auto huge = sys + "/kernel/mm/transparent_hugepage/";
  topology.transparent_huge_pages = memory_detail::selected(read_text(huge + "enabled"));
  topology.tmpfs_huge_pages = memory_detail::selected(read_text(huge + "shmem_enabled"));
  topology.dax = read_dax(sys + "/bus/dax/devices");
  topology.pmem = read_pmem(root);
  topology.cxl = read_cxl(sys + "/bus/cxl/devices");
  return topology;
}

}  // namespace holdfast
