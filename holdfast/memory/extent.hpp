// extent.hpp: a range of bytes in a region.
//
// A structure is given a Region and an Extent and touches nothing outside of it. So several
// structures share a region: a log beside a page store, or both behind a header of the user's own.
#pragma once

#include <cstdint>

namespace holdfast {

struct Extent {
  std::uint64_t offset_bytes = 0;  // From the start of the region.
  std::uint64_t size_bytes = 0;

  bool operator==(const Extent&) const = default;
  // Neither end may overflow: Region::claim() and check_extent() have made sure.
  bool overlaps(const Extent& other) const {
    return offset_bytes < other.offset_bytes + other.size_bytes &&
           other.offset_bytes < offset_bytes + size_bytes;
  }
};

}  // namespace holdfast
