// tour_workload.hpp: what the tour's child writes, and what its parent may therefore expect.
//
// The records are dealt to kWriters writers. Writer w performs operations 0, 1, 2, …: operation o
// puts its record o % records(w), in pass o / records(w). Pass 0 inserts the stanza; later passes
// overwrite it with a value that names the pass. So (writer, operation) alone says which bytes must
// be where, and the two counters on the Board say which operations were acknowledged before a kill.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::tools {

inline constexpr std::size_t kWriters = 2;
inline constexpr std::size_t kGroup =
    16;  // Writer 1 puts groups of so many with put_many, writer 0 one by one.

struct TourRecord {
  std::string key, stanza;
};

class Workload {
 public:
  // Parses control stanzas; key is Package_Version_Architecture. Of equal keys the last one stays.
  // At most `limit` records (0: all). Errors: kIo (file), kInvalidOption (fewer than 100 usable
  // stanzas).
  static Result<Workload> from_text(std::string_view text, std::uint64_t limit);
  static Result<Workload> from_file(const std::string& path, std::uint64_t limit);

  std::size_t size() const { return records_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  std::string text() const;  // from_text(text(), 0) is this workload again.

  std::size_t records(std::size_t writer) const {
    return (size() + kWriters - 1 - writer) / kWriters;
  }
  const TourRecord& record(std::size_t writer, std::uint64_t operation) const {
    return records_[writer + kWriters * (operation % records(writer))];
  }
  std::uint64_t pass(std::size_t writer, std::uint64_t operation) const {
    return operation / records(writer);
  }
  static void value_into(const TourRecord& record, std::uint64_t pass, std::string& value);

 private:
  std::vector<TourRecord> records_;
  std::uint64_t bytes_ = 0;
};

// Shared memory between parent and child; outlives the child.
struct Board {
  std::atomic<std::uint32_t> ready;  // The child has opened the store and begins.
  struct alignas(64) Writer {
    std::atomic<std::uint64_t> started;       // Operations below it were handed to the store.
    std::atomic<std::uint64_t> acknowledged;  // Operations below it were acknowledged by the store.
  };
  Writer writers[kWriters];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// What a store says after a kill, held against the board.
struct Comparison {
  std::uint64_t acknowledged = 0;  // Operations acknowledged, all passes.
  std::uint64_t records_compared =
      0;                        // Distinct records with an acknowledged operation, byte for byte.
  std::uint64_t in_flight = 0;  // Operations handed over but not acknowledged …
  std::uint64_t in_flight_there = 0;  // … of which these are there, whole.
  std::uint64_t wrong_total = 0;
  std::vector<std::string> wrong;  // The first ten, in words.
};
// Errors: those of get() other than kNotFound.
Result<Comparison> compare(const kv::Store<>& store, const Workload& workload, const Board& board);

}  // namespace holdfast::tools
