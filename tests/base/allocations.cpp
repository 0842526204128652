#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> until_failure{0};
}  // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (until_failure.load() != 0 && until_failure.fetch_sub(1) == 1) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// Not inlined: the compiler would see std::free() of what operator new returned, and warn.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

std::size_t holdfast::allocations_so_far() { return allocations.load(std::memory_order_relaxed); }
void holdfast::let_allocation_fail(std::size_t nth) { until_failure = nth; }
bool holdfast::allocation_is_to_fail() { return until_failure != 0; }
