#include "durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>

#include <holdfast/memory/lock.hpp>

namespace holdfast::stream {

using memory_detail::system_error;

Result<FileDescriptor> create_file(int directory, const std::string& name,
                                   const std::string& path) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  FileDescriptor file(::openat(directory, name.c_str(), flags, 0644));
  if (!file) return system_error("open", path, errno);
  return file;
}

Result<FileDescriptor> open_directory(const std::string& path) {
  FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_error("open", path, errno);
  return directory;
}

Result<FileDescriptor> locked_directory(const std::string& path) {
  HF_ASSIGN_OR_RETURN(auto directory, open_directory(path));
  const Status locked = memory_detail::lock_file(
      directory.get(), true, path, "; end that run, or name another directory for this one");
  if (!locked && locked.code() != Errc::kUnsupported) return locked.error();
  return directory;
}

Status make_directories(const std::string& path) {
  std::filesystem::path made;
  for (const auto& level : std::filesystem::path(path)) {
    const std::string parent = made.empty() ? "." : made.string();
    made /= level;
    if (::mkdir(made.c_str(), 0777) == 0) {
      HF_ASSIGN_OR_RETURN(const auto directory, open_directory(parent));
      HF_RETURN_IF_ERROR(memory_detail::sync_directory(directory.get(), parent));
      continue;
    }
    const int why = errno;
    std::error_code code;
    if (!std::filesystem::is_directory(made, code))
      return system_error("mkdir", made.string(), why);
  }
  return {};
}

std::string random_name() {
  std::random_device random;
  char name[17];
  std::snprintf(name, sizeof name, "%08x%08x", random(), random());
  return name;
}
bool is_random_name(std::string_view name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

Status write_at(const FileDescriptor& file, std::string_view bytes, std::uint64_t offset,
                const std::string& path) {
  const std::array buffers{std::as_bytes(std::span(bytes))};
  return memory_detail::write_all(file.get(), buffers, offset, path);
}

Status replace_file(const std::string& path, std::string_view bytes) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  HF_ASSIGN_OR_RETURN(const auto directory, open_directory(folder));
  HF_ASSIGN_OR_RETURN(const auto file, create_file(directory.get(), name + ".new", path + ".new"));
  HF_RETURN_IF_ERROR(write_at(file, bytes, 0, path + ".new"));
  HF_RETURN_IF_ERROR(memory_detail::sync_data(file.get(), path + ".new"));
  HF_RETURN_IF_ERROR(memory_detail::rename_at(directory.get(), name + ".new", name, folder));
  return memory_detail::sync_directory(directory.get(), folder);
}

Result<std::string> read_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error("open", path, errno);
  std::string bytes;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got > 0) bytes.append(block, static_cast<std::size_t>(got));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return system_error("read", path, errno);
  }
}

}  // namespace holdfast::stream
