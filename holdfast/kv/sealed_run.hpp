// sealed_run.hpp: the end of a sealed run: what it says of the run's records, and how it is made.
//
//   … records | dead bits | a SummaryEntry per record | RunFooter
//
// A tail is valid if its checksum holds. It was durable after all its records were, so a valid tail
// says that all of them are whole. Dead bits are in no checksum, since they change later.
// Threads    A SealedRun is a view of bytes that do not change, but for the dead bits.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/format.hpp>
#include <holdfast/kv/medium.hpp>

namespace holdfast::kv {

// A record as its run's summary will name it.
struct RunEntry {
  std::uint64_t hash = 0, sequence = 0;
  std::uint64_t offset_and_kind = 0;  // From the beginning of the run; the kind below the line.

  static RunEntry of(std::uint64_t hash, std::uint64_t sequence, std::uint64_t offset,
                     RecordKind kind) {
    return {hash, sequence, offset | static_cast<std::uint64_t>(kind)};
  }
  std::uint64_t offset() const { return offset_and_kind & ~(kCacheLineBytes - 1); }
  RecordKind kind() const {
    return static_cast<RecordKind>(offset_and_kind & (kCacheLineBytes - 1));
  }
};

struct RunTail {
  std::uint64_t generation = 0, run_blocks = 1;
  std::uint64_t used_bytes = 0;   // End of the last record.
  std::uint64_t frame_bytes = 0;  // Of batch frames among them.
  std::uint64_t seed = 0;
  bool version1 = false;
  std::uint16_t space = kDefaultSpace;
};
// Everything of a sealed run behind its records, ready to be put at its end. No record is dead.
std::vector<std::byte> compose_run_tail(std::span<const RunEntry> entries, const RunTail& tail);

// Over summary and footer, which is the last line; not over the dead bits.
std::uint64_t run_tail_checksum(const std::byte* tail, std::uint64_t records, std::uint64_t seed);

class SealedRun {
 public:
  // Nothing where the tail of the run that begins with block `head` is not valid.
  static std::optional<SealedRun> read(const Medium& medium, const BlockTable& table,
                                       std::uint64_t head);
  // The same without the checksum: of a run whose tail was read before.
  static SealedRun trusted(const Medium& medium, const BlockTable& table, std::uint64_t head);

  const RunFooter& footer() const { return footer_; }
  std::uint32_t records() const { return footer_.records; }
  std::uint64_t offset() const { return offset_; }  // Of the run, in the region.
  std::uint64_t hash(std::uint32_t i) const { return entries_[i].hash; }
  std::uint64_t sequence(std::uint32_t i) const {
    return footer_.base_sequence +
           (version1_ ? entries_[i].packed >> 28 : entries_[i].sequence_delta());
  }
  RecordKind kind(std::uint32_t i) const {
    return version1_ ? static_cast<RecordKind>(entries_[i].packed >> 26 & 3) : entries_[i].kind();
  }
  // Where record `i` begins in the run, and how far it may reach: to the next one, or the end of
  // all.
  std::uint64_t record_at(std::uint32_t i) const { return entries_[i].offset_bytes(); }
  std::uint64_t record_end(std::uint32_t i) const {
    return i + 1 < footer_.records ? entries_[i + 1].offset_bytes() : footer_.used_bytes;
  }
  // Whether record `i` lies among the run's records, before the next one. A checksum does not say
  // so of a run that came from elsewhere.
  bool is_in_order(std::uint32_t i) const {
    const std::uint64_t at = record_at(i), end = record_end(i);
    return at < end && end <= footer_.used_bytes;
  }
  // The record that begins there, or records().
  std::uint32_t find(std::uint64_t offset_in_run) const;
  // As they are on the medium.
  const std::uint64_t* dead_words() const { return dead_words_; }
  bool dead_on_medium(std::uint32_t i) const { return (dead_words_[i / 64] >> i % 64 & 1) != 0; }
  // Where they lie, in the region.
  std::uint64_t dead_words_at() const { return dead_words_at_; }

 private:
  SealedRun() = default;
  RunFooter footer_{};
  const std::uint64_t* dead_words_ = nullptr;
  const SummaryEntry* entries_ = nullptr;
  std::uint64_t offset_ = 0, dead_words_at_ = 0;
  bool version1_ = false;
};

}  // namespace holdfast::kv
