#include "members.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

namespace holdfast::stream {
namespace {

namespace fs = std::filesystem;
using memory_detail::system_error;

// The file with the lock; none: another process has it.
Result<FileDescriptor> locked(const std::string& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0644));
  if (!file && errno == ENOENT) return FileDescriptor();
  if (!file) return system_error("open", path, errno);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return FileDescriptor();
    if (errno != EINTR) return system_error("flock", path, errno);
  }
  return file;
}

}  // namespace

Result<Membership> Membership::join(const std::string& directory) {
  for (const auto* folder : {"/members", "/splits"}) {
    HF_RETURN_IF_ERROR(make_directories(directory + folder));
  }
  Membership membership;
  membership.directory_ = directory;
  std::random_device random;
  membership.name_ = std::to_string(::getpid()) + "-" + std::to_string(random());
  // Under a hidden name until it is locked: others take a file without a lock for one that is left.
  const auto folder = directory + "/members/";
  const auto hidden = folder + "." + membership.name_;
  HF_ASSIGN_OR_RETURN(membership.file_, locked(hidden, O_CREAT));
  const auto path = folder + membership.name_;
  if (auto renamed = memory_detail::rename_at(AT_FDCWD, hidden, path, folder); !renamed) {
    ::unlink(hidden.c_str());
    return renamed.error();
  }
  return membership;
}

Result<std::vector<std::string>> Membership::members() {
  std::vector<std::string> names{name_};
  std::error_code code;
  for (fs::directory_iterator at(directory_ + "/members", code), end; !code && at != end;
       at.increment(code)) {
    const auto name = at->path().filename().string();
    if (name.starts_with('.') || name == name_) continue;
    std::error_code gone;
    const bool there = fs::exists(at->path(), gone);
    HF_ASSIGN_OR_RETURN(const auto left, locked(at->path().string(), 0));
    if (left)
      ::unlink(at->path().c_str());
    else if (there)
      names.push_back(name);
  }
  if (code) return Error{Errc::kIo, "read " + directory_ + "/members: " + code.message()};
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::size_t> Membership::fair_share(std::size_t splits) {
  HF_ASSIGN_OR_RETURN(const auto names, members());
  const auto place =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), name_) - names.begin());
  return splits / names.size() + (place < splits % names.size() ? 1 : 0);
}

Result<bool> Membership::take(const std::string& split) {
  HF_ASSIGN_OR_RETURN(auto file, locked(directory_ + "/splits/" + split, O_CREAT));
  if (!file) return false;
  held_.emplace(split, std::move(file));
  return true;
}

}  // namespace holdfast::stream
