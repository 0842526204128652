// large_pages.hpp: memory of vectors, on large pages where it is large: a look-up in a table of
// hundreds of MiB else waits for the page's entry, too, and each 4 KiB of a new one for the kernel.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>

namespace holdfast::query {

inline constexpr std::size_t kLargeBytes = std::size_t{4} << 20;

void* take_pages(std::size_t bytes);
void give_pages(void* memory, std::size_t bytes);

template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class Other>
  explicit(false) LargePages(const LargePages<Other>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(take_pages(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { give_pages(memory, count * sizeof(T)); }
  bool operator==(const LargePages&) const { return true; }

 private:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

// Before one becomes `size` long. Memory that nobody has touched costs nothing, but what moves is
// copied, to pages that the kernel clears first: so a large one moves seldom.
template <class T>
void make_room(LargeVector<T>& vector, std::size_t size) {
  constexpr std::size_t kStep = 256;
  if (size <= vector.capacity() || size * sizeof(T) < kLargeBytes) return;  // It knows itself.
  try {
    vector.reserve(size * kStep);
  } catch (const std::bad_alloc&) {  // There is a limit on addresses; less may do.
  }
}

#ifndef HOLDFAST_APART

inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;
inline std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}
HF_APART void* take_pages(std::size_t bytes) {
  if (bytes < kLargeBytes) return ::operator new(bytes);
  // Maps whole pages, and gives back what lies beside them.
  const auto whole = whole_pages(bytes);
  void* const mapped = ::mmap(nullptr, whole + kPageBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapped);
  const auto before =
      (kPageBytes - reinterpret_cast<std::uintptr_t>(begin) % kPageBytes) % kPageBytes;
  if (before != 0) ::munmap(begin, before);
  if (before != kPageBytes) ::munmap(begin + before + whole, kPageBytes - before);
  ::madvise(begin + before, whole, MADV_HUGEPAGE);  // A wish; refused is fine.
  return begin + before;
}
HF_APART void give_pages(void* memory, std::size_t bytes) {
  if (bytes < kLargeBytes)
    ::operator delete(memory);
  else
    ::munmap(memory, whole_pages(bytes));
}

#endif

}  // namespace holdfast::query
