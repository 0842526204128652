#include <holdfast/kv/dead_notes.hpp>

#include <algorithm>

namespace holdfast::kv {

void DeadNotes::drain(BlockTable& table) {
  const Lock lock(draining_);
  const std::uint64_t end = added_.load(std::memory_order_acquire);
  // What is known of a block leads to its bits: two misses, one after the other.
  constexpr std::uint64_t kAhead = 8;
  std::uint64_t bytes = 0;
  const std::uint64_t first = drained_.load(std::memory_order_relaxed);
  for (std::uint64_t i = first; i != std::min(first + 2 * kAhead, end); ++i)
    table.prefetch_block(notes_[i % kNotes].line);
  for (std::uint64_t i = first; i != std::min(first + kAhead, end); ++i)
    table.prefetch_dead_line(notes_[i % kNotes].line);
  for (std::uint64_t i = first; i != end; ++i) {
    if (i + 2 * kAhead < end) table.prefetch_block(notes_[(i + 2 * kAhead) % kNotes].line);
    if (i + kAhead < end) table.prefetch_dead_line(notes_[(i + kAhead) % kNotes].line);
    const Note& note = notes_[i % kNotes];
    const std::uint64_t padded_bytes = note.padded_bytes & ~kUntold;
    table.mark_dead(note.line, padded_bytes, padded_bytes == note.padded_bytes);
    bytes += padded_bytes;
  }
  table.count_dead(bytes);
  drained_.store(end, std::memory_order_release);
}

}  // namespace holdfast::kv
