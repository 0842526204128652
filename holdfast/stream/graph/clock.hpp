// clock.hpp: the clock of the machine, in milliseconds since 1970. Operators are given one, so that
// tests can turn it.
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::stream::graph {

inline std::int64_t system_clock_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace holdfast::stream::graph
