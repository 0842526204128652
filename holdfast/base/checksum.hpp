// checksum.hpp: find out that bytes are not those that were written.
//
// crc32c      32 bits, every burst of up to 32 bits found; for small fixed structures and
//             interchange.
// checksum64  64 bits with a seed, for records whose bytes may be torn anywhere: a wrong one passes
//             with probability 2^-64, and one made under another seed (an older generation)
//             likewise.
// Both are written to media: who changes one gives a new version to the formats that have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/base/hash.hpp>

namespace holdfast {

// CRC-32C (Castagnoli) of `bytes`, continuing from the `crc` of what came before (0 at the start).
// Uses the CPU's instruction where it has one: some 8 bytes per ns, else some 1.5.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

// Given a seed, XXH3 derives a secret of 192 bytes from it at each call with more than 240 bytes;
// hence the seed is mixed in afterwards.
inline std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return mix64(hash64(bytes) + mix64(seed));
}

namespace base_detail {
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc);
}  // namespace base_detail

}  // namespace holdfast
