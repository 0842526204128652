#define XXH_INLINE_ALL
#include <xxhash.h>

#include <holdfast/base/hash_vectors.hpp>

namespace holdfast::detail {

std::uint64_t hash64_avx2(const std::byte* bytes, std::size_t count) {
  static_assert(XXH_VECTOR == XXH_AVX2);
  return XXH3_64bits(bytes, count);
}

}  // namespace holdfast::detail
