// table.hpp: one partition's buckets, and the arena that tables live in.
//
// A table is one header line followed by its buckets. Homes are the first `buckets` of them;
// `extra` more at the end take guests only, so that displacement never wraps. A table's geometry
// never changes: a partition grows by publishing another table.
//
// The arena hands out tables from slabs of anonymous memory, front to back like a log. Memory is
// accounted in units (huge pages once the map is large; small maps must not pay 2 MiB). A unit goes
// back to the system when the last table that touches it is freed. Tables that are replaced in the
// order in which they were made empty one unit after the other. The others come from a stream of
// their own, so that they leave no holes among the first. Where more than a few percent lies fallow
// all the same, the arena names tables to move out of the emptiest unit (next_to_move), as a
// log-structured file system cleans its segments.
//
// The first touch of a unit takes the system long: for 2 MiB some tenths of a millisecond to clear
// them, some milliseconds where a host has to find them as well. So a thread that has time calls
// prepare() when wants_unit() says so, and no writer waits for that.
// Threads    TableArena: any. Errors: allocate() returns null when the system has no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/index/bucket.hpp>

namespace holdfast::index {

class TableArena;
struct Slab;

struct Geometry {
  std::uint32_t buckets = 1;  // Homes.
  std::uint32_t extra = 0;    // Behind them, for guests.
  std::uint32_t reach = 0;    // Greatest distance of an entry from its home.

  std::uint32_t total() const { return buckets + extra; }
};

struct alignas(kCacheLineBytes) Table {
  Geometry geometry;
  std::uint32_t partition;
  std::uint64_t bytes;  // With this header.
  Slab* slab;
  TableArena* arena;
  bool freed = false;  // Under the arena's mutex.

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
  ~TableArena();  // Tables that were not freed go with it.
  TableArena(const TableArena&) = delete;
  TableArena& operator=(const TableArena&) = delete;

  // Which tables will be neighbours: those replaced in the order in which they were made, and
  // others.
  enum class Stream : std::uint8_t { kInTurn = 0, kStray = 1 };
  // All buckets zero. Null: the system has no memory.
  Table* allocate(const Geometry& geometry, std::uint32_t partition, Stream stream);
  // Takes a void* so that it can be a deleter of EpochDomain.
  static void free(void* table);

  // The partition of a table that is to be replaced by a copy, if `table` still is its table, as
  // too much memory lies fallow; or nothing.
  struct Move {
    std::uint32_t partition;
    const Table* table;  // To compare, not to look at: it may be freed meanwhile.
  };
  std::optional<Move> next_to_move();

  // Whether the next unit that tables made in turn will come from is not there yet. Huge units
  // only.
  bool wants_unit() const { return wants_unit_.load(std::memory_order_relaxed); }
  // Takes it from the system. Writers go on meanwhile; one caller at a time.
  void prepare();

  std::uint64_t held_bytes() const;  // Taken from the system.
  std::uint64_t live_bytes() const;  // In tables not yet freed.

 private:
  struct Cursor {
    Slab* slab = nullptr;
    std::size_t unit = 0;
    std::uint64_t offset = 0;
  };
  Slab* map_slab(Stream stream, std::uint64_t table_bytes) HF_REQUIRES(mutex_);
  void close_slab(Slab* slab) HF_REQUIRES(mutex_);
  Cursor next_unit() const HF_REQUIRES(mutex_);
  void take_unit(Slab* slab, std::size_t number) HF_REQUIRES(mutex_);
  void release(Table* table);
  void release_unit(Slab* slab, std::size_t unit) HF_REQUIRES(mutex_);
  Cursor emptiest() const HF_REQUIRES(mutex_);
  bool open(const Slab* slab) const HF_REQUIRES(mutex_) {
    return slab == open_[0] || slab == open_[1] || slab == spare_;
  }

  mutable KernelMutex mutex_;  // And what slabs hold.
  std::vector<Slab*> slabs_ HF_GUARDED_BY(mutex_);
  Slab* open_[2] HF_GUARDED_BY(mutex_) = {};  // Tables come from here, by stream.
  // Prepared: what tables in turn come from when open_[0] is full.
  Slab* spare_ HF_GUARDED_BY(mutex_) = nullptr;
  // prepare() is at one of its units, without the mutex.
  Slab* preparing_ HF_GUARDED_BY(mutex_) = nullptr;
  Cursor cleaning_ HF_GUARDED_BY(mutex_);  // Tables move out of here.
  std::atomic<bool> wants_unit_{false};
  std::uint64_t held_bytes_ HF_GUARDED_BY(mutex_) = 0, live_bytes_ HF_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::index
