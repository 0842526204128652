#include <holdfast/index/ordered/leaf_pool.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include <holdfast/base/lock.hpp>

namespace holdfast::index::ordered {

LeafPool::~LeafPool() {
  for (void* slab : slabs_)
    std::free(slab);
}

bool LeafPool::grow() {
  const std::size_t bytes =
      std::min(kSlabBytes, kFirstSlabBytes << std::min<std::size_t>(slabs_.size(), 5));
  void* slab = std::aligned_alloc(bytes, bytes);
  if (slab == nullptr) return false;
  if (bytes == kSlabBytes) madvise(slab, bytes, MADV_HUGEPAGE);  // A wish; refused is fine.
  slabs_.push_back(slab);
  fresh_ = static_cast<std::byte*>(slab);
  fresh_end_ = fresh_ + bytes;
  return true;
}

void* LeafPool::take() {
  const Lock lock(mutex_);
  if (free_ != nullptr) {
    ++pages_;
    return std::exchange(free_, free_->next);
  }
  if (fresh_ == fresh_end_ && !grow()) return nullptr;
  ++pages_;
  void* page = fresh_;
  fresh_ += kPageBytes;
  return page;
}

void LeafPool::give_back(void* page) {
  const Lock lock(mutex_);
  --pages_;
  free_ = new (page) Free{free_};
}

std::uint64_t LeafPool::bytes() const {
  const Lock lock(mutex_);
  return pages_ * kPageBytes + far_bytes_.load(std::memory_order_relaxed);
}

}  // namespace holdfast::index::ordered
