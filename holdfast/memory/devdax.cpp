// A region that is a whole devdax, as it is: no file system, no growing, nothing zeroed.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <holdfast/memory/backings.hpp>
#include <holdfast/memory/lock.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::memory_detail {
namespace {

class DevdaxBacking final : public MappedBacking {
 public:
  DevdaxBacking(const RegionSpec& spec, const RegionOptions& options)
      : MappedBacking(spec, options) {
    kind_ = "devdax";
  }

  Status open() {
    device_ =
        FileDescriptor(::open(spec_.path.c_str(), (read_only() ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    if (!device_) return system_error("open of", spec_.path, errno);
    HF_RETURN_IF_ERROR(lock_file(device_.get(), !read_only(), spec_.path));
    HF_ASSIGN_OR_RETURN(medium_, examine_device(device_.get(), spec_));
    if (medium_.granularity == Granularity::kPage) {
      return Error{Errc::kUnsupported, spec_.text +
                                           ": a devdax has no pages to sync; granularity "
                                           "byte, line or none is possible"};
    }
    struct stat status{};
    if (::fstat(device_.get(), &status) != 0) return system_error("stat of", spec_.path, errno);
    const auto sysfs = "/sys/dev/char/" + std::to_string(major(status.st_rdev)) + ":" +
                       std::to_string(minor(status.st_rdev)) + "/";
    const auto number = [&](const std::string& name) {
      return std::strtoull(read_text(sysfs + name).c_str(), nullptr, 0);
    };
    align_bytes_ = number("align");
    if (align_bytes_ == 0) align_bytes_ = number("dax_region/align");
    if (align_bytes_ == 0) align_bytes_ = kHugePageBytes;
    const auto bytes = number("size") / align_bytes_ * align_bytes_;
    if (bytes == 0) {
      return Error{Errc::kCorrupt, spec_.path + ": " + sysfs + "size tells no size"};
    }
    unit_bytes_ = bytes;
    // For the alignment of addresses.
    if (align_bytes_ >= kGiantPageBytes) spec_.huge = HugePages::k1G;
    options_.reserve_bytes = bytes;
    HF_RETURN_IF_ERROR(reserve(bytes));
    const int error_number = map_file(at(0), bytes, device_.get(), 0, map_writable(),
                                      map_writable() && medium_.map_sync);
    if (error_number != 0) return system_error("mmap of", spec_.path, error_number);
    mapping_ = read_only()        ? "MAP_SHARED, read-only"
               : medium_.map_sync ? "MAP_SYNC"
                                  : "MAP_SHARED (a devdax needs no MAP_SYNC)";
    size_bytes_.store(bytes, std::memory_order_release);
    return options_.prefault ? prefault(0, bytes) : ok_status();
  }

  std::uint64_t max_size_bytes() const override { return size_bytes(); }
  Status grow(std::uint64_t) override { return fixed("grow"); }
  Status shrink(std::uint64_t) override { return fixed("shrink"); }

  RegionReport report() const override {
    auto report = MappedBacking::report();
    report.page_bytes = align_bytes_;
    report.page_reason = "alignment of the device";
    return report;
  }

 private:
  Status fixed(const char* what) const {
    return Error{Errc::kUnsupported,
                 std::string(what) + ": " + spec_.path + " has the size it has"};
  }

  FileDescriptor device_;  // Holds the lock.
  std::uint64_t align_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backing>> open_devdax(const RegionSpec& spec, const RegionOptions& options) {
  auto backing = std::make_unique<DevdaxBacking>(spec, options);
  HF_RETURN_IF_ERROR(backing->open());
  return std::unique_ptr<Backing>(std::move(backing));
}

}  // namespace holdfast::memory_detail
