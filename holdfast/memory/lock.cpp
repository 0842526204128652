#include <holdfast/memory/lock.hpp>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <holdfast/memory/system.hpp>

namespace holdfast::memory_detail {
namespace {

// The ids of the processes that hold a lock on the file, as /proc/locks tells them. A line reads
// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF"; one with "->" waits and holds nothing.
std::vector<long> lock_owners(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return {};
  char inode[64];
  std::snprintf(inode, sizeof inode, "%02x:%02x:%llu", major(status.st_dev), minor(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  std::vector<long> owners;
  std::istringstream lines(read_text("/proc/locks"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, place;
    long pid = 0;
    if (words >> number >> kind >> advisory >> mode >> pid >> place && kind == "FLOCK" &&
        place == inode) {
      owners.push_back(pid);
    }
  }
  return owners;
}

std::string owner_text(const std::vector<long>& owners) {
  if (owners.empty()) return "another process (which one is not visible from here)";
  if (owners.front() == ::getpid()) {
    return "this process (pid " + std::to_string(owners.front()) + ")";
  }
  std::string text = "process " + std::to_string(owners.front());
  const auto command = read_text("/proc/" + std::to_string(owners.front()) + "/comm");
  if (!command.empty()) text.append(" (").append(command).append(")");
  if (owners.size() > 1)
    text.append(" and ").append(std::to_string(owners.size() - 1)).append(" more");
  return text;
}

}  // namespace

Status lock_file(int fd, bool exclusive, std::string_view target, std::string_view advice) {
  while (::flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      std::string detail{target};
      detail.append(" is in use by ").append(owner_text(lock_owners(fd)));
      if (!advice.empty()) return Error{Errc::kBusy, detail.append(advice)};
      detail.append(exclusive ? "; close it there, or open read-only where all do"
                              : ", which writes to it; close it there");
      return Error{Errc::kBusy, std::move(detail)};
    }
    auto error = system_error("flock", target, errno);
    if (errno == EOPNOTSUPP || errno == ENOLCK || errno == EINVAL || errno == EBADF) {
      error.code = Errc::kUnsupported;
      error.detail.append(
          "; this file system cannot lock, so two processes could not be kept apart");
    }
    return error;
  }
  return {};
}

}  // namespace holdfast::memory_detail
