#include <holdfast/bench/kv/memory_limit.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench::kv {
namespace {

struct Hierarchy {
  std::string mount;  // Where it is mounted; empty: nowhere.
  std::string own;    // The group of this process, below it.
};

bool has_word(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

// Of /proc/self/mounts: "cgroup /sys/fs/cgroup/memory cgroup rw,…,memory 0 0"; of
// /proc/self/cgroup: "4:memory:/some/group", and "0::/some/group" in version 2.
Hierarchy hierarchy(bool version_2) {
  Hierarchy found;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line) && found.mount.empty();) {
    std::istringstream words(line);
    std::string device, place, type, options;
    words >> device >> place >> type >> options;
    if (version_2 ? type == "cgroup2" : type == "cgroup" && has_word(options, "memory"))
      found.mount = place;
  }
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? line.starts_with("0::") : has_word(controllers, "memory"))
      found.own = line.substr(second + 1);
  }
  return found;
}

// Empty, or what the system said.
std::string written(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  errno = 0;
  if (out << text << std::flush) return {};
  return file + ": " + std::strerror(errno != 0 ? errno : EIO);
}

// Empty, or why there is no such group now.
std::string set_up(const std::string& directory, bool version_2, std::uint64_t bytes) {
  if (::mkdir(directory.c_str(), 0755) != 0) return directory + ": " + std::strerror(errno);
  const auto file = directory + (version_2 ? "/memory.max" : "/memory.limit_in_bytes");
  auto why = ::access(file.c_str(), F_OK) == 0 ? written(file, std::to_string(bytes))
                                               : file + ": no memory controller here";
  if (why.empty()) {
    // Without swap accounting there is no such file, and mostly no swap.
    const auto swap = directory + (version_2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes");
    if (::access(swap.c_str(), F_OK) == 0)
      why = written(swap, version_2 ? "0" : std::to_string(bytes));
  }
  // Version 1 inherits from the parent that a process at the limit waits for ever instead of being
  // killed. Where this may not be changed it is right already, or the caller's affair.
  if (why.empty() && !version_2) (void)written(directory + "/memory.oom_control", "0");
  if (!why.empty()) ::rmdir(directory.c_str());
  return why;
}

}  // namespace

Result<MemoryLimit> MemoryLimit::make(std::uint64_t bytes) {
  const auto name = "/holdfast-bench-" + std::to_string(::getpid());
  std::string refused;
  for (const bool version_2 : {true, false}) {
    const auto found = hierarchy(version_2);
    if (found.mount.empty()) continue;
    const auto own = found.mount + (found.own == "/" ? std::string() : found.own);
    std::vector<std::string> parents = {own};
    if (version_2 && own != found.mount)
      parents.push_back(std::filesystem::path(own).parent_path().string());
    for (const auto& parent : parents) {
      const auto why = set_up(parent + name, version_2, bytes);
      if (why.empty()) return MemoryLimit(parent + name, version_2);
      refused += (refused.empty() ? "" : "; ") + why;
    }
  }
  if (refused.empty()) refused = "no cgroup file system is mounted";
  return Error{Errc::kUnsupported,
               "no control group with a memory limit can be made: " + refused +
                   "; run as root, or in a group that is delegated to you (systemd-run --user "
                   "--scope -p Delegate=yes)"};
}

MemoryLimit::MemoryLimit(MemoryLimit&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), version_2_(other.version_2_) {}

MemoryLimit::~MemoryLimit() {
  if (directory_.empty()) return;
  // A process that has ended may be counted for a moment still.
  for (int i = 0; i < 100 && ::rmdir(directory_.c_str()) != 0 && errno == EBUSY; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

Status MemoryLimit::join() const {
  if (const auto why = written(directory_ + "/cgroup.procs", std::to_string(::getpid()));
      !why.empty())
    return Error{Errc::kIo, "cannot join the control group: " + why};
  return {};
}

std::uint64_t MemoryLimit::kills() const {
  std::ifstream events(directory_ + (version_2_ ? "/memory.events" : "/memory.oom_control"));
  std::string word;
  std::uint64_t count = 0;
  while (events >> word >> count) {
    if (word == "oom_kill") return count;
  }
  return 0;
}

}  // namespace holdfast::bench::kv
