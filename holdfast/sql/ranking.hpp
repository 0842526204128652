// ranking.hpp: how rows in an order are numbered.
#pragma once

#include <cstdint>

namespace holdfast::sql {

enum class Ranking : std::uint8_t {
  kRowNumber,  // 1, 2, 3, …
  kRank,       // Equal ones as the first of them: 1, 2, 2, 4.
  kDenseRank,  // Equal ones alike, without a gap: 1, 2, 2, 3.
};

}  // namespace holdfast::sql
