// fuzz_region.hpp: the medium of a fuzz target. One for all inputs: mapping one takes longer than
// an input does.
#pragma once

#include <cstdint>

#include <holdfast/memory/region.hpp>

template <std::uint64_t kBytes>
holdfast::Region& fuzz_region() {
  static holdfast::Region one = [] {
    holdfast::RegionOptions options;
    options.size_bytes = options.unit_bytes = options.reserve_bytes = kBytes;
    return holdfast::Region::open("dram?granularity=line", options).value();
  }();
  return one;
}
