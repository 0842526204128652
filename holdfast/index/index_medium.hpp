// index_medium.hpp: what the persistent indexes ask of their options, medium and superblock before
// they touch anything else. `who` begins each message.
//
// Threads: any; nothing here is kept. Fences: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <holdfast/blocks/extent.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index::detail {

// kInvalidOption unless least <= seen <= most.
inline Status check_option(const std::string& who, const char* field, std::uint64_t seen,
                           std::uint64_t least, std::uint64_t most) {
  if (seen >= least && seen <= most) return {};
  return Error{Errc::kInvalidOption, who + ": " + field + "=" + std::to_string(seen) +
                                         ": allowed are " + std::to_string(least) + " to " +
                                         std::to_string(most)};
}

// What check_extent() says; kUnsupported for a region that is durable by system calls only.
inline Status check_medium(const char* who, const Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(blocks::check_extent(who, region, extent));
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 std::string(who) +
                     ": the region is durable by system calls only (granularity page); put it on "
                     "persistent memory, or give up durability with ?granularity=none"};
  return {};
}

// The shape that a superblock describes. kCorrupt if no build writes it, or if the extent is too
// short for it.
template <class Shape>
Status check_shape(const std::string& who, const Shape& shape, const Extent& extent) {
  if (!shape.valid())
    return Error{Errc::kCorrupt, who +
                                     ": superblock: it describes a shape that no build writes; "
                                     "restore its first page from a copy"};
  if (shape.bytes() > extent.size_bytes)
    return Error{Errc::kCorrupt, who + ": it needs " + std::to_string(shape.bytes()) +
                                     " bytes; the extent has " + std::to_string(extent.size_bytes) +
                                     ": it is too short, or was cut off"};
  return {};
}

}  // namespace holdfast::index::detail
