// A region in a directory of equal files: segment-000000, segment-000001, …
//
// Growing    A segment is made as segment-000007.tmp, given its memory, synced, mapped, renamed,
//            and the directory synced, one after another: after a crash there is a prefix of them,
//            each whole.
// Shrinking  Removes from the end, syncing the directory after each, so that no gap can come to be.
// Opening    The unit is the size of the largest segment. A gap in the numbers or a shorter segment
//            is kCorrupt. Whether trailing segments are missing only the owner of the contents can
//            tell. A writing open removes the temporary files of an interrupted growth.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>

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

Result<Listing> list(int directory, std::string_view path) {
  // A descriptor of its own: reading moves its position, and closedir closes it.
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("open of directory", path, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), &::closedir);
  if (!entries) return system_error("reading of directory", path, errno);
  Listing listing;
  while (const auto* entry = ::readdir(entries.get())) {
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
    auto status = create();
    if (status) status = lock_first_segment();
    if (!status && locked.created) ::rmdir(spec_.path.c_str());
    return status;
  }

  Status grow(std::uint64_t new_size_bytes) override {
    const auto old_size_bytes = size_bytes();
    while (size_bytes() < new_size_bytes) {
      auto status = add_segment(size_bytes() / unit_bytes_);
      if (!status) {
        if (size_bytes() > old_size_bytes) static_cast<void>(shrink(old_size_bytes));
        return status;
      }
    }
    return {};
  }

  Status shrink(std::uint64_t new_size_bytes) override {
    while (size_bytes() > new_size_bytes) {
      HF_RETURN_IF_ERROR(drop_segment(size_bytes() / unit_bytes_ - 1));
    }
    return {};
  }

 private:
  std::string no_huge_reason() const override {
    if (unit_bytes_ % kHugePageBytes == 0) return {};
    return "segments of " + std::to_string(unit_bytes_) + " bytes are no multiple of 2 MiB";
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
    bytes_per_file_ = unit_bytes_;
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

  Status add_segment(std::uint64_t index) {
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
    const auto offset = index * unit_bytes_;
    Status status;
    if (::ftruncate(file->fd.get(), static_cast<off_t>(unit_bytes_)) != 0) {
      status = system_error("ftruncate of", file->path, errno);
    }
    if (status) status = add_memory(*file, 0, offset, unit_bytes_);
    if (status) {
      status = rename_at(directory_.get(), temporary, name, spec_.path);
      if (status) {
        status = sync_directory(directory_.get(), spec_.path);
        if (!status) ::unlinkat(directory_.get(), name.c_str(), 0);
      }
      if (!status) static_cast<void>(addresses_.release(offset, unit_bytes_));
    }
    if (!status) {
      ::unlinkat(directory_.get(), temporary.c_str(), 0);
      return status;
    }
    keep(index, std::move(file));
    size_bytes_.store(offset + unit_bytes_, std::memory_order_release);
    return {};
  }

  // Only the page back end needs the file again once it is mapped.
  void keep(std::uint64_t index, std::shared_ptr<OpenFile> file) {
    const bool needed = !read_only() && medium_.granularity == Granularity::kPage;
    set_last_file(index, needed ? std::move(file) : nullptr);
  }

  Status drop_segment(std::uint64_t index) {
    const auto path = path_of(segment_name(index));
    const auto offset = index * unit_bytes_;
    const auto dropped = file(index);
    if (dropped) dropped->given_up.store(true);
    if (::unlinkat(directory_.get(), segment_name(index).c_str(), 0) != 0) {
      if (dropped) dropped->given_up.store(false);
      return system_error("removal of", path, errno);
    }
    size_bytes_.store(offset, std::memory_order_release);
    forget_files(index);
    HF_RETURN_IF_ERROR(addresses_.release(offset, unit_bytes_));
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
    unit_bytes_ = round_up(largest, kPageBytes);
    bytes_per_file_ = unit_bytes_;
    if (unit_bytes_ == 0) {
      return Error{Errc::kCorrupt,
                   spec_.path + ": no segment file that could be read holds a byte"};
    }
    const auto count = segments.rbegin()->first + 1;
    if (count > ~std::uint64_t{0} / 2 / unit_bytes_) {
      return Error{Errc::kCorrupt, spec_.path + ": " + segments.rbegin()->second +
                                       " is numbered beyond any address"};
    }
    HF_RETURN_IF_ERROR(reserve(count * unit_bytes_));
    for (std::uint64_t index = 0; index < count; ++index) {
      HF_RETURN_IF_ERROR(open_one(index, sizes));
    }
    size_bytes_.store(count * unit_bytes_, std::memory_order_release);
    return options_.prefault ? prefault(0, size_bytes()) : ok_status();
  }

  Status open_one(std::uint64_t index, const std::map<std::uint64_t, std::uint64_t>& sizes) {
    const auto name = segment_name(index);
    const auto offset = index * unit_bytes_;
    const auto size = sizes.find(index);
    if (size == sizes.end()) {
      HF_RETURN_IF_ERROR(damaged(path_of(name) + " is missing; expected " +
                                 std::to_string(unit_bytes_) + " bytes"));
      return map_zeros(offset, unit_bytes_);
    }
    if (size->second != unit_bytes_) {
      HF_RETURN_IF_ERROR(damaged(path_of(name) + " holds " + std::to_string(size->second) +
                                 " bytes; expected " + std::to_string(unit_bytes_)));
    }
    auto file = std::make_shared<OpenFile>();
    HF_ASSIGN_OR_RETURN(const auto bytes, open_segment(name, *file));
    if (bytes < 0) return map_zeros(offset, unit_bytes_);
    if (!read_only()) HF_RETURN_IF_ERROR(fill_holes(*file));
    const auto there =
        std::min(round_up(static_cast<std::uint64_t>(bytes), kPageBytes), unit_bytes_);
    HF_RETURN_IF_ERROR(map(*file, 0, offset, there));
    HF_RETURN_IF_ERROR(map_zeros(offset + there, unit_bytes_ - there));
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

  FileDescriptor directory_;      // Holds the lock.
  FileDescriptor first_segment_;  // Holds one for those who come by another directory.
};

}  // namespace

Result<std::unique_ptr<Backing>> open_directory(const RegionSpec& spec,
                                                const RegionOptions& options) {
  auto backing = std::make_unique<DirectoryBacking>(spec, options);
  HF_RETURN_IF_ERROR(backing->open());
  return std::unique_ptr<Backing>(std::move(backing));
}

}  // namespace holdfast::memory_detail
