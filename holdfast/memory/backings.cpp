#include <holdfast/memory/backings.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <holdfast/memory/cpu.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::memory_detail {
namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return std::to_string(whole == 0 ? 0 : part * 100 / whole) + " %";
}

constexpr const char* kThpEnabled = "/sys/kernel/mm/transparent_hugepage/enabled";
constexpr const char* kShmemEnabled = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

}  // namespace

Status MappedBacking::reserve(std::uint64_t least_bytes) {
  // Aligned to 2 MiB in any case: without that no huge page fits.
  const auto alignment = spec_.huge == HugePages::k1G ? kGiantPageBytes : kHugePageBytes;
  const auto wanted = std::max(least_bytes, options_.reserve_bytes);
  HF_ASSIGN_OR_RETURN(addresses_, AddressRange::reserve(wanted, least_bytes, alignment));
  return {};
}

Status MappedBacking::write(std::uint64_t, std::span<const std::byte>) {
  return Error{Errc::kUnsupported, spec_.text + " has no page back end"};
}

Status MappedBacking::prefault(std::uint64_t offset, std::uint64_t bytes) {
  // Whole pages, as madvise wants them.
  const auto first = round_down(offset, physical_page_bytes());
  const auto end = std::min(round_up(offset + bytes, physical_page_bytes()), size_bytes());
  const int error_number = populate(at(first), end - first, map_writable());
  if (error_number != 0) return system_error("prefault of", spec_.text, error_number);
  // The pages may be small from an earlier, other use.
  make_pages_huge(first, end - first);
  return {};
}

void MappedBacking::make_pages_huge(std::uint64_t offset, std::uint64_t bytes) const {
  const auto begin = round_up(offset, kHugePageBytes);
  const auto end = round_down(offset + bytes, kHugePageBytes);
  if (wants_huge_pages() && begin < end) collapse(at(begin), end - begin);
}

RegionReport MappedBacking::report() const {
  RegionReport report;
  report.spec = spec_.text;
  report.kind = kind_;
  report.file_system = medium_.file_system;
  report.granularity = medium_.granularity;
  report.granularity_source = medium_.granularity_source;
  report.mapping = mapping_;
  report.damage = damage_;
  report.write_back = persist().instruction();
  report.nt_evicts = persist().nt_evicts();
  report.nt_evicts_source = nt_evicts_source_for(spec_);
  const auto bytes = size_bytes();
  report.nodes = nodes_of(data(), bytes);
  const auto pages = pages_obtained(data(), bytes);
  report.page_bytes = pages.kernel_page_bytes;
  const auto not_larger = spec_.huge == HugePages::k1G && report.page_bytes < kGiantPageBytes &&
                                  !no_giant_reason().empty()
                              ? "; not larger: " + no_giant_reason()
                              : std::string{};
  if (pages.kernel_page_bytes >= kHugePageBytes) {
    report.page_reason = "huge pages of the mapping itself" + not_larger;
  } else if (pages.resident_bytes > 0 && pages.huge_bytes >= pages.resident_bytes) {
    report.page_bytes = kHugePageBytes;
    report.page_reason = "all resident memory is in transparent huge pages" + not_larger;
  } else if (pages.huge_bytes > 0) {
    report.page_reason = percent(pages.huge_bytes, pages.resident_bytes) +
                         " of the resident memory is in 2 MiB pages, the rest in small ones";
  } else if (spec_.huge == HugePages::kOff) {
    report.page_reason = "huge=off";
  } else if (!no_huge_reason().empty()) {
    report.page_reason = no_huge_reason();
  } else if (medium_.map_sync) {
    report.page_reason =
        "/proc does not show the pages of a DAX mapping; 2 MiB where extents allow it";
  } else if (pages.resident_bytes == 0) {
    report.page_reason = "nothing touched yet";
  } else if (!medium_.file_system.empty() && !medium_.in_memory) {
    report.page_reason = "the page cache of " + medium_.file_system + " gave none";
  } else {
    const char* file = medium_.in_memory ? kShmemEnabled : kThpEnabled;
    report.page_reason =
        "the kernel gave none (" + std::string(file) + " is " + selected(read_text(file)) + ")";
  }
  return report;
}

namespace {

// Below /dev lie devices, in memory. A file or directory made there because a device is missing, or
// because its name is mistyped, would be a durable store in RAM. /dev/shm is the one exception.
bool is_place_of_devices(const std::string& path) {
  std::error_code unknown;
  const auto place = std::filesystem::weakly_canonical(path, unknown).string();
  return !unknown && place.starts_with("/dev/") && !place.starts_with("/dev/shm/");
}

Error no_such_device(const std::string& path) {
  std::vector<std::string> devices;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("dax") && entry.is_character_file(ignored))
      devices.push_back(entry.path().string());
  }
  std::sort(devices.begin(), devices.end());
  std::string there;
  for (const auto& device : devices)
    there += (there.empty() ? "; there are " : ", ") + device;
  return {Errc::kNotFound, path + ": no such device" +
                               (there.empty() ? "; there is no /dev/dax*" : there) +
                               ". Nothing is created below /dev, except in /dev/shm"};
}

}  // namespace

Result<std::unique_ptr<Backing>> open_path(const RegionSpec& spec, const RegionOptions& options) {
  struct stat status{};
  const bool exists = ::stat(spec.path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return system_error("stat of", spec.path, errno);
  if (exists && S_ISCHR(status.st_mode)) return open_devdax(spec, options);
  if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return Error{
        Errc::kUnsupported,
        spec.path + " is neither a file, nor a directory, nor a devdax" +
            (S_ISBLK(status.st_mode) ? "; it is a block device: give a file on a file system "
                                       "on it, mounted with -o dax if it is persistent memory"
                                     : "")};
  }
  if (exists && S_ISREG(status.st_mode) && spec.trailing_slash) {
    return Error{Errc::kInvalidOption, spec.path + " is a file, but the spec \"" + spec.text +
                                           "\" ends its path in '/', as for a directory"};
  }
  const bool may_create =
      options.access == RegionAccess::kCreate || options.access == RegionAccess::kOpenOrCreate;
  if (!exists) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(spec.path, none).string();
    if (!none)
      return Error{Errc::kNotFound, spec.path + " is a symbolic link to " + target +
                                        ", which does not exist; create that, or remove the link"};
  }
  if (!exists && is_place_of_devices(spec.path)) return no_such_device(spec.path);
  if (!exists && !may_create) return Error{Errc::kNotFound, spec.path + " does not exist"};
  const bool directory = exists ? S_ISDIR(status.st_mode)
                                : spec.trailing_slash || options.layout == RegionLayout::kDirectory;
  return directory ? open_directory(spec, options) : open_file(spec, options);
}

}  // namespace holdfast::memory_detail
