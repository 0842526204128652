#include <holdfast/memory/system.hpp>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include <holdfast/base/units.hpp>

namespace holdfast::memory_detail {
namespace {

std::atomic<FaultHook> fault_hook{nullptr};

// The page cache keeps what one call wrote in pages of about that size, and ext4 then walks all 4
// KiB of such a page at each small write. By 64 KiB an append of 256 bytes took 0.4 us, by 256 KiB
// 0.6, by 4 MiB 6.4 (docs/performance.md).
constexpr std::size_t kZeroBytes = 64 * KiB;
alignas(kPageBytes) constinit std::array<std::byte, kZeroBytes> zeros{};

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

// Of the medium, of the system's memory, or of descriptors.
static bool is_lack_of_room(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == ENOMEM ||
         error_number == EMFILE || error_number == ENFILE;
}

Error system_error(std::string_view call, std::string_view target, int error_number) {
  const auto code = is_lack_of_room(error_number) ? Errc::kNoSpace
                    : error_number == ENOENT      ? Errc::kNotFound
                                                  : Errc::kIo;
  const char* description = ::strerrordesc_np(error_number);
  const char* symbol = ::strerrorname_np(error_number);
  std::string detail{call};
  detail.append(" ").append(target).append(": ");
  detail.append(description ? description : "unknown error");
  detail.append(" (").append(symbol ? symbol : std::to_string(error_number)).append(")");
  if (error_number == EMFILE) detail.append("; raise the limit of open files (ulimit -n)");
  return {code, std::move(detail)};
}

FaultHook set_fault_hook(FaultHook hook) { return fault_hook.exchange(hook); }

int injected_fault(Call call, int fd) {
  const auto hook = fault_hook.load(std::memory_order_relaxed);
  return hook ? hook(call, fd) : 0;
}

Status write_all(int fd, std::span<const std::span<const std::byte>> buffers, std::uint64_t offset,
                 std::string_view target) {
  if (const int fault = injected_fault(Call::kWrite, fd)) {
    return system_error("pwritev to", target, fault);
  }
  std::array<iovec, 64> vectors;
  std::size_t next = 0;        // First buffer with something left,
  std::size_t done_bytes = 0;  // and how much of it is written.
  while (true) {
    std::size_t count = 0;
    for (auto index = next; index < buffers.size() && count < vectors.size(); ++index) {
      const auto rest = buffers[index].subspan(index == next ? done_bytes : 0);
      if (rest.empty()) continue;
      vectors[count++] = {const_cast<std::byte*>(rest.data()), rest.size()};
    }
    if (count == 0) {
      // The window held only empty buffers, or everything is written.
      return {};
    }
    const auto written =
        ::pwritev(fd, vectors.data(), static_cast<int>(count), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("pwritev to", target, errno);
    if (written == 0) return system_error("pwritev to", target, EIO);
    offset += static_cast<std::uint64_t>(written);
    auto left = static_cast<std::size_t>(written);
    while (next < buffers.size() && left >= buffers[next].size() - done_bytes) {
      left -= buffers[next].size() - done_bytes;
      done_bytes = 0;
      ++next;
    }
    done_bytes += left;
  }
}

Status sync_data(int fd, std::string_view target) {
  if (const int fault = injected_fault(Call::kDataSync, fd)) {
    return system_error("fdatasync of", target, fault);
  }
  // Never repeated, also not on EINTR: after a failure the kernel may have dropped the pages.
  if (::fdatasync(fd) != 0) return system_error("fdatasync of", target, errno);
  return {};
}

Status sync_file(int fd, std::string_view target) {
  if (const int fault = injected_fault(Call::kFileSync, fd)) {
    return system_error("fsync of", target, fault);
  }
  // Never repeated, as above.
  if (::fsync(fd) != 0) return system_error("fsync of", target, errno);
  return {};
}

Status sync_directory(int fd, std::string_view target) {
  if (const int fault = injected_fault(Call::kDirectorySync, fd)) {
    return system_error("fsync of directory", target, fault);
  }
  if (::fsync(fd) != 0) return system_error("fsync of directory", target, errno);
  return {};
}

Status rename_at(int directory, const std::string& from, const std::string& to,
                 std::string_view directory_path) {
  int error_number = injected_fault(Call::kRename, directory);
  if (error_number == 0 && ::renameat(directory, from.c_str(), directory, to.c_str()) != 0) {
    error_number = errno;
  }
  if (error_number == 0) return {};
  auto error = system_error("rename in", directory_path, error_number);
  error.detail.append(": ").append(from).append(" to ").append(to);
  return error;
}

namespace {

int try_fallocate(int fd, std::uint64_t begin, std::uint64_t end) {
  if (const int fault = injected_fault(Call::kAllocate, fd)) return fault;
  while (::fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool cannot_fallocate(int error_number) {
  return error_number == EOPNOTSUPP || error_number == ENOSYS;
}

}  // namespace

Status allocate(int fd, std::uint64_t begin, std::uint64_t end, bool zero,
                std::string_view target) {
  const int error_number = try_fallocate(fd, begin, end);
  // Without fallocate the zeros alone must do; they also find out whether there is space.
  zero |= cannot_fallocate(error_number);
  if (error_number != 0 && !cannot_fallocate(error_number)) {
    return system_error("fallocate of", target, error_number);
  }
  while (zero && begin < end) {
    const auto part = std::span<const std::byte>(zeros).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(kZeroBytes, end - begin)));
    HF_RETURN_IF_ERROR(write_all(fd, {&part, 1}, begin, target));
    begin += part.size();
  }
  return {};
}

Status fill_holes_of(int fd, std::uint64_t bytes, std::string_view target) {
  const int error_number = try_fallocate(fd, 0, bytes);
  if (error_number == 0 || cannot_fallocate(error_number)) return {};
  return system_error("fallocate of", target, error_number);
}

std::string read_text(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const auto got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) {
    text.pop_back();
  }
  return text;
}

std::uint64_t physical_page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace holdfast::memory_detail
