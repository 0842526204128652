// A region in one file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>

#include <holdfast/memory/files.hpp>

namespace holdfast::memory_detail {
namespace {

class FileBacking final : public FilesBacking {
 public:
  FileBacking(const RegionSpec& spec, const RegionOptions& options) : FilesBacking(spec, options) {
    kind_ = "file";
  }

  Status open() {
    HF_ASSIGN_OR_RETURN(auto locked, open_locked(spec_, options_, false));
    struct stat status{};
    if (::fstat(locked.fd.get(), &status) != 0) return system_error("stat of", spec_.path, errno);
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    auto file = std::make_shared<OpenFile>();
    file->fd = std::move(locked.fd);
    file->path = spec_.path;
    file_ = file;
    set_last_file(0, std::move(file));
    HF_RETURN_IF_ERROR(examine(file_->fd.get()));
    const bool may_create =
        options_.access == RegionAccess::kCreate || options_.access == RegionAccess::kOpenOrCreate;
    if (bytes == 0 && may_create) return create(locked.created);
    if (options_.access == RegionAccess::kCreate) {
      return Error{Errc::kAlreadyExists, spec_.path + " exists and holds " + std::to_string(bytes) +
                                             " bytes; open it instead, or remove it"};
    }
    return open_existing(bytes);
  }

  Status grow(std::uint64_t new_size_bytes) override {
    HF_RETURN_IF_ERROR(reserve_up_to(new_size_bytes));
    const auto size = size_bytes();
    auto& file = *file_;
    // The length changes in one step, so that a crash leaves the old one or the new one.
    Status status;
    if (::ftruncate(file.fd.get(), static_cast<off_t>(new_size_bytes)) != 0) {
      status = system_error("ftruncate of", file.path, errno);
    } else {
      status = add_memory(file, size, size, new_size_bytes - size);
    }
    if (!status) {
      static_cast<void>(::ftruncate(file.fd.get(), static_cast<off_t>(size)));
      return status;
    }
    size_bytes_.store(new_size_bytes, std::memory_order_release);
    return {};
  }

  Status shrink(std::uint64_t new_size_bytes) override {
    const auto size = size_bytes();
    auto& file = *file_;
    HF_RETURN_IF_ERROR(addresses_.release(new_size_bytes, size - new_size_bytes));
    size_bytes_.store(new_size_bytes, std::memory_order_release);
    if (::ftruncate(file.fd.get(), static_cast<off_t>(new_size_bytes)) != 0) {
      return system_error("ftruncate of", file.path, errno);
    }
    return sync_length(file);
  }

 private:
  Status create(bool created) {
    unit_bytes_ = options_.unit_bytes;
    auto status = check_outside_of_regions(spec_.path);
    if (status) status = reserve(options_.size_bytes);
    if (status) status = grow(options_.size_bytes);
    if (status) status = sync_parent(spec_.path);
    if (!status) {
      if (created) {
        ::unlink(spec_.path.c_str());
      } else {
        static_cast<void>(::ftruncate(file_->fd.get(), 0));
      }
    }
    return status;
  }

  Status open_existing(std::uint64_t bytes) {
    auto& file = *file_;
    const auto whole_bytes = round_up(bytes, kPageBytes);
    if (bytes == 0 || bytes != whole_bytes) {
      const auto seen =
          file.path + " holds " + std::to_string(bytes) +
          " bytes; a region is a positive multiple of 4096, so it was cut off or is none";
      if (bytes == 0 || !options_.tolerate_damage) return Error{Errc::kCorrupt, seen};
      damage_.push_back(seen);
    }
    // Of the caller's unit, what fits the size.
    unit_bytes_ = std::gcd(whole_bytes, options_.unit_bytes);
    HF_RETURN_IF_ERROR(reserve(whole_bytes));
    if (!read_only()) HF_RETURN_IF_ERROR(fill_holes(file));
    HF_RETURN_IF_ERROR(map(file, 0, 0, whole_bytes));
    size_bytes_.store(whole_bytes, std::memory_order_release);
    return options_.prefault ? prefault(0, whole_bytes) : ok_status();
  }

  std::shared_ptr<OpenFile> file_;  // The only one.
};

}  // namespace

Result<std::unique_ptr<Backing>> open_file(const RegionSpec& spec, const RegionOptions& options) {
  auto backing = std::make_unique<FileBacking>(spec, options);
  HF_RETURN_IF_ERROR(backing->open());
  return std::unique_ptr<Backing>(std::move(backing));
}

}  // namespace holdfast::memory_detail
