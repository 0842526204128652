// few_steps.hpp: a loop of few rounds, of which there are nearly always as many.
//
// A CPU guesses the end of a loop from the branches before it. Where those depend on data that it
// waits for, it may guess wrongly each time, and throws away what it had begun behind the loop.
// Written out, each round has a branch of its own.
#pragma once

#include <cstdint>

namespace holdfast {

// step(0) to step(count - 1), in order.
template <class Step>
[[gnu::always_inline]] inline void for_few(std::uint64_t count, Step&& step) {
  if (count <= 4) [[likely]] {
    if (count == 0) return;
    step(std::uint64_t{0});
    if (count == 1) return;
    step(std::uint64_t{1});
    if (count == 2) return;
    step(std::uint64_t{2});
    if (count == 4) step(std::uint64_t{3});
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i)
    step(i);
}

}  // namespace holdfast
