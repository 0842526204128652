// extent.hpp: the part of a region that one building block lives in.
// Public header.
//
// A block is given a Region and an Extent and touches nothing outside of it, so that several blocks
// share a region: a log beside a page store, or both behind a header of the user's own. The region
// must outlive the block. One object at a time per extent: a second one is refused with kBusy.
#pragma once

#include <cstdint>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::blocks {

using holdfast::Extent;  // A block's offset and size are multiples of 4096.

// All of `region`.
inline Extent whole(const Region& region) { return {0, region.size_bytes()}; }

// kInvalidOption, naming `block`, the field, the value seen and the rule, unless the extent is
// aligned and lies in the region.
Status check_extent(std::string_view block, const Region& region, const Extent& extent);

}  // namespace holdfast::blocks
