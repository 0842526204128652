#include <holdfast/base/meminfo.hpp>

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

}  // namespace holdfast
