#include <holdfast/results/environment.hpp>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <holdfast/base/meminfo.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/results/git_revision.hpp>

namespace holdfast::results {
namespace {

constexpr auto kUnknown = "unknown";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !line.empty() ? line : kUnknown;
}

// The value of "name : value" in a /proc file.
std::string proc_value(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find_first_not_of(" \t", name.size()) != colon) continue;
    const auto value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return kUnknown;
}

// The setting in force is the bracketed one of "always [madvise] never".
std::string chosen(const std::string& line) {
  const auto begin = line.find('['), end = line.find(']');
  return begin != std::string::npos && end != std::string::npos
             ? line.substr(begin + 1, end - begin - 1)
             : line;
}

std::string cpu_flags_that_matter() {
  const auto flags =
      proc_value("/proc/cpuinfo", "flags") + " " + proc_value("/proc/cpuinfo", "Features");
  std::istringstream all(flags);
  std::string kept;
  for (std::string flag; all >> flag;) {
    for (const auto* wanted :
         {"clflush", "clflushopt", "clwb", "avx2", "avx512f", "avx512bw", "avx512vl", "sse4_2",
          "movdir64b", "constant_tsc", "nonstop_tsc", "hypervisor", "dcpop", "asimd"}) {
      if (flag == wanted) kept += (kept.empty() ? "" : " ") + flag;
    }
  }
  return kept.empty() ? kUnknown : kept;
}

struct Cache {
  std::string name;
  std::uint64_t bytes;
};

std::vector<Cache> caches_of_first_cpu() {
  std::vector<Cache> caches;
  for (int index = 0; index < 8; ++index) {
    const auto folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto size = first_line(folder + "size");
    if (size == kUnknown) break;
    auto bytes = std::strtoull(size.c_str(), nullptr, 10);
    if (size.ends_with("K")) bytes *= KiB;
    if (size.ends_with("M")) bytes *= MiB;
    caches.push_back(
        {"L" + first_line(folder + "level") + " " + first_line(folder + "type") + " " + size,
         bytes});
  }
  return caches;
}

// As it could be typed again in a shell.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string word; std::getline(file, word, '\0');) {
    const bool plain =
        !word.empty() && word.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "-_=+,./:@%") == std::string::npos;
    line += (line.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return line.empty() ? kUnknown : line;
}

std::uint64_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::string utc_now() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

constexpr const char* build_type() {
#ifdef NDEBUG
  return "optimised, without debug checks";
#else
  return "with debug checks: timings say little";
#endif
}

}  // namespace

std::uint64_t last_level_cache_bytes() {
  std::uint64_t largest = 0;
  for (const auto& cache : caches_of_first_cpu())
    largest = std::max(largest, cache.bytes);
  return largest == 0 ? 32 * MiB : largest;
}

std::uint64_t available_memory_bytes() {
  auto available = meminfo("MemAvailable");
  for (const auto& group : memory_groups()) {
    const auto file = [&](const char* name) { return std::ifstream(group.directory + "/" + name); };
    std::uint64_t used = 0, cached = 0, number = 0;
    if (!(file(group.version_2 ? "memory.current" : "memory.usage_in_bytes") >> used)) continue;
    // Cached files count as used, but make room.
    auto statistics = file("memory.stat");
    for (std::string name; statistics >> name >> number;) {
      if (name == "inactive_file" || name == "active_file") cached += number;
    }
    const auto held = used - std::min(used, cached);
    available = std::min(available, group.limit_bytes - std::min(group.limit_bytes, held));
  }
  return available;
}

Fields environment() {
  Fields fields;
  fields.set("utc_time", utc_now());
  fields.set("command_line", command_line());
  char host[256] = "";
  fields.set("host", ::gethostname(host, sizeof host - 1) == 0 ? host : kUnknown);
  fields.set("cpu_model", proc_value("/proc/cpuinfo", "model name"));
  fields.set("cpu_family_model_stepping", proc_value("/proc/cpuinfo", "cpu family") + "/" +
                                              proc_value("/proc/cpuinfo", "model") + "/" +
                                              proc_value("/proc/cpuinfo", "stepping"));
  fields.set("cpus_usable", usable_cpus());
  fields.set("cpu_flags", cpu_flags_that_matter());
  fields.set("cpu_governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  std::string caches;
  for (const auto& cache : caches_of_first_cpu())
    caches += (caches.empty() ? "" : ", ") + cache.name;
  fields.set("caches", caches.empty() ? std::string(kUnknown) : caches);
  fields.set("memory_bytes", meminfo("MemTotal"));
  fields.set("memory_available_bytes", meminfo("MemAvailable"));
  const std::string huge = "/sys/kernel/mm/transparent_hugepage/";
  fields.set("huge_page_anonymous", chosen(first_line(huge + "enabled")));
  fields.set("huge_page_tmpfs", chosen(first_line(huge + "shmem_enabled")));
  fields.set("huge_page_pool_2m", meminfo("HugePages_Total"));
  unsigned nodes = 0;
  for (std::error_code error;
       std::filesystem::exists("/sys/devices/system/node/node" + std::to_string(nodes), error);)
    ++nodes;
  fields.set("numa_nodes", nodes);
  utsname system{};
  if (uname(&system) == 0) {
    fields.set("kernel", std::string(system.sysname) + " " + system.release);
    fields.set("machine", std::string(system.machine));
  }
  fields.set("clock_source",
             first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  double load[1] = {0};
  if (getloadavg(load, 1) == 1) fields.set("load_average_1min", load[0]);
#if defined(__clang__)
  fields.set("compiler", std::string("clang " __clang_version__));
#else
  fields.set("compiler", std::string("gcc " __VERSION__));
#endif
  fields.set("build_type", build_type());
  fields.set("git_revision", kGitRevision);
  return fields;
}

}  // namespace holdfast::results
