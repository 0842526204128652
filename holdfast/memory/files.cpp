#include <holdfast/memory/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <holdfast/memory/lock.hpp>

namespace holdfast::memory_detail {

namespace {

// Whether the file of `fd` has no name any more. Asks for no times: since Linux 6.13 a file whose
// times somebody asked for gets new ones with its next write, and the next fdatasync then writes
// its inode, too.
bool removed(int fd) {
  struct statx status{};
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &status) == 0 && status.stx_nlink == 0;
}

}  // namespace

Status FilesBacking::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  return write_gathered(offset, {&bytes, 1});
}

Status FilesBacking::write_gathered(std::uint64_t offset,
                                    std::span<const std::span<const std::byte>> buffers) {
  const SharedLock lock(files_mutex_);
  std::uint64_t total_bytes = 0;
  for (const auto& buffer : buffers)
    total_bytes += buffer.size();
  // Buffers, or their parts, that go to one file. Nearly always: all of them.
  std::vector<std::span<const std::byte>> parts;
  std::size_t next = 0;
  std::size_t done_bytes = 0;
  while (total_bytes > 0) {
    auto& file = *files_[offset / bytes_per_file_];
    const auto within = offset % bytes_per_file_;
    const auto bytes = std::min(total_bytes, bytes_per_file_ - within);
    auto here = buffers.subspan(next);
    if (bytes < total_bytes || done_bytes > 0) {
      parts.clear();
      for (auto left = bytes; left > 0;) {
        const auto rest = buffers[next].subspan(done_bytes);
        const auto taken = std::min<std::uint64_t>(left, rest.size());
        parts.push_back(rest.first(taken));
        left -= taken;
        done_bytes += taken;
        if (done_bytes == buffers[next].size()) ++next, done_bytes = 0;
      }
      here = parts;
    }
    const auto written = write_all(file.fd.get(), here, within, file.path);
    // Set after the write: a sync that clears it from here on comes after the bytes. Also after a
    // failure, which may have written a part.
    file.unsynced.store(true, std::memory_order_release);
    HF_RETURN_IF_ERROR(written);
    offset += bytes;
    total_bytes -= bytes;
  }
  return {};
}

Status FilesBacking::sync() {
  if (MappedBacking::read_only() || medium_.granularity != Granularity::kPage) return {};
  const Lock lock(sync_mutex_);
  if (sync_failed_.load()) {
    return Error{Errc::kReadOnly, "sync of " + spec_.text +
                                      ": an earlier one failed and the region is read-only since; "
                                      "reopen it to see what the medium kept"};
  }
  std::vector<std::shared_ptr<OpenFile>> files;
  {
    const SharedLock files_lock(files_mutex_);
    files.reserve(files_.size());  // Here, where there may be too little memory: no mark is taken.
    for (const auto& file : files_) {
      if (file && file->unsynced.exchange(false, std::memory_order_acq_rel)) files.push_back(file);
    }
  }
  // Also where there is too little memory to say what failed.
  const auto fail = [](std::atomic<bool>* failed) { failed->store(true); };
  std::unique_ptr<std::atomic<bool>, decltype(fail)> unless_done(&sync_failed_, fail);
  for (const auto& file : files) {
    auto result = sync_data(file->fd.get(), file->path);
    if (result && !file->given_up && removed(file->fd.get()))
      result = Error{Errc::kIo,
                     file->path + " was removed while in use; what was written to it is lost"};
    if (!result) return give_up(std::move(result).error());
  }
  static_cast<void>(unless_done.release());
  return {};
}

Status FilesBacking::give_up(Error error) {
  sync_failed_.store(true);
  error.code = Errc::kIo;
  error.detail.append("; the region is read-only from now on");
  return error;
}

// Beside a sync, either could be told of what the other one lost.
Status FilesBacking::sync_length(const OpenFile& file) {
  const Lock lock(sync_mutex_);
  auto status = sync_file(file.fd.get(), file.path);
  if (status || medium_.granularity != Granularity::kPage) return status;
  return give_up(std::move(status).error());
}

std::shared_ptr<OpenFile> FilesBacking::file(std::uint64_t number) const {
  const SharedLock lock(files_mutex_);
  return files_[number];
}

void FilesBacking::set_last_file(std::uint64_t number, std::shared_ptr<OpenFile> file) {
  const Lock lock(files_mutex_);
  files_.resize(number + 1);
  files_[number] = std::move(file);
}

void FilesBacking::forget_files(std::uint64_t number) {
  const Lock lock(files_mutex_);
  files_.resize(number);
}

Status FilesBacking::examine(int fd) {
  HF_ASSIGN_OR_RETURN(medium_, examine_file(fd, spec_));
  if (MappedBacking::read_only()) {
    mapping_ = "MAP_SHARED, read-only";
  } else if (medium_.granularity == Granularity::kPage) {
    mapping_ = "MAP_SHARED, read-only; written with pwritev";
  } else {
    mapping_ =
        medium_.map_sync ? "MAP_SYNC" : "MAP_SHARED, no MAP_SYNC: " + medium_.map_sync_reason;
  }
  return {};
}

Status FilesBacking::map(const OpenFile& file, std::uint64_t file_offset, std::uint64_t offset,
                         std::uint64_t bytes) {
  if (bytes == 0) return {};
  const int error_number = map_file(at(offset), bytes, file.fd.get(), file_offset, map_writable(),
                                    map_writable() && medium_.map_sync);
  if (error_number != 0) return system_error("mmap of", file.path, error_number);
  if (!reads_ahead()) {
    advise_pages(at(offset), bytes, spec_.huge);
    return {};
  }
  // A fault of a mapping that wants huge pages reads 2 MiB, random advice or not. So no such wish
  // is made for a disk, unless the spec has it.
  if (spec_.huge != HugePages::kAuto) advise_pages(at(offset), bytes, spec_.huge);
  advise_reads(at(offset), bytes, ReadAdvice::kRandom);
  return {};
}

Status FilesBacking::add_memory(const OpenFile& file, std::uint64_t file_offset,
                                std::uint64_t offset, std::uint64_t bytes) {
  const auto with_mapping = [&]() -> Status {
    const auto allocate_all = [&] {
      return allocate(file.fd.get(), file_offset, file_offset + bytes, !medium_.in_memory,
                      file.path);
    };
    if (medium_.in_memory) {
      // tmpfs allocates small pages, unless all of the system is set to large ones; and the kernel
      // makes a large one of small ones by copying them, 512 where all were allocated before: 32
      // MiB then take 29 ms instead of 2.5. So one small page for each large one, which it cannot
      // do without; what stays small is allocated afterwards, which also tells whether there is
      // space.
      seed_huge_pages(file.fd.get(), file_offset, offset, bytes);
      HF_RETURN_IF_ERROR(map(file, file_offset, offset, bytes));
      make_pages_huge(offset, bytes);
      HF_RETURN_IF_ERROR(allocate_all());
    } else {
      HF_RETURN_IF_ERROR(allocate_all());
      HF_RETURN_IF_ERROR(file_offset == 0 ? sync_file(file.fd.get(), file.path)
                                          : sync_length(file));
      HF_RETURN_IF_ERROR(map(file, file_offset, offset, bytes));
    }
    if (options_.prefault) populate(at(offset), bytes, map_writable());
    return {};
  };
  auto status = with_mapping();
  if (!status) static_cast<void>(addresses_.release(offset, bytes));
  return status;
}

void FilesBacking::seed_huge_pages(int fd, std::uint64_t file_offset, std::uint64_t offset,
                                   std::uint64_t bytes) const {
  if (!wants_huge_pages()) return;
  const auto end = round_down(offset + bytes, kHugePageBytes);
  for (auto place = round_up(offset, kHugePageBytes); place < end; place += kHugePageBytes) {
    const auto in_file = static_cast<off_t>(file_offset + (place - offset));
    if (::fallocate(fd, 0, in_file, kPageBytes) != 0) return;  // allocate() will say why.
  }
}

Status FilesBacking::fill_holes(const OpenFile& file) {
  struct stat status{};
  if (::fstat(file.fd.get(), &status) != 0) return system_error("stat of", file.path, errno);
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  // The blocks of a disk may hold the list of a file's pieces, too. The first hole is behind the
  // last byte where there is none.
  const bool full = static_cast<std::uint64_t>(status.st_blocks) * 512 >= bytes;
  if (full && (medium_.in_memory || ::lseek(file.fd.get(), 0, SEEK_HOLE) >= status.st_size))
    return {};
  return fill_holes_of(file.fd.get(), bytes, file.path);
}

Result<LockedPath> open_locked(const RegionSpec& spec, const RegionOptions& options,
                               bool directory) {
  const bool read_only = options.access == RegionAccess::kOpenReadOnly;
  const bool may_create =
      options.access == RegionAccess::kCreate || options.access == RegionAccess::kOpenOrCreate;
  const int flags = O_CLOEXEC | (directory   ? O_RDONLY | O_DIRECTORY
                                 : read_only ? O_RDONLY
                                             : O_RDWR);
  // Again if the path became another file between opening and locking.
  for (int attempt = 0; attempt < 100; ++attempt) {
    LockedPath locked;
    locked.fd = FileDescriptor(::open(spec.path.c_str(), flags));
    if (!locked.fd && errno == ENOENT && may_create) {
      if (directory) {
        locked.created = ::mkdir(spec.path.c_str(), 0755) == 0;
        if (locked.created) locked.fd = FileDescriptor(::open(spec.path.c_str(), flags));
      } else {
        locked.fd = FileDescriptor(::open(spec.path.c_str(), flags | O_CREAT | O_EXCL, 0644));
        locked.created = static_cast<bool>(locked.fd);
      }
      if (!locked.created && errno == EEXIST) continue;
      if (!locked.created) return system_error("creation of", spec.path, errno);
    }
    if (!locked.fd) return system_error("open of", spec.path, errno);
    HF_RETURN_IF_ERROR(lock_file(locked.fd.get(), !read_only, spec.path));
    struct stat here{};
    struct stat there{};
    if (::fstat(locked.fd.get(), &here) == 0 && ::stat(spec.path.c_str(), &there) == 0 &&
        here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
      return locked;
    }
  }
  return Error{Errc::kBusy, spec.path + " is being replaced again and again by another process"};
}

Status sync_parent(const std::string& path) {
  const auto slash = path.find_last_of('/');
  const auto parent = slash == std::string::npos ? std::string(".")
                      : slash == 0               ? std::string("/")
                                                 : path.substr(0, slash);
  const FileDescriptor fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error("open of directory", parent, errno);
  return sync_directory(fd.get(), parent);
}

}  // namespace holdfast::memory_detail
