// allocations.hpp: how often `what()` calls operator new, and what happens where that fails. For
// tests of one thread; link allocations.cpp, which replaces operator new of the whole binary.
#pragma once

#include <cstddef>
#include <new>

namespace holdfast {

std::size_t allocations_so_far();

// The n-th call from now on, of any thread, throws std::bad_alloc, once. 0: none does.
void let_allocation_fail(std::size_t nth);
// Whether it has not come yet.
bool allocation_is_to_fail();

// Calls `what()` and lets its n-th allocation fail (0: none). Whether that came.
template <class F>
bool fails_at(std::size_t nth, F&& what) {
  let_allocation_fail(nth);
  try {
    what();
  } catch (const std::bad_alloc&) {
  }
  const bool failed = nth != 0 && !allocation_is_to_fail();
  let_allocation_fail(0);
  return failed;
}

template <class F>
std::size_t allocations_of(F&& what) {
  const auto before = allocations_so_far();
  what();
  return allocations_so_far() - before;
}

}  // namespace holdfast
