// region_support.hpp: what the tests of regions share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/memory/region.hpp>

namespace holdfast {

inline std::span<const std::byte> bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string text_at(const Region& region, std::uint64_t offset, std::size_t length) {
  return {reinterpret_cast<const char*>(region.data()) + offset, length};
}

// Two units of 2 MiB.
inline RegionOptions small(RegionLayout layout = RegionLayout::kDirectory) {
  RegionOptions options;
  options.layout = layout;
  options.size_bytes = 4 * MiB;
  options.unit_bytes = 2 * MiB;
  return options;
}

inline RegionOptions with(RegionAccess access, RegionOptions options = small()) {
  options.access = access;
  return options;
}

inline RegionOptions tolerant() {
  auto options = with(RegionAccess::kOpenReadOnly);
  options.tolerate_damage = true;
  return options;
}

}  // namespace holdfast
