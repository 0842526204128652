// system.hpp: the system calls of the memory layer, with their errors as values and a seam through
// which tests let them fail. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/base/result.hpp>

namespace holdfast::memory_detail {

// Owns an open file; closes it. -1: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "<call> <target>: No space left on device (ENOSPC)". ENOSPC and EDQUOT become kNoSpace, and
// so do ENOMEM, EMFILE and ENFILE; ENOENT kNotFound, everything else kIo.
Error system_error(std::string_view call, std::string_view target, int error_number);

// The calls that tests let fail. The hook sees every one of them before it is made and returns 0 to
// let it through or the errno to fail with; null removes it. Any thread; a test's business only.
enum class Call : std::uint8_t {
  kWrite,
  kDataSync,
  kFileSync,
  kAllocate,
  kRename,
  kDirectorySync,
  kMap,
  kRead,
  kReadDirectory
};
using FaultHook = int (*)(Call call, int fd);
FaultHook set_fault_hook(FaultHook hook);
int injected_fault(Call call, int fd);

// Writes all buffers one after another at `offset`. A failure may leave a part of them written.
Status write_all(int fd, std::span<const std::span<const std::byte>> buffers, std::uint64_t offset,
                 std::string_view target);
// fdatasync.
Status sync_data(int fd, std::string_view target);
// fsync, of a file that got longer or shorter.
Status sync_file(int fd, std::string_view target);
// Makes creations, renames and removals inside durable.
Status sync_directory(int fd, std::string_view target);
Status rename_at(int directory, const std::string& from, const std::string& to,
                 std::string_view directory_path);
// Gives [begin, end) of a file that is at least `end` long its blocks, so that later writes into it
// can neither fail for space nor need new metadata: allocated, and written with zeros if `zero`.
// Errors: kNoSpace, kIo.
Status allocate(int fd, std::uint64_t begin, std::uint64_t end, bool zero, std::string_view target);
// Gives the holes of the first `bytes` of a file their blocks; what is there stays. A file system
// that cannot allocate is left alone: writing zeros instead could meet data. Errors: kNoSpace, kIo.
Status fill_holes_of(int fd, std::uint64_t bytes, std::string_view target);

// The whole of a small file, without trailing white space; empty if it cannot be read.
std::string read_text(const std::string& path);
std::uint64_t physical_page_bytes();

}  // namespace holdfast::memory_detail
