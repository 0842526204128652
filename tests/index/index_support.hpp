// index_support.hpp: what the tests of all persistent indexes share.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include <unistd.h>
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index {

// Of the structure that begins the region.
inline std::uint64_t id_of(const Region& region) {
  SuperblockHeader header;
  std::memcpy(&header, region.data(), sizeof header);
  return header.id;
}

inline Region region_of(std::uint64_t bytes, const std::string& spec = "dram?granularity=line") {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = bytes;
  return Region::open(spec, options).value();
}

// A region in a file, which can be opened again. The file goes with the object.
class FileRegion {
 public:
  explicit FileRegion(std::uint64_t bytes) {
    RegionOptions options;
    options.layout = RegionLayout::kFile;
    options.size_bytes = options.unit_bytes = bytes;
    reopen(options);
  }
  ~FileRegion() { std::filesystem::remove(path_); }
  FileRegion(const FileRegion&) = delete;
  FileRegion& operator=(const FileRegion&) = delete;

  Region& operator*() { return *region_; }
  Region* operator->() { return &*region_; }
  void reopen(const RegionOptions& options = {}) {
    region_.reset();
    region_.emplace(Region::open(path_ + "?granularity=line", options).value());
  }
  void reopen_read_only() {
    RegionOptions options;
    options.access = RegionAccess::kOpenReadOnly;
    reopen(options);
  }

 private:
  const std::string path_ = "/dev/shm/holdfast_index_" + std::to_string(::getpid());
  std::optional<Region> region_;
};

}  // namespace holdfast::index
