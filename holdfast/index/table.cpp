#include <holdfast/index/table.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include <holdfast/base/check.hpp>

namespace holdfast::index {
namespace {

constexpr std::uint64_t kHugePageBytes = 2 * MiB;
// Below this much in tables, 4 KiB pages: a map of this size causes few TLB misses, and an empty
// one must stay below 1 MiB.
constexpr std::uint64_t kHugeFromBytes = 2 * MiB;
constexpr std::uint64_t kSmallSlabBytes = 256 * KiB;
// A slab holds at least this many tables, so that what is left at its end is below 3 %.
constexpr std::uint64_t kTablesPerSlab = 32;

}  // namespace

// Bookkeeping beside the slab's memory, so that tables begin on page borders.
struct Slab {
  std::byte* memory;
  std::uint64_t bytes;
  std::uint64_t used = 0;  // Handed out from the front.
  std::uint64_t live = 0;  // Of it, not freed.
};

TableArena::~TableArena() {
  if (open_ != nullptr) close_slab(open_);
  HF_CHECK(live_bytes_ == 0 && mapped_bytes_ == 0);
}

Slab* TableArena::open_slab(std::uint64_t table_bytes) {
  const bool huge = live_bytes_ + table_bytes >= kHugeFromBytes;
  const std::uint64_t alignment = huge ? kHugePageBytes : kPageBytes;
  const std::uint64_t bytes = round_up(huge ? std::max(kHugePageBytes, table_bytes * kTablesPerSlab)
                                            : std::max(kSmallSlabBytes, table_bytes),
                                       alignment);
  // Mapped with room to align, then trimmed.
  const std::uint64_t mapped = bytes + alignment - kPageBytes;
  void* raw = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  auto* memory =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(raw), alignment));
  if (memory != begin) ::munmap(begin, static_cast<std::size_t>(memory - begin));
  const std::uint64_t behind = static_cast<std::uint64_t>(begin + mapped - (memory + bytes));
  if (behind != 0) ::munmap(memory + bytes, behind);
  // Advice: refused, the map is slower and as right.
  ::madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  auto* slab = new (std::nothrow) Slab{memory, bytes};
  if (slab == nullptr) {
    ::munmap(memory, bytes);
    return nullptr;
  }
  mapped_bytes_ += bytes;
  return slab;
}

void TableArena::close_slab(Slab* slab) {
  HF_CHECK(slab->live == 0);
  ::munmap(slab->memory, slab->bytes);
  mapped_bytes_ -= slab->bytes;
  if (slab == open_) open_ = nullptr;
  delete slab;
}

Table* TableArena::allocate(const Geometry& geometry) {
  const std::uint64_t bytes = (std::uint64_t{geometry.total()} + 1) * kCacheLineBytes;
  const std::lock_guard lock(mutex_);
  if (open_ == nullptr || open_->bytes - open_->used < bytes) {
    Slab* slab = open_slab(bytes);
    if (slab == nullptr) return nullptr;
    if (open_ != nullptr && open_->live == 0) close_slab(open_);
    open_ = slab;
  }
  auto* table = new (open_->memory + open_->used) Table{geometry, open_, this, bytes};
  open_->used += bytes;
  open_->live += bytes;
  live_bytes_ += bytes;
  return table;
}

void TableArena::release(Table* table) {
  const std::lock_guard lock(mutex_);
  Slab* slab = table->slab;
  slab->live -= table->bytes;
  live_bytes_ -= table->bytes;
  // Slabs are not reused from the front: fresh pages are zero, used ones are not.
  if (slab->live == 0 && slab != open_) close_slab(slab);
}

void TableArena::free(void* table) {
  auto* freed = static_cast<Table*>(table);
  freed->arena->release(freed);
}

std::uint64_t TableArena::mapped_bytes() const {
  const std::lock_guard lock(mutex_);
  return mapped_bytes_;
}

std::uint64_t TableArena::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_bytes_;
}

}  // namespace holdfast::index
