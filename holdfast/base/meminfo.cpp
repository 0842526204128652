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

std::uint64_t memory_limit_bytes() {
  std::uint64_t limit = meminfo("MemTotal");
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (auto group = root / line.substr(4); group != root; group = group.parent_path()) {
      std::uint64_t most = 0;  // "max" is no number.
      if (std::ifstream(group / "memory.max") >> most) limit = std::min(limit, most);
      if (!group.has_relative_path()) break;
    }
  }
  return limit;
}

}  // namespace holdfast
