// touched.hpp: the bytes that a query cannot do without, and those that a scan reads for it.
#pragma once

#include <cstdint>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/olap/bound_query.hpp>
#include <holdfast/olap/star_version.hpp>

namespace holdfast::olap {

// Counted slowly, apart from the query.
struct Touched {
  std::uint64_t blocks = 0;  // That their bounds do not rule out.
  // Lines of 64 bytes that hold a value which decides about a row that no column before it has
  // ruled out, or goes into the sum.
  std::uint64_t lines = 0;
  // Lines that scan() loads or asks for: also those between, where they come in a stream.
  std::uint64_t lines_read = 0;

  std::uint64_t bytes() const { return lines * kCacheLineBytes; }
  std::uint64_t bytes_read() const { return lines_read * kCacheLineBytes; }
};
Result<Touched> touched(const StarVersion& star, const BoundQuery& query);

}  // namespace holdfast::olap
