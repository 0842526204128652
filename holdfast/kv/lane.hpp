// lane.hpp: where records go: one open run, filled line by line, and the sequences for it.
//
// On line, byte and volatile media each session has a lane of its own, and records are stored
// straight to the medium. On page media all sessions share one lane, so that a group commit is one
// contiguous write; its run is composed in DRAM (`staging`).
//
// Invariants (1) a run holds valid records from its first byte on; what was appended and could not
//                be committed is never acknowledged, and the store takes no more writes;
//            (2) a run is sealed by one fence: dead bits (zero), summary and footer together.
// Threads    A session's lane: its thread, inside a guard, without a latch. Another thread that
//            needs it (reclamation seals the run of a session that rests) revokes it first:
//            Sessions::Revoked. The shared lane: under its latch.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <holdfast/base/spin.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/line_buffer.hpp>
#include <holdfast/kv/sealed_run.hpp>
#include <holdfast/kv/sequences.hpp>

namespace holdfast::kv {

inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

// A record that lies on the medium.
struct Appended {
  std::uint64_t offset = 0;  // In the region; 0: none.
  std::uint64_t padded_bytes = 0;
  std::uint64_t sequence = 0;
};

struct OpenRun {
  std::uint64_t head = kNoBlock;  // None is open.
  std::uint64_t offset = 0;       // In the region.
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  BlockMeta* meta = nullptr;
  std::byte* base = nullptr;    // The run as it is written: mapped, or staging.
  std::uint64_t at = 0;         // Next free byte.
  std::uint64_t committed = 0;  // Bytes that were fenced (page media: handed to the kernel).
  std::uint64_t durable = 0;    // Bytes that a power failure spares (page media: synced).
  std::uint64_t marked = 0;     // Of these, those that a mark tells of (synced_mark.hpp).
  std::uint64_t left = 0;       // Bytes that records and what the tail says of them may still take.
  std::uint32_t records = 0, entries_end = 0;  // Of them `entries` has place for.
  std::uint64_t min_sequence = 0, max_sequence = 0;
  std::uint64_t frame_bytes = 0;
  std::uint16_t space = kDefaultSpace;  // Of its records, or kMixedSpaces.
  std::unique_ptr<RunEntry[]> entries;

  bool open() const { return head != kNoBlock; }
  // Enough for the tail, whatever the number of records: 16 bytes and a bit for each, the footer,
  // and rounding.
  static constexpr std::uint64_t kTailBytes = 2 * kCacheLineBytes + 8;
  static constexpr std::uint64_t kTailBytesPerRecord = sizeof(SummaryEntry) + 1;
  bool fits(std::uint64_t padded_bytes, std::uint64_t count) const {
    return left >= padded_bytes + count * kTailBytesPerRecord;
  }
  // Whether a record of this sequence can stand in the summary with the others.
  bool spans(std::uint64_t sequence) const {
    return records == 0 || (sequence <= min_sequence + kMaxSequenceSpan &&
                            sequence + kMaxSequenceSpan >= max_sequence);
  }
};

struct Lane {
  OpenRun run;
  // For pace.hpp: its writer has paused, if it had to, so the next run may be opened.
  bool admitted = false;
  // Blocks of runs for which a pause is due: of a run that is refused until then, or of a run that
  // was opened for an operation that could not be refused and pauses at its end.
  std::uint64_t unpaid_blocks = 0;
  SequenceChunk chunk;
  LineBuffer staging;
  SpinLatch latch;
  std::atomic<std::uint64_t> entries_bytes{0};  // Of run.entries, for statistics.
  std::atomic<std::uint32_t> revoked{0};        // While not 0 its own thread takes the latch, too.
};

}  // namespace holdfast::kv
