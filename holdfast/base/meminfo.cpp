#include <holdfast/base/meminfo.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <holdfast/base/units.hpp>

namespace holdfast {

std::uint64_t meminfo(std::string_view name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string label, unit;
    std::uint64_t value = 0;
    words >> label >> value >> unit;
    if (label.size() == name.size() + 1 && label.starts_with(name) && label.back() == ':')
      return value * (unit == "kB" ? KiB : 1);
  }
  return 0;
}

// Lines of /proc/self/cgroup: "0::/path" is the group of version 2, "7:cpu,memory:/path" that of
// version 1.
std::vector<MemoryGroup> memory_groups() {
  std::vector<MemoryGroup> found;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version_2 = line.starts_with("0::");
    if (!version_2 && controllers.find(",memory,") == std::string::npos) continue;
    const std::filesystem::path root = version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    auto inside = std::filesystem::path(line.substr(second + 1)).lexically_normal();
    for (bool above = true; above; inside = inside.parent_path()) {
      above = inside.has_relative_path();
      const auto directory = root / inside.relative_path();
      std::uint64_t most = 0;  // "max" is no number.
      std::ifstream limit(directory / (version_2 ? "memory.max" : "memory.limit_in_bytes"));
      if (limit >> most) found.push_back({directory.string(), version_2, most});
    }
  }
  return found;
}

std::uint64_t memory_limit_bytes() {
  std::uint64_t limit = meminfo("MemTotal");
  for (const auto& group : memory_groups())
    limit = std::min(limit, group.limit_bytes);
  return limit;
}

}  // namespace holdfast
