// allocations.hpp: how often `what()` calls operator new. For tests of one thread; link
// allocations.cpp, which replaces operator new of the whole binary.
#pragma once

#include <cstddef>

namespace holdfast {

std::size_t allocations_so_far();

template <class F>
std::size_t allocations_of(F&& what) {
  const auto before = allocations_so_far();
  what();
  return allocations_so_far() - before;
}

}  // namespace holdfast
