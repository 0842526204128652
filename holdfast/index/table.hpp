// table.hpp: one partition's buckets, and the arena that tables live in.
//
// A table is one header line followed by its buckets. Homes are the first `buckets` of them;
// `extra` more at the end take guests only, so that displacement never wraps. A table's geometry
// never changes: a partition grows by publishing another table.
//
// The arena hands out tables from slabs of anonymous memory, front to back, and returns a slab to
// the system when all its tables are freed. Tables die about in the order in which they were born
// (each partition is rebuilt when the whole map has grown by the same factor), so slabs empty
// one after the other. Slabs are aligned to 2 MiB and ask for huge pages once the map is large:
// small maps must not pay 2 MiB.
// Threads    TableArena: any. Errors: allocate() returns null when the system has no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include <holdfast/base/units.hpp>
#include <holdfast/index/bucket.hpp>

namespace holdfast::index {

class TableArena;
struct Slab;

struct Geometry {
  std::uint32_t buckets = 1;  // Homes; 1 to kMaxBuckets.
  std::uint32_t extra = 0;    // Behind them, for guests.
  std::uint32_t reach = 0;    // Greatest distance of an entry from its home.

  std::uint32_t total() const { return buckets + extra; }
};

struct alignas(kCacheLineBytes) Table {
  Geometry geometry;
  Slab* slab;
  TableArena* arena;
  std::uint64_t bytes;

  Bucket* buckets() { return reinterpret_cast<Bucket*>(this + 1); }
  const Bucket* buckets() const { return reinterpret_cast<const Bucket*>(this + 1); }
  static Table* of(Bucket* first) { return reinterpret_cast<Table*>(first) - 1; }
  static const Table* of(const Bucket* first) { return reinterpret_cast<const Table*>(first) - 1; }

  // Monotone in the tag, and from nothing but the tag: growth reads no record.
  static std::uint32_t home(std::uint64_t tag, std::uint32_t buckets) {
    return static_cast<std::uint32_t>(tag * buckets >> kTagBits);
  }
  // Buckets behind `home` in which its guests may lie.
  std::uint32_t reach_of(std::uint32_t home_bucket) const {
    const std::uint32_t behind = geometry.total() - 1 - home_bucket;
    return behind < geometry.reach ? behind : geometry.reach;
  }
};
static_assert(sizeof(Table) == kCacheLineBytes);

class TableArena {
 public:
  TableArena() = default;
  ~TableArena();  // Every table was freed.
  TableArena(const TableArena&) = delete;
  TableArena& operator=(const TableArena&) = delete;

  // All buckets zero. Null: the system has no memory.
  Table* allocate(const Geometry& geometry);
  // Takes a void* so that it can be a deleter of EpochDomain.
  static void free(void* table);

  std::uint64_t mapped_bytes() const;  // Taken from the system.
  std::uint64_t live_bytes() const;    // In tables not yet freed.

 private:
  Slab* open_slab(std::uint64_t table_bytes);
  void close_slab(Slab* slab);
  void release(Table* table);

  mutable std::mutex mutex_;
  Slab* open_ = nullptr;  // Tables come from here.
  std::uint64_t mapped_bytes_ = 0, live_bytes_ = 0;
};

}  // namespace holdfast::index
