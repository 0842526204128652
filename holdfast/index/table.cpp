#include <holdfast/index/table.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include <holdfast/base/check.hpp>

namespace holdfast::index {
namespace {

constexpr std::uint64_t kHugePageBytes = 2 * MiB;
// Below this much in tables, and for strays, small units on 4 KiB pages: they cause few TLB misses,
// nobody prepares them, and an empty map must stay below 1 MiB.
constexpr std::uint64_t kHugeFromBytes = 4 * MiB;
constexpr std::uint64_t kSmallUnitBytes = 64 * KiB;
constexpr std::uint64_t kSmallSlabBytes = 1 * MiB;
// Address space; memory is taken unit by unit as tables are written.
constexpr std::uint64_t kSlabBytes = 64 * MiB;
// Memory that may lie fallow in units: this, or this share of what lives (1/50).
constexpr std::uint64_t kFallowBytes = 1 * MiB;
constexpr std::uint64_t kFallowShare = 50;

constexpr std::uint64_t kNone = ~std::uint64_t{0};

struct Unit {
  std::uint64_t live = 0;            // Bytes of tables not freed.
  std::uint64_t first = kNone;       // Offset in the slab of the first table that begins here.
  std::uint64_t reaches_in = kNone;  // Of the one that began before and ends here or later.
  bool held = false;                 // Memory was taken for it.
  bool cleaned = false;              // All that could move was named.
};

}  // namespace

// Bookkeeping beside the memory, so that units are whole pages.
struct Slab {
  std::byte* memory;
  std::uint64_t bytes;
  std::uint64_t unit_bytes;
  std::vector<Unit> units;
  std::uint64_t used = 0;  // Handed out from the front.
  std::uint64_t live = 0;  // Of it, not freed.
  bool closed = false;     // While prepare() was at it: it unmaps it.

  bool huge() const { return unit_bytes == kHugePageBytes; }

  // The end of what of this range lies in the unit where it begins.
  std::uint64_t end_in_unit(std::uint64_t begin, std::uint64_t end) const {
    return std::min(end, (begin / unit_bytes + 1) * unit_bytes);
  }
  const Table* table_at(std::uint64_t offset) const {
    return reinterpret_cast<const Table*>(memory + offset);
  }
};

namespace {

void unmap(Slab* slab) {
  ::munmap(slab->memory, slab->bytes);
  delete slab;
}

}  // namespace

TableArena::~TableArena() {
  for (Slab* slab : slabs_)
    unmap(slab);
}

Slab* TableArena::map_slab(Stream stream, std::uint64_t table_bytes) {
  const bool huge = stream == Stream::kInTurn && live_bytes_ + table_bytes >= kHugeFromBytes;
  const std::uint64_t unit_bytes = huge ? kHugePageBytes : kSmallUnitBytes;
  const std::uint64_t bytes =
      round_up(std::max(huge ? kSlabBytes : kSmallSlabBytes, table_bytes), unit_bytes);
  // Mapped with room to align huge pages, then trimmed.
  const std::uint64_t alignment = huge ? unit_bytes : kPageBytes;
  const std::uint64_t mapped = bytes + alignment - kPageBytes;
  void* raw = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  auto* memory =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(raw), alignment));
  if (memory != begin) ::munmap(begin, static_cast<std::size_t>(memory - begin));
  const auto behind = static_cast<std::size_t>(begin + mapped - (memory + bytes));
  if (behind != 0) ::munmap(memory + bytes, behind);
  // Advice: refused, the map is slower and as right.
  ::madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  slabs_.push_back(new Slab{memory, bytes, unit_bytes, std::vector<Unit>(bytes / unit_bytes)});
  return slabs_.back();
}

void TableArena::close_slab(Slab* slab) {
  HF_CHECK(slab->live == 0);
  for (std::size_t unit = 0; unit < slab->units.size(); ++unit) {
    if (slab->units[unit].held) held_bytes_ -= slab->unit_bytes;
  }
  for (Slab*& stream : open_) {
    if (stream == slab) stream = nullptr;
  }
  if (slab == spare_) spare_ = nullptr;
  if (slab == cleaning_.slab) cleaning_ = {};
  slabs_.erase(std::find(slabs_.begin(), slabs_.end(), slab));
  slab->closed = true;
  if (slab != preparing_) unmap(slab);
}

// The unit after the last one that tables in turn lie in; no slab: it has yet to be mapped.
TableArena::Cursor TableArena::next_unit() const {
  const std::size_t next = (open_[0]->used + open_[0]->unit_bytes - 1) / open_[0]->unit_bytes;
  if (next < open_[0]->units.size()) return {open_[0], next, 0};
  return {spare_, 0, 0};
}

void TableArena::prepare() {
  UniqueLock lock(mutex_);
  if (!wants_unit()) return;
  wants_unit_.store(false, std::memory_order_relaxed);
  Cursor next = next_unit();
  if (next.slab == nullptr) next.slab = spare_ = map_slab(Stream::kInTurn, kSlabBytes);
  if (next.slab == nullptr) return;  // No memory: the caller that needs it reports that.
  Slab* const slab = next.slab;
  Unit& unit = slab->units[next.unit];
  if (unit.held) return;
  std::byte* const begin = slab->memory + next.unit * slab->unit_bytes;
  // Held from now on: writers may get there before the system is done.
  unit.held = true, held_bytes_ += slab->unit_bytes;
  preparing_ = slab;
  lock.unlock();
  // Advice: refused (before Linux 5.14), the first to write there waits.
  ::madvise(begin, slab->unit_bytes, MADV_POPULATE_WRITE);
  lock.lock();
  preparing_ = nullptr;
  if (slab->closed) {
    unmap(slab);
  } else if (!unit.held) {  // Filled, emptied and given back meanwhile.
    ::madvise(begin, slab->unit_bytes, MADV_DONTNEED);
  }
}

// Small pages all at once: a fault for each takes several times as long.
void TableArena::take_unit(Slab* slab, std::size_t number) {
  slab->units[number].held = true;
  held_bytes_ += slab->unit_bytes;
  // Advice: refused (before Linux 5.14), they come one by one.
  if (!slab->huge())
    ::madvise(slab->memory + number * slab->unit_bytes, slab->unit_bytes, MADV_POPULATE_WRITE);
}

Table* TableArena::allocate(const Geometry& geometry, std::uint32_t partition, Stream stream) {
  const std::uint64_t bytes = (std::uint64_t{geometry.total()} + 1) * kCacheLineBytes;
  const Lock lock(mutex_);
  Slab*& open = open_[static_cast<std::size_t>(stream)];
  if (open == nullptr || open->bytes - open->used < bytes) {
    const bool from_spare =
        stream == Stream::kInTurn && spare_ != nullptr && spare_->bytes >= bytes;
    Slab* const next = from_spare ? std::exchange(spare_, nullptr) : map_slab(stream, bytes);
    if (next == nullptr) return nullptr;
    Slab* const previous = std::exchange(open, next);
    if (previous != nullptr && previous->live == 0) {
      close_slab(previous);
    } else if (previous != nullptr) {
      for (std::size_t unit = previous->used / previous->unit_bytes; unit < previous->units.size();
           ++unit)
        release_unit(previous, unit);
    }
  }
  Slab* const slab = open;
  const std::uint64_t offset = slab->used;
  for (std::uint64_t at = offset, end = offset + bytes, next = 0; at < end; at = next) {
    next = slab->end_in_unit(at, end);
    const std::size_t number = at / slab->unit_bytes;
    Unit& unit = slab->units[number];
    if (!unit.held) take_unit(slab, number);
    unit.live += next - at;
    if (offset < number * slab->unit_bytes) {
      unit.reaches_in = offset;
    } else if (unit.first == kNone) {
      unit.first = offset;
    }
  }
  auto* table = new (slab->memory + offset) Table{geometry, partition, bytes, slab, this};
  slab->used += bytes;
  slab->live += bytes;
  live_bytes_ += bytes;
  if (stream == Stream::kInTurn && slab->huge()) {
    const Cursor ahead = next_unit();
    wants_unit_.store(ahead.slab == nullptr || !ahead.slab->units[ahead.unit].held,
                      std::memory_order_relaxed);
  }
  return table;
}

void TableArena::release(Table* table) {
  const Lock lock(mutex_);
  Slab* slab = table->slab;
  const std::uint64_t bytes = table->bytes;
  const auto offset =
      static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(table) - slab->memory);
  table->freed = true;
  slab->live -= bytes;
  live_bytes_ -= bytes;
  if (slab->live == 0 && !open(slab)) return close_slab(slab);
  for (std::uint64_t at = offset, end = offset + bytes, next = 0; at < end; at = next) {
    next = slab->end_in_unit(at, end);
    const std::size_t number = at / slab->unit_bytes;
    slab->units[number].live -= next - at;
    release_unit(slab, number);
  }
}

// Gives its memory back if it is empty and no further table can come into it.
void TableArena::release_unit(Slab* slab, std::size_t number) {
  Unit& unit = slab->units[number];
  const bool full = (number + 1) * slab->unit_bytes <= slab->used || !open(slab);
  if (!unit.held || unit.live != 0 || !full) return;
  ::madvise(slab->memory + number * slab->unit_bytes, slab->unit_bytes, MADV_DONTNEED);
  unit.held = false;
  held_bytes_ -= slab->unit_bytes;
  if (cleaning_.slab == slab && cleaning_.unit == number) cleaning_ = {};
}

void TableArena::free(void* table) {
  auto* freed = static_cast<Table*>(table);
  freed->arena->release(freed);
}

TableArena::Cursor TableArena::emptiest() const {
  Cursor best;
  double best_share = 0.8;  // Moving nearly all gains nearly nothing.
  for (Slab* slab : slabs_) {
    for (std::size_t number = 0; number < slab->units.size(); ++number) {
      const Unit& unit = slab->units[number];
      if (!unit.held || unit.cleaned || (number + 1) * slab->unit_bytes > slab->used) continue;
      const double share = static_cast<double>(unit.live) / static_cast<double>(slab->unit_bytes);
      if (share >= best_share) continue;
      best_share = share;
      best = {slab, number, unit.reaches_in};
    }
  }
  return best;
}

std::optional<TableArena::Move> TableArena::next_to_move() {
  const Lock lock(mutex_);
  std::uint64_t ahead = 0;  // Not yet handed out of units that are held.
  for (const Slab* slab : {open_[0], open_[1], spare_}) {
    if (slab == nullptr) continue;
    ahead += round_up(slab->used, slab->unit_bytes) - slab->used;
    for (std::size_t unit = (slab->used + slab->unit_bytes - 1) / slab->unit_bytes;
         unit < slab->units.size() && slab->units[unit].held; ++unit)
      ahead += slab->unit_bytes;
  }
  const std::uint64_t fallow = held_bytes_ - live_bytes_ - ahead;
  if (fallow <= std::max(kFallowBytes, live_bytes_ / kFallowShare)) return std::nullopt;
  if (cleaning_.slab == nullptr) cleaning_ = emptiest();
  if (cleaning_.slab == nullptr) return std::nullopt;
  Slab* const slab = cleaning_.slab;
  Unit& unit = slab->units[cleaning_.unit];
  const std::uint64_t begin = cleaning_.unit * slab->unit_bytes, end = begin + slab->unit_bytes;
  // One that reaches in and lives has its header's unit held; freed, that memory may be gone.
  if (cleaning_.offset == kNone || cleaning_.offset < begin) {
    const std::uint64_t before = std::exchange(cleaning_.offset, unit.first);
    if (before != kNone && slab->units[before / slab->unit_bytes].held &&
        !slab->table_at(before)->freed) {
      return Move{slab->table_at(before)->partition, slab->table_at(before)};
    }
  }
  while (cleaning_.offset < end) {
    const Table* table = slab->table_at(cleaning_.offset);
    cleaning_.offset += table->bytes;
    if (!table->freed) return Move{table->partition, table};
  }
  unit.cleaned = true;  // What is left in it was replaced and waits for its readers.
  cleaning_ = {};
  return std::nullopt;
}

std::uint64_t TableArena::held_bytes() const {
  const Lock lock(mutex_);
  return held_bytes_;
}

std::uint64_t TableArena::live_bytes() const {
  const Lock lock(mutex_);
  return live_bytes_;
}

}  // namespace holdfast::index
