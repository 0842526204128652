// lane.hpp: where a session's records go. A lane owns one open run and appends to it, line by line.
//
// On line, byte and none regions every session has a lane of its own, and a record is composed in
// the session's cache and copied to the medium once. On page regions all sessions share one lane,
// so that a group commit is one contiguous write; the run is composed in DRAM (`staging`).
//
// Invariants (1) what a run holds is a sequence of valid records from its first byte to its tail; a
//                record that was appended but could not be committed is taken back;
//            (2) a run is sealed by one fence: dead bits (zero), summary and footer together.
// Threads    Under `latch`. Order of latches: an index latch before a lane's; never the reverse.
#pragma once

#include <memory>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/kv/block_table.hpp>

namespace holdfast::kv {

inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

// A record that lies on the medium.
struct Appended {
  std::uint64_t offset = 0;  // In the region; 0: none.
  std::uint64_t padded_bytes = 0;
  std::uint64_t sequence = 0;
  std::uint32_t ordinal = 0;
};

struct Lane {
  SpinLatch latch;

  std::uint64_t head = kNoBlock;  // The open run.
  std::uint64_t run_offset = 0, run_bytes = 0, seed = 0;
  std::uint64_t at = 0;  // Next free byte in the run.
  std::uint64_t committed =
      0;  // Bytes of the run that were fenced (page regions: handed to the kernel).
  std::uint32_t next_ordinal = 0;
  std::uint64_t min_sequence = ~std::uint64_t{0}, max_sequence = 0;
  BlockMeta* meta = nullptr;
  std::byte* write_base = nullptr;  // The run as it is written: mapped, or staging.

  struct Entry {
    std::uint64_t hash, sequence, offset;
    RecordKind kind;
  };
  std::vector<Entry> entries;
  std::uint64_t frame_bytes = 0;  // Of the batch frames among them.
  std::uint32_t expected_records = 64;

  // Sequences reserved for this lane.
  std::uint64_t next_sequence = 0, end_sequence = 0, sequence_epoch = 0;
  Status sequence_failure;  // Why the last draw gave none.

  std::unique_ptr<std::byte[]> staging;

  bool open() const { return head != kNoBlock; }
  // Whether `bytes` more for `records` more fit, with the summary behind them.
  bool fits(std::uint64_t bytes, std::uint64_t records) const {
    return open() && at + bytes + run_tail_bytes(entries.size() + records) <= run_bytes;
  }
  // Whether a record of this sequence can stand in the summary with the others.
  bool spans(std::uint64_t sequence) const {
    return min_sequence > max_sequence || (sequence <= min_sequence + kMaxSequenceSpan &&
                                           sequence + kMaxSequenceSpan >= max_sequence);
  }
};

// Over summary and footer of a run tail of `records` records that is `tail_bytes` long.
std::uint64_t run_tail_checksum(const std::byte* tail, std::uint64_t tail_bytes,
                                std::uint64_t records, std::uint64_t seed);

// Everything of a sealed run behind its records, ready to be put at run_bytes - size.
std::vector<std::byte> compose_run_tail(const std::vector<Lane::Entry>& entries,
                                        std::uint64_t generation, std::uint64_t run_blocks,
                                        std::uint64_t used_bytes, std::uint64_t frame_bytes,
                                        std::uint64_t seed);

}  // namespace holdfast::kv
