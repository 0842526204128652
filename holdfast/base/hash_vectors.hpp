// hash_vectors.hpp: XXH3 of long inputs, a function for each width of vectors, each in a file of
// its own that is compiled for it. Internal to hash.cpp. These files include nothing with inline
// functions that others could get from them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::detail {

std::uint64_t hash64_avx2(const std::byte* bytes, std::size_t count);
std::uint64_t hash64_avx512(const std::byte* bytes, std::size_t count);

}  // namespace holdfast::detail
