// dead_notes.hpp: what a session superseded, noted in its own memory and applied in groups.
//
// Counting a dead record at once costs two locked instructions and two cache misses behind every
// publication. A note costs one store. The books of the block table are exact only after drain();
// reclamation, statistics and closing drain the notes of all sessions first.
//
// Invariant  A run is freed only after a drain of every session that came after nothing led to the
//            run any more: a note never outlives the record it is about.
// Threads    add(): the session's thread. drain(): any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <holdfast/base/spin.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/records.hpp>

namespace holdfast::kv {

class DeadNotes {
 public:
  void add(BlockTable& table, Line line, std::uint64_t padded_bytes) {
    if (!has_room()) [[unlikely]]
      drain(table);
    add(line, padded_bytes);
  }
  // A note of which the table's watcher is not told.
  void add_untold(BlockTable& table, Line line, std::uint64_t padded_bytes) {
    add(table, line, padded_bytes | kUntold);
  }
  // Whether add() need not drain(). Where the ring begins anew, all that it holds is applied.
  bool has_room() const {
    const std::uint64_t added = added_.load(std::memory_order_relaxed);
    return added % kNotes != 0 || added == drained_.load(std::memory_order_acquire);
  }
  // After has_room().
  void add(Line line, std::uint64_t padded_bytes) {
    const std::uint64_t added = added_.load(std::memory_order_relaxed);
    notes_[added % kNotes] = {line.number, padded_bytes};
    added_.store(added + 1, std::memory_order_release);
  }
  void drain(BlockTable& table);

 private:
  static constexpr std::uint64_t kNotes = 128;
  static constexpr std::uint64_t kUntold = 1;  // In padded_bytes, a multiple of lines.
  struct Note {
    std::uint64_t line, padded_bytes;
  };
  std::atomic<std::uint64_t> added_{0};  // By the session.
  std::atomic<std::uint64_t> drained_{0};
  SpinLatch draining_;
  std::array<Note, kNotes> notes_;
};

}  // namespace holdfast::kv
