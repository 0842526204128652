#include <holdfast/base/hash.hpp>

#include <holdfast/base/hash_vectors.hpp>

namespace holdfast::detail {
namespace {

using Function = std::uint64_t (*)(const std::byte* bytes, std::size_t count);

std::uint64_t hash64_sse2(const std::byte* bytes, std::size_t count) {
  return XXH3_64bits(bytes, count);
}

Function widest() {
  if (__builtin_cpu_supports("avx512f")) return hash64_avx512;
  if (__builtin_cpu_supports("avx2")) return hash64_avx2;
  return hash64_sse2;
}

}  // namespace

std::uint64_t hash64_long(const std::byte* bytes, std::size_t count) {
  static const Function function = widest();
  return function(bytes, count);
}

}  // namespace holdfast::detail
