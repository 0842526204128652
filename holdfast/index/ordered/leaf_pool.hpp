// leaf_pool.hpp: memory for the leaves of the ordered index, in slabs on huge pages where the
// system allows.
//
// Guarantee  A page that is given back is handed out again; slabs are freed with the pool.
// Threads    Any. Errors: null if the system has no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::index::ordered {

class LeafPool {
 public:
  static constexpr std::size_t kPageBytes = 2 * KiB;

  LeafPool() = default;
  ~LeafPool();
  LeafPool(const LeafPool&) = delete;
  LeafPool& operator=(const LeafPool&) = delete;

  void* take();  // kPageBytes, so aligned. O(1), a system call per slab.
  void give_back(void* page);

  // Long keys of the leaves, which lie outside of the pages.
  void add_far(std::uint64_t bytes) { far_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void drop_far(std::uint64_t bytes) { far_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Pages in use and the long keys.
  std::uint64_t bytes() const;

 private:
  // The first slab is small, so that many small stores fit into a process; the later ones fill a
  // huge page of x86-64 and AArch64.
  static constexpr std::size_t kFirstSlabBytes = 64 * KiB;
  static constexpr std::size_t kSlabBytes = 2 * MiB;
  struct Free {
    Free* next;
  };

  bool grow() HF_REQUIRES(mutex_);

  mutable KernelMutex mutex_;
  std::vector<void*> slabs_ HF_GUARDED_BY(mutex_);
  Free* free_ HF_GUARDED_BY(mutex_) = nullptr;
  std::byte* fresh_ HF_GUARDED_BY(mutex_) = nullptr;
  std::byte* fresh_end_ HF_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t pages_ HF_GUARDED_BY(mutex_) = 0;  // Handed out.
  std::atomic<std::uint64_t> far_bytes_{0};
};

}  // namespace holdfast::index::ordered
