// sparse_array.hpp: an array of zeros whose pages take memory when they are first written.
//
// For tables with a place for everything that may ever come. (calloc() gives such memory only for
// as long as nothing of that size was freed before: then it clears memory, and takes all of it.)
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace holdfast {

// T: zero bytes are a value of it, and it needs no destructor.
template <class T>
class SparseArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit SparseArray(std::size_t size) : size_(size) {
    void* const mapped = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    ::madvise(mapped, bytes(), MADV_NOHUGEPAGE);
    items_ = static_cast<T*>(mapped);
  }
  ~SparseArray() { ::munmap(items_, bytes()); }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;

  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  T* items_;
};

}  // namespace holdfast
