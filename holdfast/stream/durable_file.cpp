#include "durable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace holdfast::stream {

Error system_error(std::string_view call, const std::string& path) {
  const int code = errno;
  const Errc kind = code == ENOSPC ? Errc::kNoSpace : code == ENOENT ? Errc::kNotFound : Errc::kIo;
  return Error{kind, std::string(call) + " " + path + ": " + std::strerror(code)};
}

Status write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

Status sync_directory(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return system_error("open", directory);
  const bool synced = ::fsync(file) == 0;
  Status status = synced ? Status() : Status(system_error("fsync", directory));
  ::close(file);
  return status;
}

Status replace_file(const std::string& path, std::string_view bytes) {
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return system_error("open", fresh);
  Status status = write_all(file, bytes, fresh);
  if (status && ::fsync(file) != 0) status = system_error("fsync", fresh);
  ::close(file);
  HF_RETURN_IF_ERROR(std::move(status));
  if (::rename(fresh.c_str(), path.c_str()) != 0) return system_error("rename", path);
  const auto slash = path.rfind('/');
  return sync_directory(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Result<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error("open", path);
  std::string bytes;
  char block[1 << 16];
  ssize_t got = 0;
  do {
    got = ::read(file, block, sizeof block);
    if (got > 0) bytes.append(block, static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  Status status = got < 0 ? Status(system_error("read", path)) : Status();
  ::close(file);
  HF_RETURN_IF_ERROR(std::move(status));
  return bytes;
}

}  // namespace holdfast::stream
