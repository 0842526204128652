// checksum.hpp: find out that bytes are not those that were written.
//
// checksum64: 64 bits with a seed, for records whose bytes may be torn anywhere. A wrong record
// passes with probability 2^-64, and so does one that was made under another seed: an older
// generation. It is written to media: a change of it is a new version of each format that has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/base/hash.hpp>

namespace holdfast {

// Given a seed, XXH3 derives a secret of 192 bytes from it at each call with more than 240 bytes;
// hence the seed is mixed in afterwards.
inline std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return mix64(hash64(bytes) + mix64(seed));
}

}  // namespace holdfast
