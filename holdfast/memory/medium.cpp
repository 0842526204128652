#include <holdfast/memory/medium.hpp>

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <holdfast/memory/cpu.hpp>
#include <holdfast/memory/pages.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::memory_detail {
namespace {

// The name /proc/self/mountinfo gives the file system of this device; it is exact where the magic
// number is shared (ext2, ext3, ext4). "36 35 98:0 /root /mnt rw - ext4 /dev/root rw".
std::string file_system_from_mountinfo(dev_t device) {
  const auto wanted =
      " " + std::to_string(major(device)) + ":" + std::to_string(minor(device)) + " ";
  const auto text = read_text("/proc/self/mountinfo");
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    const auto dash = line.find(" - ");
    if (dash == std::string::npos || line.substr(0, dash).find(wanted) == std::string::npos) {
      continue;
    }
    const auto type = line.substr(dash + 3);
    return type.substr(0, type.find(' '));
  }
  return {};
}

std::string file_system_name(const struct statfs& info, dev_t device) {
  if (auto name = file_system_from_mountinfo(device); !name.empty()) return name;
  switch (static_cast<unsigned long>(info.f_type)) {
    case TMPFS_MAGIC: return "tmpfs";
    case RAMFS_MAGIC: return "ramfs";
    case HUGETLBFS_MAGIC: return "hugetlbfs";
    case EXT4_SUPER_MAGIC: return "ext4";
    case XFS_SUPER_MAGIC: return "xfs";
    case BTRFS_SUPER_MAGIC: return "btrfs";
    case OVERLAYFS_SUPER_MAGIC: return "overlay";
    case NFS_SUPER_MAGIC: return "nfs";
    default: return "unknown file system";
  }
}

// errno of an attempt to map `bytes` with MAP_SYNC, or 0. Mapping past the end of a file is allowed
// as long as no thread touches it, so an empty file can be examined, too.
int try_map_sync(int fd, std::uint64_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
  if (mapped == MAP_FAILED) return errno;
  ::munmap(mapped, bytes);
  return 0;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        &std::free);
  return resolved ? resolved.get() : std::string{};
}

std::string sysfs_device(const char* kind, dev_t device) {
  return real_path("/sys/dev/" + std::string(kind) + "/" + std::to_string(major(device)) + ":" +
                   std::to_string(minor(device)));
}

// What sysfs says about the persistent memory behind a block or character device.
void take_persistence_domain(const std::string& device_path, Medium& medium) {
  const auto found = attribute_above(device_path, "persistence_domain");
  if (found.value == "cpu_cache") {
    medium.granularity = Granularity::kByte;
  } else {
    medium.granularity = Granularity::kLine;
  }
  medium.granularity_source =
      found.path.empty() ? "DAX without a persistence_domain in sysfs: lines must be written back"
                         : "sysfs persistence_domain=" + found.value + " (" + found.path + ")";
  // The kernel hangs the nvdimm bus of CXL memory below the CXL root, the ACPI device 0017.
  const bool is_cxl = device_path.find("/ACPI0017:") != std::string::npos ||
                      device_path.find("/cxl") != std::string::npos;
  if (is_cxl) medium.granularity_source.append(", CXL memory");
}

void take_override(const RegionSpec& spec, Medium& medium) {
  if (!spec.granularity) return;
  const auto found = std::string(name(medium.granularity)) + ", " + medium.granularity_source;
  medium.granularity = *spec.granularity;
  medium.granularity_source =
      "assumed (granularity=" + std::string(name(*spec.granularity)) + "); found: " + found;
}

}  // namespace

FoundAttribute attribute_above(std::string directory, const std::string& name) {
  while (!directory.empty()) {
    auto path = directory + "/" + name;
    if (auto value = read_text(path); !value.empty()) return {std::move(path), std::move(value)};
    directory.resize(
        directory.find_last_of('/') == std::string::npos ? 0 : directory.find_last_of('/'));
  }
  return {};
}

Result<Medium> examine_file(int fd, const RegionSpec& spec) {
  struct statfs info{};
  struct stat status{};
  if (::fstatfs(fd, &info) != 0 || ::fstat(fd, &status) != 0) {
    return system_error("statfs", spec.path, errno);
  }
  Medium medium;
  medium.file_system = file_system_name(info, status.st_dev);
  const auto magic = static_cast<unsigned long>(info.f_type);
  medium.in_memory = magic == TMPFS_MAGIC || magic == RAMFS_MAGIC || magic == HUGETLBFS_MAGIC;
  const int sync_error = try_map_sync(fd, physical_page_bytes());
  medium.map_sync = sync_error == 0;
  if (sync_error != 0) {
    const char* symbol = ::strerrorname_np(sync_error);
    medium.map_sync_reason = symbol ? symbol : std::to_string(sync_error);
  }
  if (medium.map_sync) {
    take_persistence_domain(sysfs_device("block", status.st_dev), medium);
  } else if (medium.in_memory) {
    medium.granularity = Granularity::kNone;
    medium.granularity_source = medium.file_system + " lives in DRAM";
  } else {
    medium.granularity = Granularity::kPage;
    medium.granularity_source = "a file on " + medium.file_system + " without DAX";
  }
  take_override(spec, medium);
  return medium;
}

Result<Medium> examine_device(int fd, const RegionSpec& spec) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return system_error("stat", spec.path, errno);
  const auto device = sysfs_device("char", status.st_rdev);
  if (real_path(device + "/subsystem").find("/dax") == std::string::npos) {
    return Error{Errc::kUnsupported, spec.path +
                                         " is a character device but not a devdax; give a "
                                         "file, a directory or /dev/daxX.Y"};
  }
  Medium medium;
  // A device can only be mapped in units of its alignment.
  const auto align = std::strtoull(attribute_above(device, "align").value.c_str(), nullptr, 0);
  medium.map_sync = try_map_sync(fd, std::max<std::uint64_t>(align, physical_page_bytes())) == 0;
  if (!medium.map_sync) medium.map_sync_reason = "not needed on a devdax";
  if (device.find("/hmem") != std::string::npos) {
    medium.granularity = Granularity::kNone;
    medium.granularity_source = "a dax device over volatile memory (" + device + ")";
  } else {
    take_persistence_domain(device, medium);
  }
  take_override(spec, medium);
  return medium;
}

Persist persist_for(Granularity granularity, const RegionSpec& spec) {
  switch (granularity) {
    case Granularity::kNone:
    case Granularity::kPage: return Persist::none();
    case Granularity::kByte: return Persist::byte();
    case Granularity::kLine: break;
  }
  return {cpu().write_back, spec.nt_evicts.value_or(nt_evicts().value)};
}

std::string nt_evicts_source_for(const RegionSpec& spec) {
  if (spec.nt_evicts)
    return std::string("assumed (nt_evicts=") + (*spec.nt_evicts ? "on)" : "off)");
  return nt_evicts().source;
}

}  // namespace holdfast::memory_detail
