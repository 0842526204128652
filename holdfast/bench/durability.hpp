// durability.hpp: what results say of a region: which loss its stores survive.
#pragma once

#include <holdfast/memory/region.hpp>

namespace holdfast::bench {

// Of stores that were flushed and fenced: "power"; "assumed" where only the spec says so; "none".
inline const char* durability_of_stores(const RegionReport& report) {
  if (report.granularity != Granularity::kByte && report.granularity != Granularity::kLine)
    return "none";
  return report.power_is_assumed() ? "assumed" : "power";
}

}  // namespace holdfast::bench
