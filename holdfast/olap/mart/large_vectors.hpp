// large_vectors.hpp: room for a vector that may become large, on large pages.
//
// Addresses cost nothing until they are used. What moves is copied, to pages that the kernel clears
// first, 4 KiB at a time; and a look-up in small pages waits for the page's entry, too.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <holdfast/base/units.hpp>

namespace holdfast::olap::mart {

template <class T>
void reserve_large(std::vector<T>& vector, std::size_t count) {
  constexpr std::uintptr_t kPage = 2 * MiB;
  vector.reserve(count);
  const auto begin = round_up(reinterpret_cast<std::uintptr_t>(vector.data()), kPage);
  const auto end =
      reinterpret_cast<std::uintptr_t>(vector.data() + vector.capacity()) / kPage * kPage;
  // A wish; refused is fine.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace holdfast::olap::mart
