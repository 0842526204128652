// region_options.hpp: what a store's options mean for its region.
#pragma once

#include <algorithm>

#include <holdfast/kv/options.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::kv {

inline RegionOptions region_options(const StoreOptions& options) {
  RegionOptions region;
  // Where nothing is there is no mark either.
  region.access = options.at_mark && options.access == RegionAccess::kOpenOrCreate
                      ? RegionAccess::kOpen
                      : options.access;
  region.unit_bytes = options.segment_bytes;
  region.size_bytes = std::max(options.initial_bytes, options.segment_bytes);
  // Up to whole segments, but not beyond those that max_bytes leaves room for.
  const std::uint64_t segments =
      std::clamp<std::uint64_t>(options.max_bytes / options.segment_bytes, 1,
                                (region.size_bytes - 1) / options.segment_bytes + 1);
  region.size_bytes = segments * options.segment_bytes;
  region.file_bytes =
      (std::max(options.file_bytes, options.segment_bytes) + options.segment_bytes - 1) /
      options.segment_bytes * options.segment_bytes;
  region.reserve_bytes = options.max_bytes / kPageBytes * kPageBytes;
  region.prefault = options.prefault;
  region.tolerate_damage = options.access == RegionAccess::kOpenReadOnly;
  return region;
}

}  // namespace holdfast::kv
