#include <holdfast/blocks/extent.hpp>

#include <string>

namespace holdfast::blocks {

Status check_extent(std::string_view block, const Region& region, const Extent& extent) {
  const auto invalid = [&](const std::string& what) {
    return Error{Errc::kInvalidOption, std::string(block) + ": extent." + what};
  };
  if (extent.offset_bytes % kPageBytes != 0)
    return invalid("offset_bytes=" + std::to_string(extent.offset_bytes) +
                   " is no multiple of 4096");
  if (extent.size_bytes == 0 || extent.size_bytes % kPageBytes != 0)
    return invalid("size_bytes=" + std::to_string(extent.size_bytes) +
                   " is no multiple of 4096 above 0");
  const auto region_bytes = region.size_bytes();
  if (extent.offset_bytes > region_bytes || extent.size_bytes > region_bytes - extent.offset_bytes)
    return invalid("offset_bytes=" + std::to_string(extent.offset_bytes) +
                   " and size_bytes=" + std::to_string(extent.size_bytes) +
                   " end beyond the region's " + std::to_string(region_bytes) + " bytes");
  return {};
}

}  // namespace holdfast::blocks
