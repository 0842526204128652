// touched.hpp: the bytes that a query cannot do without.
#pragma once

#include <cstdint>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/olap/bound_query.hpp>
#include <holdfast/olap/star_version.hpp>

namespace holdfast::olap {

// What the query must touch: lines of 64 bytes of the columns that it reads, and blocks that their
// bounds do not rule out. By a slow count apart from the query.
struct Touched {
  std::uint64_t blocks = 0;
  std::uint64_t lines = 0;
  std::uint64_t bytes() const { return lines * kCacheLineBytes; }
};
Result<Touched> touched(const StarVersion& star, const BoundQuery& query);

}  // namespace holdfast::olap
