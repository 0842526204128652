// free_space.hpp: places in a region that nothing uses, handed out one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::olap {

class FreeSpace {
 public:
  // All behind `begin` but what is used, which may overlap.
  FreeSpace(Region& region, std::uint64_t begin, std::vector<Extent> used);

  // First fit, whole lines; the region grows as it must. Where nothing is left, full() is true from
  // then on, and the place is one behind the end, for the sum only. Errors: of Region::grow.
  Result<std::uint64_t> allocate(std::uint64_t bytes);
  bool full() const { return full_; }
  std::uint64_t end() const { return end_; }  // Of what was allocated, wherever there was room.

 private:
  Region& region_;
  std::vector<Extent> free_;  // By offset; the last one ends where the region cannot grow beyond.
  bool full_ = false;
  std::uint64_t end_;
};

}  // namespace holdfast::olap
