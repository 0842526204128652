// Not hash.hpp: there the functions of xxhash.h are inline, for what every CPU has.
#include <cstddef>
#include <cstdint>

#include <xxh_x86dispatch.h>

namespace holdfast::detail {

std::uint64_t hash64_long(const std::byte* bytes, std::size_t count) {
  return XXH3_64bits_dispatch(bytes, count);
}

}  // namespace holdfast::detail
