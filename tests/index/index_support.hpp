// index_support.hpp: what the tests of all persistent indexes share.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

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

}  // namespace holdfast::index
