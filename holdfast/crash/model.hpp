// model.hpp: what a power failure may leave on a medium. The one place where the rules stand.
//
// line   Aligned 8-byte words are atomic. A larger store is its words in ascending order; the part
//        of a store that covers a word incompletely is its bytes. Ordinary stores to one 64-byte
//        line become durable as a prefix in program order (all threads merged as executed), lines
//        independently. A dirty line may be evicted at any time, so any prefix may be durable
//        without a write-back. write_back marks what its lines hold; the fence of the same thread
//        makes the marked prefixes durable. What was never written back stays pending over any
//        number of fences.
// nt     With nt_evicts, streamed words are durable at the next fence of their thread. Until then
//        they have no order: any subset of them may be durable. Without nt_evicts they are ordinary
//        stores without an order: any subset, and a fence makes only what was written back durable.
// byte   Every executed word is durable, in program order: a crash after each of them. A fence only
//        empties the store buffer: what is not fenced at an acknowledgement counts as pending.
// page   Region::write puts bytes into 512-byte sectors. A sector holds any state it had since its
//        last sync, or one such state overwritten with some words of a later one (torn). sync()
//        makes everything durable.
// all    grow and shrink are durable steps of one unit each; grown bytes are zero.
//
// Not modelled: media errors (see the stores' own corruption tests), reordering of a thread's
// loads, and stores that do not go through memory/persist.hpp (these are detected and reported).
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include <holdfast/memory/persist.hpp>

namespace holdfast::crash {

inline constexpr std::size_t kSectorBytes = 512;
inline constexpr std::size_t kWordBytes = 8;

struct Model {
  Granularity granularity = Granularity::kLine;
  bool nt_evicts = false;  // kLine only.
  friend bool operator==(const Model&, const Model&) = default;
};

inline constexpr Model kLine{Granularity::kLine, false};
inline constexpr Model kLineStreaming{Granularity::kLine, true};
inline constexpr Model kByte{Granularity::kByte, false};
inline constexpr Model kPage{Granularity::kPage, false};

// The four above: what a structure that claims to work everywhere runs under.
std::span<const Model> all_models();
// "line", "line_streaming", "byte", "page": fit for a test name.
std::string name(const Model& model);

// Where a crash may happen. Between these nothing new becomes possible: what earlier moments could
// leave behind is among the states of the next point (a prefix of a prefix is a prefix).
enum class PointKind : std::uint8_t {
  kFence,         // About to fence: nothing it covers is certain yet.
  kSync,          // The same for Region::sync.
  kBeforeResize,  // About to grow or shrink.
  kAfterResize,   // By one unit.
  kStore,         // byte only: one more word is durable; of a long store several.
  kAcknowledge,   // An operation has returned success.
  kRecovered,     // A recovery has returned.
  kEnd,           // The workload has returned.
};
std::string name(PointKind kind);

// What one cell (a line, or a sector in page mode) holds after the crash.
// line    the first `kept` ordinary stores, and the streamed stores whose bit is set in `mask`
// sector  version `kept` (0: the durable one), overwritten with the words of `mask` of version
//         `over`
struct CellState {
  std::uint32_t kept = 0;
  std::uint32_t over = 0;
  std::uint64_t mask = 0;
  friend bool operator==(const CellState&, const CellState&) = default;
};

}  // namespace holdfast::crash
