#include <holdfast/kv/dead_notes.hpp>

#include <holdfast/base/prefetch.hpp>

namespace holdfast::kv {

void DeadNotes::drain(BlockTable& table) {
  const Lock lock(draining_);
  const std::uint64_t end = added_.load(std::memory_order_acquire);
  constexpr std::uint64_t kAhead = 8;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = drained_.load(std::memory_order_relaxed); i != end; ++i) {
    if (i + kAhead < end)
      prefetch_for_write(&table.run_of(notes_[(i + kAhead) % kNotes].line * kCacheLineBytes));
    const Note& note = notes_[i % kNotes];
    const std::uint64_t padded_bytes = note.padded_bytes & ~kUntold;
    table.mark_dead(note.line, padded_bytes, padded_bytes == note.padded_bytes);
    bytes += padded_bytes;
  }
  table.count_dead(bytes);
  drained_.store(end, std::memory_order_release);
}

}  // namespace holdfast::kv
