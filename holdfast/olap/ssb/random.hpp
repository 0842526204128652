// random.hpp: numbers that depend on (seed, stream, row) only, so that any thread can make any row.
#pragma once

#include <cstdint>

#include <holdfast/base/hash.hpp>

namespace holdfast::olap::ssb {

// One per column. A bound's bias is below bound / 2^64.
class Draws {
 public:
  constexpr Draws(std::uint64_t seed, std::uint64_t stream)
      : key_(mix64(mix64(seed + 0x9e3779b97f4a7c15u) + stream * 0xd1342543de82ef95u)) {}

  constexpr std::uint64_t at(std::uint64_t row) const {
    return mix64(key_ + row * 0x9e3779b97f4a7c15u);
  }
  // Uniform over 0 … bound - 1.
  constexpr std::uint64_t below(std::uint64_t row, std::uint64_t bound) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(at(row)) * bound >> 64);
  }

 private:
  std::uint64_t key_;
};

}  // namespace holdfast::olap::ssb
