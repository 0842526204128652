// A region in a directory of equal files: segment-000000, segment-000001, …; where the owner says
// so (RegionOptions.file_bytes) the last one may be shorter.
//
// Growing    A segment is made as segment-000007.tmp, given its memory, synced, mapped, renamed,
//            and the directory synced, one after another: after a crash there is a prefix of them,
//            each whole. A last file that is short gets longer in one step (ftruncate).
// Shrinking  Removes from the end, syncing the directory after each, so that no gap can come to be.
// Opening    A file has the size of the largest. A gap in the numbers is kCorrupt, and a shorter
//            file, unless it is the last and may be short. Whether something is missing at the end
//            only the owner of the contents can tell: it knows how long the region was. A writing
//            open removes the temporary files of an interrupted growth.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>

#include <holdfast/memory/files.hpp>
#include <holdfast/memory/lock.hpp>

namespace holdfast::memory_detail {
namespace {

constexpr std::string_view kPrefix = "segment-";
constexpr std::string_view kTemporary = ".tmp";

std::string segment_name(std::uint64_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "segment-%06llu", static_cast<unsigned long long>(index));
  return name;
}

struct Listing {
  std::map<std::uint64_t, std::string> segments;  // By number.
  std::vector<std::string> leftovers;             // Temporary files.
  std::string other;                              // Some name that is neither; empty if none.
};

// Null at the end. readdir() tells errors by errno alone: without a look at it, a directory that
// cannot be read would pass for an empty one.
Result<const dirent*> next_entry(DIR* entries, std::string_view path) {
  errno = injected_fault(Call::kReadDirectory, ::dirfd(entries));
  const dirent* const entry = errno == 0 ? ::readdir(entries) : nullptr;
  if (entry == nullptr && errno != 0) return system_error("reading of directory", path, errno);
  return entry;
}

Result<Listing> list(int directory, std::string_view path) {
  // A descriptor of its own: reading moves its position, and closedir closes it.
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("open of directory", path, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), &::closedir);
  if (!entries) return system_error("reading of directory", path, errno);
  Listing listing;
  for (;;) {
    HF_ASSIGN_OR_RETURN(const auto* const entry, next_entry(entries.get(), path));
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!name.starts_with(kPrefix)) {
      listing.other = name;
    } else if (name.ends_with(kTemporary)) {
      listing.leftovers.push_back(name);
    } else {
      const auto index = std::strtoull(name.c_str() + kPrefix.size(), nullptr, 10);
      if (name == segment_name(index)) {
        listing.segments.emplace(index, name);
      } else {
        listing.other = name;
      }
    }
  }
  return listing;
}

class DirectoryBacking final : public FilesBacking {
 public:
  DirectoryBacking(const RegionSpec& spec, const RegionOptions& options)
      : FilesBacking(spec, options) {
    kind_ = "directory";
  }

  Status open() {
    HF_ASSIGN_OR_RETURN(auto locked, open_locked(spec_, options_, true));
    directory_ = std::move(locked.fd);
    HF_ASSIGN_OR_RETURN(const auto listing, list(directory_.get(), spec_.path));
    const bool may_create =
        options_.access == RegionAccess::kCreate || options_.access == RegionAccess::kOpenOrCreate;
    if (!listing.segments.empty()) {
      if (options_.access == RegionAccess::kCreate) {
        return Error{Errc::kAlreadyExists,
                     spec_.path + " already holds a region; open it instead, or remove it"};
      }
      if (listing.segments.contains(0)) HF_RETURN_IF_ERROR(lock_first_segment());
      if (!read_only()) HF_RETURN_IF_ERROR(remove(listing.leftovers));
      return open_existing(listing.segments);
    }
    if (!may_create) return Error{Errc::kNotFound, spec_.path + " holds no segment files"};
    if (!listing.other.empty()) {
      return Error{Errc::kAlreadyExists, spec_.path + " holds other files (" + listing.other +
                                             "); give an empty or a new directory"};
    }
    HF_RETURN_IF_ERROR(remove(listing.leftovers));
    auto status = check_outside_of_regions(spec_.path);
    if (status) status = create();
    if (status) status = lock_first_segment();
    if (!status && locked.created) ::rmdir(spec_.path.c_str());
    return status;
  }

  Status grow(std::uint64_t new_size_bytes) override {
    HF_RETURN_IF_ERROR(reserve_up_to(new_size_bytes));
    const auto old_size_bytes = size_bytes();
    while (size_bytes() < new_size_bytes) {
      const auto index = size_bytes() / bytes_per_file_;
      const auto end = std::min(new_size_bytes, (index + 1) * bytes_per_file_);
      auto status = size_bytes() % bytes_per_file_ == 0 ? add_segment(index, end - size_bytes())
                                                        : extend_last(index, end);
      if (!status) {
        if (size_bytes() > old_size_bytes) static_cast<void>(shrink(old_size_bytes));
        return status;
      }
    }
    return {};
  }

  Status shrink(std::uint64_t new_size_bytes) override {
    while (size_bytes() > new_size_bytes) {
      const auto index = (size_bytes() - 1) / bytes_per_file_;
      HF_RETURN_IF_ERROR(index * bytes_per_file_ >= new_size_bytes
                             ? drop_segment(index)
                             : shorten_last(index, new_size_bytes));
    }
    return {};
  }

 private:
  std::string no_huge_reason() const override {
    if (bytes_per_file_ % kHugePageBytes == 0) return {};
    return "segments of " + std::to_string(bytes_per_file_) + " bytes are no multiple of 2 MiB";
  }

  std::string path_of(const std::string& name) const { return spec_.path + "/" + name; }

  // A directory of another name may hold the same files (`cp -al`), and its lock is another one.
  Status lock_first_segment() {
    const auto name = segment_name(0);
    struct stat status{};
    if (::fstatat(directory_.get(), name.c_str(), &status, 0) != 0 || !S_ISREG(status.st_mode))
      return {};  // Damage, which is reported where segments are opened.
    first_segment_ = FileDescriptor(
        ::openat(directory_.get(), name.c_str(), (read_only() ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    if (!first_segment_) return {};
    return lock_file(first_segment_.get(), !read_only(), path_of(name));
  }

  Status remove(const std::vector<std::string>& names) const {
    for (const auto& name : names) {
      if (::unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
        return system_error("removal of", path_of(name), errno);
      }
    }
    return names.empty() ? ok_status() : sync_directory(directory_.get(), spec_.path);
  }

  Status create() {
    unit_bytes_ = options_.unit_bytes;
    bytes_per_file_ = options_.file_bytes != 0 ? options_.file_bytes : unit_bytes_;
    {
      const auto name = "segment-probe" + std::string(kTemporary);
      const FileDescriptor probe(
          ::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
      if (!probe) return system_error("creation of", path_of(name), errno);
      const auto status = examine(probe.get());
      ::unlinkat(directory_.get(), name.c_str(), 0);
      HF_RETURN_IF_ERROR(status);
    }
    HF_RETURN_IF_ERROR(reserve(options_.size_bytes));
    HF_RETURN_IF_ERROR(grow(options_.size_bytes));
    auto status = sync_parent(spec_.path);
    if (!status) static_cast<void>(shrink(0));
    return status;
  }

  Status add_segment(std::uint64_t index, std::uint64_t bytes) {
    const auto name = segment_name(index);
    const auto temporary = name + std::string(kTemporary);
    auto file = std::make_shared<OpenFile>();
    file->path = path_of(name);
    file->fd = FileDescriptor(::openat(directory_.get(), temporary.c_str(),
                                       O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file->fd) {
      auto error = system_error("creation of", file->path, errno);
      if (errno == ENOENT) error.detail.append("; was the directory removed while in use?");
      return error;
    }
    const auto offset = index * bytes_per_file_;
    Status status;
    if (::ftruncate(file->fd.get(), static_cast<off_t>(bytes)) != 0) {
      status = system_error("ftruncate of", file->path, errno);
    }
    if (status) status = add_memory(*file, 0, offset, bytes);
    if (status) {
      status = rename_at(directory_.get(), temporary, name, spec_.path);
      if (status) {
        status = sync_directory(directory_.get(), spec_.path);
        if (!status) ::unlinkat(directory_.get(), name.c_str(), 0);
      }
      if (!status) static_cast<void>(addresses_.release(offset, bytes));
    }
    if (!status) {
      ::unlinkat(directory_.get(), temporary.c_str(), 0);
      return status;
    }
    keep(index, std::move(file));
    size_bytes_.store(offset + bytes, std::memory_order_release);
    return {};
  }

  // Only the page back end needs the file again once it is mapped.
  void keep(std::uint64_t index, std::shared_ptr<OpenFile> file) {
    const bool needed = !read_only() && medium_.granularity == Granularity::kPage;
    set_last_file(index, needed ? std::move(file) : nullptr);
  }

  // The last file, open for writing: page tiers have it, the others only map it.
  Result<std::shared_ptr<OpenFile>> last_file(std::uint64_t index) {
    if (auto open = file(index)) return open;
    auto again = std::make_shared<OpenFile>();
    again->path = path_of(segment_name(index));
    again->fd =
        FileDescriptor(::openat(directory_.get(), segment_name(index).c_str(), O_RDWR | O_CLOEXEC));
    // A file that is gone was part of an open region: not kNotFound.
    if (!again->fd) return Error{Errc::kIo, system_error("open of", again->path, errno).detail};
    return again;
  }

  Status extend_last(std::uint64_t index, std::uint64_t end) {
    HF_ASSIGN_OR_RETURN(const auto last, last_file(index));
    const auto size = size_bytes();
    const auto begin = index * bytes_per_file_;
    // The length changes in one step, so that a crash leaves the old one or the new one.
    Status status;
    if (::ftruncate(last->fd.get(), static_cast<off_t>(end - begin)) != 0) {
      status = system_error("ftruncate of", last->path, errno);
    } else {
      status = add_memory(*last, size - begin, size, end - size);
    }
    if (!status) {
      static_cast<void>(::ftruncate(last->fd.get(), static_cast<off_t>(size - begin)));
      return status;
    }
    size_bytes_.store(end, std::memory_order_release);
    return {};
  }

  Status shorten_last(std::uint64_t index, std::uint64_t end) {
    HF_ASSIGN_OR_RETURN(const auto last, last_file(index));
    const auto length = static_cast<off_t>(end - index * bytes_per_file_);
    HF_RETURN_IF_ERROR(addresses_.release(end, size_bytes() - end));
    size_bytes_.store(end, std::memory_order_release);
    if (::ftruncate(last->fd.get(), length) != 0)
      return system_error("ftruncate of", last->path, errno);
    return sync_length(*last);
  }

  Status drop_segment(std::uint64_t index) {
    const auto path = path_of(segment_name(index));
    const auto offset = index * bytes_per_file_;
    const auto bytes = size_bytes() - offset;
    const auto dropped = file(index);
    if (dropped) dropped->given_up.store(true);
    if (::unlinkat(directory_.get(), segment_name(index).c_str(), 0) != 0) {
      if (dropped) dropped->given_up.store(false);
      return system_error("removal of", path, errno);
    }
    size_bytes_.store(offset, std::memory_order_release);
    forget_files(index);
    HF_RETURN_IF_ERROR(addresses_.release(offset, bytes));
    return sync_directory(directory_.get(), spec_.path);
  }

  // ---- Opening what is there.

  Status damaged(const std::string& what) {
    if (!options_.tolerate_damage) return Error{Errc::kCorrupt, what};
    damage_.push_back(what);
    return {};
  }

  // Bytes of the file, or -1 if it cannot be used, which is then damage.
  Result<std::int64_t> open_segment(const std::string& name, OpenFile& file) {
    file.path = path_of(name);
    struct stat status{};
    // Asked before opening, which could wait without end (a pipe) or set something off (a device).
    if (::fstatat(directory_.get(), name.c_str(), &status, 0) == 0 && !S_ISREG(status.st_mode)) {
      HF_RETURN_IF_ERROR(damaged(file.path + " is not a regular file"));
      return -1;
    }
    file.fd = FileDescriptor(::openat(directory_.get(), name.c_str(),
                                      (read_only() ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK));
    if (!file.fd || ::fstat(file.fd.get(), &status) != 0) {
      auto error = system_error("open of", file.path, errno);
      if (!options_.tolerate_damage) return error;
      damage_.push_back(error.detail);
      refused_ = std::move(error);
      file.fd = FileDescriptor();
      return -1;
    }
    return status.st_size;
  }

  Status open_existing(const std::map<std::uint64_t, std::string>& segments) {
    // Sizes first: the largest is the unit.
    std::map<std::uint64_t, std::uint64_t> sizes;
    std::uint64_t largest = 0;
    bool examined = false;
    for (const auto& [index, name] : segments) {
      OpenFile file;
      HF_ASSIGN_OR_RETURN(const auto bytes, open_segment(name, file));
      if (bytes < 0) continue;
      if (!examined) HF_RETURN_IF_ERROR(examine(file.fd.get()));
      examined = true;
      sizes[index] = static_cast<std::uint64_t>(bytes);
      largest = std::max(largest, sizes[index]);
    }
    bytes_per_file_ = round_up(largest, kPageBytes);
    // What may not be opened may be sound.
    if (bytes_per_file_ == 0 && refused_.code != Errc::kOk) return refused_;
    if (bytes_per_file_ == 0) {
      return Error{Errc::kCorrupt,
                   spec_.path + ": no segment file that could be read holds a byte"};
    }
    const auto last = segments.rbegin()->first;
    if (last >= ~std::uint64_t{0} / 2 / bytes_per_file_) {
      return Error{Errc::kCorrupt, spec_.path + ": " + segments.rbegin()->second +
                                       " is numbered beyond any address"};
    }
    unit_bytes_ = bytes_per_file_;
    auto last_bytes = bytes_per_file_;
    if (options_.file_bytes != 0) {
      unit_bytes_ = kPageBytes;
      const auto found = sizes.find(last);
      if (found != sizes.end() && found->second != 0 && found->second % kPageBytes == 0)
        last_bytes = found->second;
      // The only file does not tell how long it may get.
      if (last == 0) bytes_per_file_ = std::max(bytes_per_file_, options_.file_bytes);
    }
    const auto whole_bytes = last * bytes_per_file_ + last_bytes;
    HF_RETURN_IF_ERROR(reserve(whole_bytes));
    for (std::uint64_t index = 0; index <= last; ++index) {
      HF_RETURN_IF_ERROR(open_one(index, sizes, index == last ? last_bytes : bytes_per_file_));
    }
    size_bytes_.store(whole_bytes, std::memory_order_release);
    return options_.prefault ? prefault(0, size_bytes()) : ok_status();
  }

  Status open_one(std::uint64_t index, const std::map<std::uint64_t, std::uint64_t>& sizes,
                  std::uint64_t expected_bytes) {
    const auto name = segment_name(index);
    const auto offset = index * bytes_per_file_;
    const auto size = sizes.find(index);
    if (size == sizes.end()) {
      HF_RETURN_IF_ERROR(damaged(path_of(name) + " is missing; expected " +
                                 std::to_string(expected_bytes) + " bytes"));
      return map_zeros(offset, expected_bytes);
    }
    if (size->second != expected_bytes) {
      HF_RETURN_IF_ERROR(damaged(path_of(name) + " holds " + std::to_string(size->second) +
                                 " bytes; expected " + std::to_string(expected_bytes)));
    }
    auto file = std::make_shared<OpenFile>();
    HF_ASSIGN_OR_RETURN(const auto bytes, open_segment(name, *file));
    if (bytes < 0) return map_zeros(offset, expected_bytes);
    if (!read_only()) HF_RETURN_IF_ERROR(fill_holes(*file));
    const auto there =
        std::min(round_up(static_cast<std::uint64_t>(bytes), kPageBytes), expected_bytes);
    HF_RETURN_IF_ERROR(map(*file, 0, offset, there));
    HF_RETURN_IF_ERROR(map_zeros(offset + there, expected_bytes - there));
    keep(index, std::move(file));
    return {};
  }

  // Stands in for what is missing: a load there must not be a SIGBUS.
  Status map_zeros(std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return {};
    if (::mmap(at(offset), bytes, PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
      return system_error("mmap in place of", path_of("…"), errno);
    }
    return {};
  }

  Error refused_{Errc::kOk, {}};  // The last file that could not be opened.
  FileDescriptor directory_;      // Holds the lock.
  FileDescriptor first_segment_;  // Holds a lock, too: another directory may link it.
};

}  // namespace

Status check_outside_of_regions(const std::string& path) {
  std::error_code unknown;
  auto inner = std::filesystem::weakly_canonical(std::filesystem::absolute(path), unknown);
  while (inner.has_relative_path()) {
    inner = inner.parent_path();
    if (!std::filesystem::exists(inner / segment_name(0), unknown)) continue;
    return Error{Errc::kInvalidOption, path + " is in " + inner.string() +
                                           ", which holds a region, and would go with it; name a "
                                           "place elsewhere"};
  }
  return {};
}

Result<std::unique_ptr<Backing>> open_directory(const RegionSpec& spec,
                                                const RegionOptions& options) {
  auto backing = std::make_unique<DirectoryBacking>(spec, options);
  HF_RETURN_IF_ERROR(backing->open());
  return std::unique_ptr<Backing>(std::move(backing));
}

}  // namespace holdfast::memory_detail
