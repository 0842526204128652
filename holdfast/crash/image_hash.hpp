// image_hash.hpp: the hash of a medium's bytes, updated word by word. Internal to medium.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::crash {

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

// The share of one word in the hash of an image. A sum of these is updated word by word.
inline std::uint64_t word_hash(std::uint64_t word_index, std::uint64_t value) {
  return value == 0 ? 0 : mix(value + mix(word_index + 0x9e3779b97f4a7c15ULL));
}

inline std::uint64_t load_word(const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace holdfast::crash
